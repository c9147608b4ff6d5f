from .asymmetric_laplace import AsymmetricLaplace as AsymmetricLaplace
from .bernoulli import Bernoulli as Bernoulli
from .binomial import Binomial as Binomial
from .categorical import Categorical as Categorical
from .censored import Censored as Censored
from .compound import (
    AnyPredictive as AnyPredictive,
    Exponentiated as Exponentiated,
    Mixed as Mixed,
    Stretched as Stretched,
)
from .conditional import condition as condition
from .empirical import Empirical as Empirical
from .exponential import Exponential as Exponential
from .family import AbstractFamily as AbstractFamily
from .gamma import Gamma as Gamma
from .geometric import Geometric as Geometric
from .huber import Huber as Huber
from .hurdle import Hurdle as Hurdle
from .hurdled import Hurdled as Hurdled
from .laplace import Laplace as Laplace
from .log_normal import LogNormal as LogNormal
from .mixing import mix as mix
from .mixture import Mixture as Mixture
from .multinomial import Multinomial as Multinomial
from .multivariate_normal import MultivariateNormal as MultivariateNormal
from .negative_binomial import NegativeBinomial as NegativeBinomial
from .normal import Normal as Normal
from .ordinal import CumulativeLogit as CumulativeLogit
from .poisson import Poisson as Poisson
from .predictive import Predictive as Predictive
from .product import Product as Product
from .recalibrated import Recalibrated as Recalibrated
from .rounded_normal import RoundedNormal as RoundedNormal
from .simplex import (
    in_simplex as in_simplex,
    logit as logit,
    logsumexp as logsumexp,
    sigmoid as sigmoid,
    softmax as softmax,
)
from .student import StudentT as StudentT
from .tweedie import Tweedie as Tweedie
from .weibull import Weibull as Weibull
from .within import within as within
