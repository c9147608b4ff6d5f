r"""Both projections of a distribution on Gaussians: covering its modes, or seeking one.

$KL(p, q)$ is large where p is and q is not, so its minimiser covers all of p: it has the mean and
the variance of p. $KL(q, p)$ is large where q is and p is not, so its minimisers keep to a mode;
with several modes there are several local minima, of which the lowest is the projection.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize

from likely.core.checks import InputError
from likely.information.distributions import distribution_entropy
from likely.information.expectation import log_prob_at
from likely.information.weighted_values import weighted_values

HERMITE_NODES = 64
GRID = 400
REACH, SPLINE_KNOTS = 12.0, 4096
"""How many deviations of p the search covers, and the knots of its spline."""


class NearestGaussian(NamedTuple):
    """A Gaussian with its divergence.

    Attributes:
        mean: its mean.
        std: its standard deviation.
        kl: the divergence that it minimises, in nats.
    """

    mean: float
    std: float
    kl: float


class Projections(NamedTuple):
    """The result of `kl_projections`.

    Attributes:
        covering: the minimiser of KL(p, q).
        seeking: the minimiser of KL(q, p).
        local: all local minima of KL(q, p), the lowest first.
        y: (m,) points at which p is drawn.
        density: (m,) the density of p there.
    """

    covering: NearestGaussian
    seeking: NearestGaussian
    local: list[NearestGaussian]
    y: Float[np.ndarray, " m"]
    density: Float[np.ndarray, " m"]


def kl_projections(p: Any) -> Projections:
    """The Gaussians nearest to a density p in the two directions of the divergence.

    Args:
        p: a predictive distribution of one row with a density, such as a mixture.
    """
    if len(p) != 1 or p.discrete:
        raise InputError("give a distribution of one row with a density, as p[:1].")
    y, w = weighted_values(p)
    mean = float(w @ y)
    std = float(np.sqrt(w @ (y - mean) ** 2))

    nats = 0.5 * (1 + np.log(2 * np.pi)) + np.log(std)
    gap = nats - float(distribution_entropy(p))
    covering = NearestGaussian(mean, std, max(float(gap), 0.0))
    local = _seek(p, mean, std)
    low, high = np.asarray(p.quantile([1e-4, 1 - 1e-4]))[0]
    margin = 0.1 * (high - low)
    at = np.linspace(low - margin, high + margin, GRID)
    return Projections(
        covering, local[0], local, at, np.exp(log_prob_at(p, np.zeros(GRID, int), at))
    )


def _seek(p: Any, mean: float, std: float) -> list[NearestGaussian]:
    """The local minima of KL(q, p), from starts along p; equal ones are joined.

    The search is on a spline through log p, which is asked for once.
    """
    nodes, weight = np.polynomial.hermite_e.hermegauss(HERMITE_NODES)
    weight = weight / weight.sum()
    at = mean + std * np.linspace(-REACH, REACH, SPLINE_KNOTS)
    logs = log_prob_at(p, np.zeros(SPLINE_KNOTS, int), at)
    if not np.isfinite(logs).all():
        raise InputError(
            f"p is 0 at {at[~np.isfinite(logs)][0]:.4g}, where every Gaussian is not: KL(q, p) is "
            "infinite for all of them. Take the logarithm of positive values first."
        )
    log_p = CubicSpline(at, logs)

    def divergence(phi: np.ndarray) -> float:
        m, log_s = phi
        expected = weight @ log_p(m + np.exp(log_s) * nodes)
        return float(-0.5 * (1 + np.log(2 * np.pi)) - log_s - expected)

    found: list[NearestGaussian] = []
    for start in mean + std * np.linspace(-2, 2, 5):
        done = minimize(
            divergence,
            np.array([start, np.log(std / 3)]),
            method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-11, "maxiter": 400},
        )
        m, s, value = done.x[0], np.exp(done.x[1]), max(float(done.fun), 0.0)
        if all(abs(m - g.mean) + abs(s - g.std) > 1e-3 * std for g in found):
            found.append(NearestGaussian(float(m), float(s), value))
    return sorted(found, key=lambda g: g.kl)
