"""4. What needs estimators: cross-validation in one program, mixtures of predictors."""

from likely.selection.cross_validation import CrossValidation, cross_validate
from likely.selection.ensemble import Ensemble
from likely.selection.mixed import MixedPredictive
from likely.selection.mixing import Mixing, mixing_weights
from likely.selection.stacking import Stacking

__all__ = [
    "CrossValidation",
    "Ensemble",
    "MixedPredictive",
    "Mixing",
    "Stacking",
    "cross_validate",
    "mixing_weights",
]
