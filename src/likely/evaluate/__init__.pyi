from .assignment import (
    early_stopping_split as early_stopping_split,
    ordered_folds as ordered_folds,
    random_folds as random_folds,
)
from .calibration import (
    Reliability as Reliability,
    Uniformity as Uniformity,
    reliability as reliability,
    reliability_of_events as reliability_of_events,
    temperature as temperature,
    temperature_scaled as temperature_scaled,
    uniformity as uniformity,
)
from .concordance import concordance as concordance
from .conformal import (
    class_scores as class_scores,
    class_sets as class_sets,
    coverage_of_intervals as coverage_of_intervals,
    coverage_of_sets as coverage_of_sets,
    interval_scores as interval_scores,
    radius as radius,
    stretched as stretched,
)
from .cross_validation import (
    cv_splits as cv_splits,
    training_weights as training_weights,
)
from .embeddings import (
    connectedness as connectedness,
    continuity as continuity,
    neighborhood_hit as neighborhood_hit,
    trustworthiness as trustworthiness,
)
from .kaplan_meier import (
    KaplanMeier as KaplanMeier,
    kaplan_meier as kaplan_meier,
)
from .overlap import intersection_over_union as intersection_over_union
from .roc import (
    RocCurve as RocCurve,
    auc as auc,
    roc_curve as roc_curve,
)
from .scores import (
    Score as Score,
    absolute_error as absolute_error,
    brier as brier,
    confusion as confusion,
    error_rate as error_rate,
    mean_score as mean_score,
    median_levels as median_levels,
    paired_difference as paired_difference,
    pinball as pinball,
    r_squared as r_squared,
    ranked_probability as ranked_probability,
    squared_error as squared_error,
)
from .spans import (
    SpanScores as SpanScores,
    span_f1 as span_f1,
    span_labels as span_labels,
    span_scores as span_scores,
    spans_of as spans_of,
)
from .splits import (
    Folds as Folds,
    Split as Split,
    grouped_k_fold as grouped_k_fold,
    k_fold as k_fold,
    repeated_k_fold as repeated_k_fold,
    stratified_k_fold as stratified_k_fold,
    time_folds as time_folds,
    train_validation_test as train_validation_test,
)
from .thresholds import (
    OperatingPoints as OperatingPoints,
    operating_points as operating_points,
)
