"""4. Numbers from distributions and arrays: scores, calibration, conformal, splits."""

"""4. Numbers from distributions and arrays: splits, thresholds."""

from likely.evaluate.calibration import (
    Reliability,
    Uniformity,
    heated,
    reliability,
    reliability_of_events,
    temperature,
    uniformity,
)
from likely.evaluate.conformal import (
    class_scores,
    class_sets,
    coverage_of_intervals,
    coverage_of_sets,
    interval_scores,
    radius,
    stretched,
)
from likely.evaluate.curves import ThresholdCurve, threshold_curve
from likely.evaluate.scores import (
    Score,
    absolute_error,
    brier,
    confusion,
    error_rate,
    mean_score,
    paired_difference,
    pinball,
    r_squared,
    squared_error,
)
from likely.evaluate.splits import (
    Folds,
    Split,
    grouped_k_fold,
    k_fold,
    repeated_k_fold,
    stratified_k_fold,
    time_folds,
    train_validation_test,
)
from likely.evaluate.thresholds import OperatingPoints, operating_points

__all__ = [
    "Folds",
    "Reliability",
    "Score",
    "OperatingPoints",
    "Split",
    "ThresholdCurve",
    "Uniformity",
    "absolute_error",
    "brier",
    "class_scores",
    "class_sets",
    "confusion",
    "coverage_of_intervals",
    "coverage_of_sets",
    "error_rate",
    "grouped_k_fold",
    "heated",
    "interval_scores",
    "k_fold",
    "mean_score",
    "paired_difference",
    "pinball",
    "r_squared",
    "radius",
    "reliability",
    "reliability_of_events",
    "operating_points",
    "repeated_k_fold",
    "squared_error",
    "stratified_k_fold",
    "stretched",
    "temperature",
    "threshold_curve",
    "time_folds",
    "train_validation_test",
    "uniformity",
]
