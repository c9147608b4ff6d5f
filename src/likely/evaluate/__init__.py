"""4. Numbers from distributions and arrays: splits, thresholds."""

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
    "OperatingPoints",
    "Split",
    "grouped_k_fold",
    "k_fold",
    "operating_points",
    "repeated_k_fold",
    "stratified_k_fold",
    "time_folds",
    "train_validation_test",
]
