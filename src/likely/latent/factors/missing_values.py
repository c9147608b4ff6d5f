r"""Expectation maximisation for normal models with missing values.

The E step replaces each missing value by what is expected of it, given the values that are there,
and adds its conditional covariance:

$$\hat x_i = E[x_i \mid \text{observed}], \qquad
  S = \tfrac{1}{N} \sum_i w_i \bigl( (\hat x_i - μ)(\hat x_i - μ)^\top + C_i \bigr).$$

The M step is the fit of the model to a complete covariance S, whatever it is: exact for
probabilistic PCA and for factor analysis. The likelihood of what is observed never falls, and
only what is missing slows it down.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from likely.latent.factors.low_rank_normal import MAX_NUMBERS, LowRankNormal

Maximise = Callable[[np.ndarray, LowRankNormal | None], LowRankNormal]
"""(covariance, the model before or None) -> the model of largest likelihood, mean zero."""


class FactorFit(NamedTuple):
    """A fitted normal distribution of low rank, and the likelihood of each iteration.

    Attributes:
        normal: the distribution.
        path: log-likelihood in nats per unit of weight, before each iteration.
        converged: whether the last iteration changed it by less than the tolerance.
    """

    normal: LowRankNormal
    path: list[float]
    converged: bool


class Patterns(NamedTuple):
    """Rows with missing values, and the different sets of values that are missing.

    Attributes:
        rows: the numbers of the rows.
        number: the pattern of each of them.
        there: which values each pattern has.
        weight: the weight of the rows of each pattern.
    """

    rows: np.ndarray
    number: np.ndarray
    there: np.ndarray
    weight: np.ndarray


def fit_missing(
    X: Float[np.ndarray, "n d"],
    w: Float[np.ndarray, " n"],
    maximise: Maximise,
    *,
    tol: float,
    max_iter: int,
) -> FactorFit:
    """The model of largest likelihood for rows with missing values.

    Args:
        X: rows; NaN is a missing value.
        w: their weights.
        maximise: the fit of the model to a covariance.
        tol: stop where an iteration gains less, in nats per unit of weight.
        max_iter: stop after this many iterations.
    """
    there = ~np.isnan(X)
    count = w @ there
    shift = w @ np.where(there, X, 0.0) / count
    Y = np.where(there, X - shift, 0.0)
    scale = float(np.sqrt((w @ Y**2 / count).mean())) or 1.0
    Y /= scale
    patterns, weight = _patterns(there, w), float(w.sum())
    missing = np.where(there, Y, np.nan)
    normal = maximise((Y * w[:, None]).T @ Y / weight, None)
    path: list[float] = []
    units = float(count.sum()) / weight * np.log(scale)
    for _ in range(max_iter):
        path.append(float(w @ normal.log_prob(missing)) / weight - units)
        if len(path) > 1 and path[-1] - path[-2] < tol:
            return FactorFit(_unscaled(normal, shift, scale), path, True)
        filled = normal.filled(missing)
        mean = w @ filled / weight
        R = (filled - mean) * np.sqrt(w)[:, None]
        S = (R.T @ R + _conditional(normal, patterns)) / weight
        normal = maximise(S, normal)._replace(mean=mean)
    return FactorFit(_unscaled(normal, shift, scale), path, False)


def _patterns(there: np.ndarray, w: np.ndarray) -> Patterns:
    """The different sets of missing values of the rows that miss some."""
    rows = np.flatnonzero(~there.all(1))
    found, number = np.unique(there[rows], axis=0, return_inverse=True)
    number = number.ravel()
    return Patterns(rows, number, found, np.bincount(number, w[rows], len(found)))


def _conditional(normal: LowRankNormal, patterns: Patterns) -> np.ndarray:
    """The covariances of missing values given the others, added up over rows."""
    d, k = normal.W.shape
    total = np.zeros((d, d))
    size = max(1, MAX_NUMBERS // (d * k + k * k))
    for start in range(0, len(patterns.there), size):
        there = patterns.there[start : start + size]
        C = normal.posterior_covariances(there)
        roots = (
            np.linalg.cholesky(C)
            * np.sqrt(patterns.weight[start : start + size])[:, None, None]
        )
        T = normal.W @ roots  # (patterns, d, k)
        T *= ~there[:, :, None]
        T = T.transpose(1, 0, 2).reshape(d, -1)
        total += T @ T.T
    noise = (patterns.weight @ ~patterns.there) * normal.psi
    total[np.diag_indices(d)] += noise
    return total


def _unscaled(normal: LowRankNormal, shift: np.ndarray, scale: float) -> LowRankNormal:
    """The distribution in the units of the rows."""
    mean, W, psi = normal
    return LowRankNormal(shift + scale * mean, scale * W, scale**2 * psi)
