r"""Formulas of the continuous ranked probability score, family by family.

$$\mathrm{CRPS}(F, y) = \int (F(t) - 1[t \ge y])^2\, dt
  = \mathrm{E}|Y - y| - \tfrac12 \mathrm{E}|Y - Y'| .$$

It has the units of y, is |y − m| for a point m, and is lowest on average for the true
distribution. Formulas: Gneiting and Raftery (2007), Jordan, Krüger and Lerch (2019).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import betaln, expit, gamma, gammainc, ive, ndtr, softmax

from likely.core.precision import float64
from likely.families.asymmetric_laplace import AsymmetricLaplace
from likely.families.bernoulli import Bernoulli
from likely.families.binomial import Binomial
from likely.families.exponential import Exponential
from likely.families.gamma import Gamma
from likely.families.geometric import Geometric
from likely.families.hurdle import Hurdle
from likely.families.laplace import Laplace
from likely.families.log_normal import LogNormal
from likely.families.mixture import Mixture
from likely.families.negative_binomial import NegativeBinomial
from likely.families.normal import Normal
from likely.families.poisson import Poisson
from likely.families.student import StudentT
from likely.families.weibull import Weibull

Rows = Float[np.ndarray, " n"]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
BLOCK_ENTRIES = 4_000_000
"""The largest number of pairs of components in one block of rows."""


def closed_crps(dist: Any, y: Rows) -> Rows | None:
    """The score of a distribution of one family by its formula; None where it has none."""
    family = dist.family
    if isinstance(family, Mixture) and isinstance(family.family, Normal):
        theta = dist.theta
        weights = softmax(theta["mixture_logits"], axis=1)
        return crps_of_normals(weights, theta["loc"], theta["scale"], y)
    formula = FORMULAS.get(type(family))
    return None if formula is None else formula(dist, y)


def _absolute(gap: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """E|Z| of Z ~ N(gap, scale²)."""
    z = np.abs(gap) / np.where(scale > 0, scale, 1.0)
    spread = 2 * np.exp(-0.5 * np.minimum(z, 1e3) ** 2) / np.sqrt(2 * np.pi)
    inside = scale * (z * (1 - 2 * ndtr(-z)) + spread)
    return np.where((scale > 0) & (z < 40), inside, np.abs(gap))


def crps_of_normals(
    weights: Float[np.ndarray, "n m"],
    loc: Float[np.ndarray, "n m"],
    scale: Float[np.ndarray, "n m"],
    y: Rows,
) -> Rows:
    """The score of a mixture of normals, whose scales may be zero (points)."""
    score = (weights * _absolute(y[:, None] - loc, scale)).sum(1)
    m, spread = loc.shape[1], np.zeros(len(y))
    block = max(1, BLOCK_ENTRIES // m**2)
    for start in range(0, len(y), block):
        rows = slice(start, start + block)
        mu, s, w = loc[rows], scale[rows], weights[rows]
        both = np.hypot(s[:, :, None], s[:, None, :])
        pairs = _absolute(mu[:, :, None] - mu[:, None, :], both)
        spread[rows] = np.einsum("ni,nij,nj->n", w, pairs, w)
    return score - 0.5 * spread


def crps_of_hurdle(zero: Rows, base: Any, y: Rows) -> Rows:
    r"""The score of y that is 0 with some probability, else of a distribution X.

    By that of X, E|X − y| − ½E|X − X'|, which is E[X] − ½E|X − X'| at 0.
    """
    rest, mean = 1 - zero, base.mean
    apart = 2 * (mean - base.crps(np.zeros_like(y)))
    near = base.crps(y) + 0.5 * apart
    total = zero * np.abs(y) + rest * near
    return total - zero * rest * mean - 0.5 * rest**2 * apart


def _hurdle(dist: Any, y: Rows) -> Rows:
    base = type(dist)(dist.family.family, dist.eta[:, 1:])
    return crps_of_hurdle(expit(dist.eta[:, 0]), base, y)


def _log_normal(dist: Any, y: Rows) -> Rows:
    theta = dist.theta
    return crps_of_log_normal(theta["loc"], theta["scale"], y)


def crps_of_log_normal(loc: np.ndarray, scale: np.ndarray, y: Rows) -> Rows:
    """The score of y = e^z with normal z."""
    log_y = np.log(np.where(y > 0, y, 1.0))
    z = np.where(y > 0, (log_y - loc) / scale, -np.inf)
    mean = np.exp(np.minimum(loc + 0.5 * scale**2, 700.0))
    parts = ndtr(z - scale) - ndtr(-scale / np.sqrt(2))
    return y * (2 * ndtr(z) - 1) - 2 * mean * parts


def _normal(dist: Any, y: Rows) -> Rows:
    theta = dist.theta
    scale = theta["scale"]
    return _absolute(y - theta["loc"], scale) - scale / np.sqrt(np.pi)


def _laplace(dist: Any, y: Rows) -> Rows:
    """Both sides of μ are exponential: the integrals of F² below y and (1 − F)² above."""
    theta, t = dist.theta, getattr(dist.family, "tau", 0.5)
    z = (y - theta["loc"]) / theta["scale"]

    def above(z: np.ndarray, t: float) -> np.ndarray:
        """The score at z ≥ 0, where P(Y < 0) = t."""
        near = z + (1 - t) / t * np.expm1(-2 * t * z)
        both = (1 - t) ** 2 / (4 * t)  # ∫ ((1 − t) e^(−2tz))² over z ≥ 0
        return near + both + t**2 / (4 * (1 - t))

    size = np.abs(z)
    return theta["scale"] * np.where(z > 0, above(size, t), above(size, 1 - t))


def _student(dist: Any, y: Rows) -> Rows:
    """The formula, which holds for ν > ½ (below, the score is infinite); a limit at 1."""
    theta = dist.theta
    df = theta["df"]
    z, F = (y - theta["loc"]) / theta["scale"], dist.cdf(y)
    near_one = np.abs(df - 1) < 1e-6
    nu = np.where(near_one, 1 + 1e-6, np.maximum(df, 0.5 + 1e-9))
    log_ratio = betaln(0.5, nu - 0.5) - 2 * betaln(0.5, nu / 2)
    log_tail = np.log(nu) - 0.5 * (nu - 1) * np.log1p(z / nu * z) - 0.5 * np.log(nu)
    density = np.exp(log_tail - betaln(0.5, nu / 2))  # f(z) (ν + z²)
    rest = 2 * (density - np.sqrt(nu) * np.exp(log_ratio)) / (nu - 1)
    score = theta["scale"] * (z * (2 * F - 1) + rest)
    return np.where(df > 0.5, score, np.inf)


def _exponential(dist: Any, y: Rows) -> Rows:
    mean = 1 / dist.theta["rate"]
    return np.abs(y) - 2 * mean * dist.cdf(y) + 0.5 * mean


def _gamma(dist: Any, y: Rows) -> Rows:
    a, mean = dist.theta["concentration"], dist.mean
    jump = np.where(y > 0, y, 0.0) * np.exp(dist.log_prob(np.where(y > 0, y, 1.0)))
    scale = mean * np.exp(-np.log(a) - betaln(0.5, a))
    return (y - mean) * (2 * dist.cdf(y) - 1) + 2 * mean * jump / a - scale


def _weibull(dist: Any, y: Rows) -> Rows:
    k, scale = dist.theta["concentration"], dist.theta["scale"]
    power = (np.maximum(y, 0.0) / scale) ** k
    mean = scale * gamma(1 + 1 / k)
    partial = gammainc(1 + 1 / k, power)
    return y * (2 * dist.cdf(y) - 1) + mean * (2 ** (-1 / k) - 2 * partial)


def _poisson(dist: Any, y: Rows) -> Rows:
    rate = dist.theta["rate"]
    jump = np.where(y >= 0, np.exp(dist.log_prob(np.floor(np.maximum(y, 0.0)))), 0.0)
    spread = ive(0, 2 * rate) + ive(1, 2 * rate)
    return (y - rate) * (2 * dist.cdf(y) - 1) + rate * (2 * jump - spread)


def _bernoulli(dist: Any, y: Rows) -> Rows:
    p, q = expit(dist.theta["logits"]), expit(-dist.theta["logits"])
    return q * np.abs(y) + p * np.abs(1 - y) - p * q


def _geometric(dist: Any, y: Rows) -> Rows:
    logits = dist.theta["logits"]
    mean, q = np.exp(-logits), 1 / (1 + np.exp(logits))
    k = np.floor(np.maximum(y, 0.0))
    at_count = k - 2 * mean * dist.cdf(k - 1) + mean * q / (1 + q)
    return at_count + (y - k) * (2 * dist.cdf(y) - 1)


def _binomial(dist: Any, y: Rows) -> Rows:
    n, logits = dist.theta["total_count"], dist.theta["logits"]
    p, q = expit(logits), expit(-logits)
    partial = np.ones(
        len(y)
    )  # Σ k p(k) over k ≤ y, over the mean: that of n − 1 trials
    if int(dist.family.total_count) > 1:
        partial = type(dist)(Binomial(int(n[0]) - 1), dist.eta).cdf(np.floor(y) - 1)
    partial = np.where(y < 1, 0.0, partial)
    spread = _spread_of_counts(lambda s: n * np.log1p(-4 * p * q * s), n * p * q)
    return y * (2 * dist.cdf(y) - 1) - n * p * (2 * partial - 1) - spread


def _negative_binomial(dist: Any, y: Rows) -> Rows:
    mean, r = dist.theta["mean"], dist.theta["concentration"]
    more = dict(mean=mean * (1 + 1 / r), concentration=r + 1)
    with float64():
        eta = np.asarray(NegativeBinomial().eta(**more))
    partial = type(dist)(NegativeBinomial(), eta).cdf(np.floor(y) - 1)
    c = 4 * (mean / r) * (1 + mean / r)
    spread = _spread_of_counts(lambda s: -r * np.log1p(c * s), mean * (1 + mean / r))
    return y * (2 * dist.cdf(y) - 1) - mean * (2 * partial - 1) - spread


def _spread_of_counts(
    log_square: Callable[[np.ndarray], np.ndarray], variance: Rows
) -> Rows:
    r"""½ E|Y − Y'| of two counts from their characteristic function φ.

    $\frac{1}{4π} \int_0^π (1 - |φ(t)|^2) / \sin^2\tfrac t2\, dt$, because
    $π |k| = \int_0^π \frac{1 - \cos kt}{1 - \cos t} dt$; by Gauss's rule on halving cells.

    Args:
        log_square: log |φ(t)|² as a function of sin² t/2.
        variance: the variance of Y, which is the curvature of |φ|² at 0.
    """
    halvings = int(np.ceil(np.log2(16 * np.sqrt(np.max(variance, initial=1.0)) + 16)))
    ends = np.pi * 0.5 ** np.arange(halvings + 1)
    total = np.zeros(len(variance))
    for low, high in zip([*ends[1:], 0.0], ends, strict=True):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            s = np.sin(0.25 * (low + high + (high - low) * node)) ** 2
            total += 0.5 * (high - low) * weight * -np.expm1(log_square(s)) / s
    return total / (4 * np.pi)


FORMULAS: dict[type, Callable[[Any, Rows], Rows]] = {
    Normal: _normal,
    Hurdle: _hurdle,
    Laplace: _laplace,
    AsymmetricLaplace: _laplace,
    StudentT: _student,
    Exponential: _exponential,
    Gamma: _gamma,
    Weibull: _weibull,
    Bernoulli: _bernoulli,
    Poisson: _poisson,
    Binomial: _binomial,
    LogNormal: _log_normal,
    NegativeBinomial: _negative_binomial,
    Geometric: _geometric,
}
