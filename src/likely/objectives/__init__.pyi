from .adversarial import (
    AdversarialLoss as AdversarialLoss,
    energy_distance as energy_distance,
    optimal_critic as optimal_critic,
)
from .blending import (
    BlendedObjective as BlendedObjective,
    Blending as Blending,
)
from .consistency import Consistency as Consistency
from .denoising import DenoisingLoss as DenoisingLoss
from .density import DensityLikelihood as DensityLikelihood
from .evidence_bound import NegativeEvidenceBound as NegativeEvidenceBound
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
from .reconstruction import (
    ReconstructionError as ReconstructionError,
    SparseReconstructionError as SparseReconstructionError,
)
from .row_losses import RowLosses as RowLosses
from .smoothing import (
    SmoothedObjective as SmoothedObjective,
    Smoothing as Smoothing,
)
from .surrogates import (
    SurrogateLoss as SurrogateLoss,
    hinge as hinge,
    logistic as logistic,
    margin as margin,
    zero_one as zero_one,
)
