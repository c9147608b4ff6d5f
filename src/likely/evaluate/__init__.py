"""4. Numbers from distributions and arrays: splits."""

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

__all__ = [
    "Folds",
    "Split",
    "grouped_k_fold",
    "k_fold",
    "repeated_k_fold",
    "stratified_k_fold",
    "time_folds",
    "train_validation_test",
]
