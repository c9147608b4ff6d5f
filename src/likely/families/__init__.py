"""1. p(y | θ): distributions and links, with cdf and quantile for all."""

from likely.families.bernoulli import Bernoulli
from likely.families.binomial import Binomial
from likely.families.categorical import Categorical
from likely.families.compound import AnyPredictive, Exponentiated, Mixed, Stretched
from likely.families.conditional import condition
from likely.families.empirical import Empirical
from likely.families.exponential import Exponential
from likely.families.family import AbstractFamily
from likely.families.gamma import Gamma
from likely.families.geometric import Geometric
from likely.families.huber import Huber
from likely.families.laplace import Laplace
from likely.families.mixture import Mixture
from likely.families.multinomial import Multinomial
from likely.families.multivariate_normal import MultivariateNormal
from likely.families.negative_binomial import NegativeBinomial
from likely.families.normal import Normal
from likely.families.poisson import Poisson
from likely.families.predictive import Predictive
from likely.families.product import Product
from likely.families.simplex import in_simplex, logit, logsumexp, sigmoid, softmax
from likely.families.student import StudentT

__all__ = [
    "AbstractFamily",
    "AnyPredictive",
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Empirical",
    "Exponential",
    "Exponentiated",
    "Gamma",
    "Geometric",
    "Huber",
    "Laplace",
    "Mixed",
    "Mixture",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "Poisson",
    "Predictive",
    "Product",
    "Stretched",
    "StudentT",
    "condition",
    "in_simplex",
    "logit",
    "logsumexp",
    "sigmoid",
    "softmax",
]
