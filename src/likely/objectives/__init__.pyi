from .consistency import Consistency as Consistency
from .firth import FirthLikelihood as FirthLikelihood
from .nll import NegativeLogLikelihood as NegativeLogLikelihood
from .positions import PositionLikelihood as PositionLikelihood
from .priors import (
    AbstractPrior as AbstractPrior,
    ElasticNetPrior as ElasticNetPrior,
    GaussianPrior as GaussianPrior,
    LaplacePrior as LaplacePrior,
    NormPrior as NormPrior,
)
from .reconstruction import ReconstructionError as ReconstructionError
from .surrogates import (
    SurrogateLoss as SurrogateLoss,
    hinge as hinge,
    logistic as logistic,
    margin as margin,
    zero_one as zero_one,
)
