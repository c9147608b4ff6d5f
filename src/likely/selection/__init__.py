"""4. What needs estimators: cross-validation in one program, importances, dependence."""

from likely.selection.cross_validation import CrossValidation, cross_validate
from likely.selection.dependence import PartialDependence, partial_dependence
from likely.selection.importance import Importance, permutation_importance

__all__ = [
    "CrossValidation",
    "Importance",
    "PartialDependence",
    "cross_validate",
    "partial_dependence",
    "permutation_importance",
]
