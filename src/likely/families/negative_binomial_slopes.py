r"""The negative binomial in NumPy: derivatives and the marginal maximum, nothing compiled.

With $m = \log μ$, $u = \log r$, $s = r/(r + μ)$ and $D = ψ(r + y) - ψ(r)$, those of $-\log p$ are

$$\frac{∂}{∂m} = (μ - y)\, s, \quad \frac{∂^2}{∂m^2} = \frac{μ r (r + y)}{(r + μ)^2}, \quad
  \frac{∂^2}{∂m\,∂u} = (μ - y)\, s (1 - s), \quad
  \frac{∂}{∂u} = -r \Bigl(D + \log s + \frac{μ - y}{r + μ}\Bigr).$$

Where r is far above μ and y the last one loses all digits; there it is the first term of its
series in 1/r, $\tfrac{1}{2r} ((y - μ)^2 - y)$.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import psi, zeta

from likely.families.family import AbstractFamily
from likely.families.negative_binomial import NegativeBinomial

SERIES = 1e5
"""r over μ and y from which derivatives in log r are given by a series."""
MAX_STEPS = 100
MAX_LOG = 300.0
"""The largest log μ and log r for which formulas here are used."""


class Slopes(NamedTuple):
    """First and second derivatives of −log p in (log μ, log r), of each row."""

    m: Float[np.ndarray, " n"]
    u: Float[np.ndarray, " n"]
    mm: Float[np.ndarray, " n"]
    mu: Float[np.ndarray, " n"]
    uu: Float[np.ndarray, " n"]


def location_slopes(log_mean, log_r, y) -> tuple[np.ndarray, np.ndarray]:
    """The first and second derivative of −log p in log μ."""
    mean, r = np.exp(log_mean), np.exp(log_r)
    share = 1 / (1 + np.exp(log_mean - log_r))
    return (mean - y) * share, mean * share * (r + y) / (r + mean)


def dispersion_slopes(log_mean, log_r, y) -> tuple[np.ndarray, np.ndarray]:
    """The first and second derivative of −log p in log r."""
    mean, r, y = np.broadcast_arrays(np.exp(log_mean), np.exp(log_r), y)
    far = r > SERIES * np.maximum(np.maximum(mean, y), 1.0)
    near = np.where(far, 1.0, r)
    total, gap = near + mean, mean - y
    grown = near + y
    slope = psi(grown) - psi(near) - np.log1p(mean / near) + gap / total
    curve = zeta(2, grown) - zeta(2, near) + mean / (near * total) - gap / total**2
    first = -near * slope
    series = 0.5 * (gap**2 - y) / np.where(far, r, 1.0)
    return (
        np.where(far, series, first),
        np.where(far, -series, first - near**2 * curve),
    )


def slopes(log_mean, log_r, y) -> Slopes:
    """All derivatives of each row."""
    m, mm = location_slopes(log_mean, log_r, y)
    u, uu = dispersion_slopes(log_mean, log_r, y)
    return Slopes(m, u, mm, m / (1 + np.exp(log_r - log_mean)), uu)


def dispersion_step(log_mean, log_r: float, y, w, limits: tuple[float, float]) -> float:
    """log r after one step of Newton's method, of 2 at most, between the limits."""
    first, second = dispersion_slopes(log_mean, log_r, y)
    g, h = float(w @ first), max(abs(float(w @ second)), 1e-12 * float(w.sum()))
    return float(np.clip(log_r - np.clip(g / h, -2.0, 2.0), *limits))


def marginal_on_host(
    family: AbstractFamily, y: np.ndarray, w: np.ndarray
) -> np.ndarray | None:
    """(log μ, log r) of largest likelihood; None for other families and in its limits."""
    free = type(family) is NegativeBinomial and family.concentration is None
    return _marginal(y, w) if free else None


def _marginal(y: np.ndarray, w: np.ndarray) -> np.ndarray | None:
    here = w > 0
    y, w = y[here].astype(float), w[here]
    if not len(y):
        return None
    values, place = np.unique(y, return_inverse=True)
    w = np.bincount(place, w)
    total = w.sum()
    mean = float(w @ values / total) or 0.5 / total
    extra = float(w @ (values - mean) ** 2 / total) - mean
    if not extra > 1e-3 * mean or not np.isfinite(mean**2 / extra):
        return None  # as good as a Poisson distribution
    log_mean, log_r = np.log(mean), float(np.log(np.clip(mean**2 / extra, 1e-3, 1e3)))
    limits = log_r - MAX_LOG / 10, log_r + MAX_LOG / 10
    for _ in range(MAX_STEPS):
        before = log_r
        log_r = dispersion_step(log_mean, log_r, values, w, limits)
        if abs(log_r - before) < 1e-12 * (1 + abs(log_r)):
            return (
                np.array([log_mean, log_r]) if limits[0] < log_r < limits[1] else None
            )
    return None


def boosting_slopes(
    eta: np.ndarray, y: np.ndarray, r: Any
) -> tuple[np.ndarray, np.ndarray]:
    """(k, n) first derivatives, and second ones that are at least as large.

    Args:
        eta: (n, k) log μ, and log r where r is None.
        y: counts.
        r: the concentration, where it is fixed.
    """
    eta = np.clip(eta, -MAX_LOG, MAX_LOG)
    if r is not None:
        g, h = (part[None] for part in location_slopes(eta[:, 0], np.log(r), y))
    else:
        found = slopes(eta[:, 0], eta[:, 1], y)
        g, h = np.stack([found.m, found.u]), np.stack([found.mm, found.uu])
    g = np.nan_to_num(g)
    return g, np.maximum(np.nan_to_num(h), np.abs(g))
