r"""Pareto-smoothed importance weights, and k̂, which says when not to believe them.

The largest of n weights are replaced by the quantiles of a generalised Pareto distribution
fitted to them (Zhang and Stephens), never above the largest one. Its shape k̂ tells how
heavy the tail is: below 0.7 the mean of weighted draws can be trusted, above 1 the weights
have no mean.
"""

import numpy as np
from jaxtyping import Float

MAX_PARETO_K = 0.7
"""The shape of the tail up to which the mean of weighted draws can be trusted."""
MIN_SHARE = 0.8
"""The effective share of draws from which weights are so even that k̂ says little."""
MIN_TAIL = 5
"""Weights in the tail below which nothing is fitted."""
PRIOR_DRAWS = 10
"""k̂ is drawn towards ½ as if by so many weights."""


def is_trusted(pareto_k: float, share: float) -> bool:
    """Whether importance weights can be trusted, by k̂ and the effective share of draws."""
    return pareto_k <= MAX_PARETO_K or share >= MIN_SHARE


def pareto_smooth(
    log_weights: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, " n"], float]:
    """The smoothed log-weights, normalised to a sum of one, and k̂.

    k̂ is infinite where the tail is too short to be judged, and −∞ where all weights are equal.

    Examples:
        >>> weights, k = lk.inference.pareto_smooth(np.random.default_rng(0).normal(size=1000))
        >>> round(float(np.exp(weights).sum()), 6)
        1.0
    """
    log_w = np.asarray(log_weights, np.float64)
    log_w = log_w - log_w.max()
    n = len(log_w)
    size = int(np.ceil(min(0.2 * n, 3 * np.sqrt(n))))
    k = np.inf
    if size >= MIN_TAIL:
        order = np.argsort(log_w, kind="stable")
        tail, cut = order[-size:], log_w[order[-size - 1]]
        cut = max(cut, np.log(np.finfo(float).tiny))
        above = np.exp(log_w[tail]) - np.exp(cut)
        if above[-1] <= 0 or np.ptp(log_w[tail]) < 1e-12:
            k = -np.inf
        elif (above > 0).sum() > 4:
            k, sigma = _generalised_pareto(np.maximum(above, np.finfo(float).tiny))
            p = (np.arange(size) + 0.5) / size
            smooth = _quantile(p, k, sigma) + np.exp(cut)
            log_w = log_w.copy()
            log_w[tail] = np.minimum(np.log(smooth), 0.0)
    return log_w - np.logaddexp.reduce(log_w), float(k)


def _quantile(p: np.ndarray, k: float, sigma: float) -> np.ndarray:
    if abs(k) < 1e-12:
        return -sigma * np.log1p(-p)
    return sigma * np.expm1(-k * np.log1p(-p)) / k


def _generalised_pareto(x: Float[np.ndarray, " m"]) -> tuple[float, float]:
    """Shape and scale of sorted excesses, by the posterior mean of Zhang and Stephens."""
    n = len(x)
    grid = 30 + int(np.sqrt(n))
    b = 1 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = b / (3 * x[int(n / 4 + 0.5) - 1]) + 1 / x[-1]
    k = np.log1p(-b[:, None] * x).mean(1)
    profile = n * (np.log(-(b / k)) - k - 1)
    share = 1 / np.exp(profile - profile[:, None]).sum(1)
    share = np.where(share >= 10 * np.finfo(float).eps, share, 0.0)
    b_mean = float((b * share).sum() / share.sum())
    shape = float(np.log1p(-b_mean * x).mean())
    sigma = -shape / b_mean
    return (n * shape + 0.5 * PRIOR_DRAWS) / (n + PRIOR_DRAWS), sigma
