"""3a. What is minimised: −log likelihood − log prior; and losses that are neither."""

from likely.objectives.firth import FirthLikelihood
from likely.objectives.nll import NegativeLogLikelihood
from likely.objectives.positions import PositionLikelihood
from likely.objectives.priors import (
    AbstractPrior,
    ElasticNetPrior,
    GaussianPrior,
    LaplacePrior,
    NormPrior,
)
from likely.objectives.surrogates import (
    SurrogateLoss,
    hinge,
    logistic,
    margin,
    zero_one,
)

__all__ = [
    "AbstractPrior",
    "ElasticNetPrior",
    "FirthLikelihood",
    "GaussianPrior",
    "LaplacePrior",
    "NegativeLogLikelihood",
    "NormPrior",
    "PositionLikelihood",
    "SurrogateLoss",
    "hinge",
    "logistic",
    "margin",
    "zero_one",
]
