"""4. What needs estimators: cross-validation in one compiled program."""

from likely.selection.cross_validation import CrossValidation, cross_validate

__all__ = ["CrossValidation", "cross_validate"]
