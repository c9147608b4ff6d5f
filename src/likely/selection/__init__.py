"""4. What needs estimators: cross-validation in one program, mixtures, importances."""

from likely.selection.cross_validation import CrossValidation, cross_validate
from likely.selection.dependence import PartialDependence, partial_dependence
from likely.selection.ensemble import Ensemble
from likely.selection.importance import Importance, permutation_importance
from likely.selection.mixing import Mixing, mixing_weights
from likely.selection.stacking import Stacking

__all__ = [
    "CrossValidation",
    "Ensemble",
    "Importance",
    "Mixing",
    "PartialDependence",
    "Stacking",
    "cross_validate",
    "mixing_weights",
    "partial_dependence",
    "permutation_importance",
]
