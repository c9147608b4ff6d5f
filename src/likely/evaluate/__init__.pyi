from .adaptive_sets import (
    adaptive_scores as adaptive_scores,
    adaptive_sets as adaptive_sets,
)
from .assignment import (
    early_stopping_split as early_stopping_split,
    ordered_folds as ordered_folds,
    random_folds as random_folds,
)
from .calibration import (
    Reliability as Reliability,
    reliability as reliability,
    reliability_of_events as reliability_of_events,
)
from .calibration_cells import CalibrationEstimate as CalibrationEstimate
from .calibration_error import (
    classwise_error as classwise_error,
    event_error as event_error,
    top_label_error as top_label_error,
)
from .comparison import (
    Comparison as Comparison,
    corrected_t_test as corrected_t_test,
    paired_bootstrap as paired_bootstrap,
)
from .concordance import concordance as concordance
from .conformal import (
    band_scores as band_scores,
    class_scores as class_scores,
    class_sets as class_sets,
    coverage_of_intervals as coverage_of_intervals,
    coverage_of_sets as coverage_of_sets,
    interval_scores as interval_scores,
    radius as radius,
    stretched as stretched,
    widened as widened,
)
from .cost_curve import CostCurve as CostCurve, cost_curve as cost_curve
from .cross_conformal import (
    cross_intervals as cross_intervals,
    cross_sets as cross_sets,
)
from .cross_validation import (
    cv_splits as cv_splits,
    training_weights as training_weights,
)
from .decisions import (
    DecisionCost as DecisionCost,
    cost_of_actions as cost_of_actions,
    cost_threshold as cost_threshold,
    decide as decide,
    decide_by_utility as decide_by_utility,
    decision_cost as decision_cost,
    expected_costs as expected_costs,
)
from .delong import (
    AucEstimate as AucEstimate,
    auc_interval as auc_interval,
    auc_test as auc_test,
)
from .embeddings import (
    connectedness as connectedness,
    continuity as continuity,
    neighborhood_hit as neighborhood_hit,
    trustworthiness as trustworthiness,
)
from .generated.closest_records import (
    ClosestRecords as ClosestRecords,
    closest_records as closest_records,
)
from .generated.frechet import (
    FrechetDistance as FrechetDistance,
    frechet_distance as frechet_distance,
    frechet_of_normals as frechet_of_normals,
)
from .generated.inception import inception_score as inception_score
from .generated.likelihood import (
    HeldOutLikelihood as HeldOutLikelihood,
    held_out_likelihood as held_out_likelihood,
)
from .generated.memorization import (
    MemorizationTest as MemorizationTest,
    memorization_test as memorization_test,
)
from .generated.support import (
    SupportScores as SupportScores,
    support_scores as support_scores,
)
from .generated.table_distances import (
    TableDistances as TableDistances,
    table_distances as table_distances,
)
from .generated.two_samples import (
    TwoSampleTest as TwoSampleTest,
    mmd_test as mmd_test,
)
from .kaplan_meier import (
    KaplanMeier as KaplanMeier,
    kaplan_meier as kaplan_meier,
)
from .overlap import intersection_over_union as intersection_over_union
from .pit import (
    Uniformity as Uniformity,
    pit as pit,
    uniformity as uniformity,
)
from .proper import (
    crps as crps,
    energy_score as energy_score,
    interval_score as interval_score,
    log_score as log_score,
)
from .recalibration.isotonic import (
    Isotonic as Isotonic,
    IsotonicMap as IsotonicMap,
    isotonic as isotonic,
    isotonic_map as isotonic_map,
)
from .recalibration.platt import Platt as Platt, platt as platt
from .recalibration.spread import (
    pit_shares as pit_shares,
    stretch as stretch,
)
from .recalibration.temperature import (
    temperature as temperature,
    temperature_scaled as temperature_scaled,
)
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
