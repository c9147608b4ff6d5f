from .bootstrap import (
    bootstrap as bootstrap,
    resampled_weights as resampled_weights,
)
from .correlation import (
    Correlation as Correlation,
    correlation as correlation,
)
from .estimate import Estimate as Estimate
from .evidence.bridge import (
    EvidenceEstimate as EvidenceEstimate,
    bridge_sampling as bridge_sampling,
)
from .evidence.conjugate import (
    BetaBernoulli as BetaBernoulli,
    DirichletMultinomial as DirichletMultinomial,
    GammaPoisson as GammaPoisson,
)
from .evidence.importance import (
    WeightedDraws as WeightedDraws,
    importance_sampling as importance_sampling,
)
from .evidence.laplace import LaplaceFit as LaplaceFit, laplace as laplace
from .evidence.nested_sampling import (
    NestedSampling as NestedSampling,
    nested_sampling as nested_sampling,
)
from .evidence.normal_linear import NormalLinearModel as NormalLinearModel
from .evidence.pareto import pareto_smooth as pareto_smooth
from .information import (
    Curvature as Curvature,
    curvature as curvature,
    information as information,
    inverse as inverse,
    joint_information as joint_information,
    scores as scores,
)
from .mcmc.convergence import (
    ess_bulk as ess_bulk,
    ess_mean as ess_mean,
    ess_tail as ess_tail,
    mcse as mcse,
    r_hat as r_hat,
)
from .mcmc.draws import Draws as Draws
from .mcmc.metropolis import (
    acceptance_probability as acceptance_probability,
    metropolis as metropolis,
)
from .mcmc.nuts import hmc as hmc, nuts as nuts
from .mcmc.table import DrawsTable as DrawsTable
from .nested import (
    TestResult as TestResult,
    anova as anova,
    f_test as f_test,
    likelihood_ratio_test as likelihood_ratio_test,
    t_test as t_test,
)
from .sandwich import sandwich as sandwich
from .summary import Summary as Summary
from .variational.advi import (
    VariationalFit as VariationalFit,
    advi as advi,
    elbo_gradients as elbo_gradients,
)
from .variational.coordinate import (
    CoordinateAscent as CoordinateAscent,
    MeanFieldNormal as MeanFieldNormal,
    coordinate_ascent as coordinate_ascent,
    mean_field_normal as mean_field_normal,
)
from .variational.elbo import (
    ElboIdentity as ElboIdentity,
    elbo_identity as elbo_identity,
)
from .variational.em import (
    VariationalEM as VariationalEM,
    variational_em as variational_em,
)
from .variational.gaussian import GaussianApproximation as GaussianApproximation
from .variational.normal_gamma import (
    NormalGammaFit as NormalGammaFit,
    normal_gamma as normal_gamma,
)
