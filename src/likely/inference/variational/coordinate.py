r"""Mean-field coordinate ascent: $q(z) = \prod_j q_j(z_j)$, one factor after the other.

With all other factors fixed the best one is known,

$$\log q_j^*(z_j) = E_{q_{-j}}[\log p(x, z)] + \mathrm{const},$$

so each update raises the ELBO, or leaves it. Where blocks are conjugate the update is a
formula. Two concrete cases are here: a normal target, for which

$$m_j \leftarrow μ_j - \frac{1}{Λ_{jj}} \sum_{k \ne j} Λ_{jk}(m_k - μ_k), \qquad
  s_j^2 = \frac{1}{Λ_{jj}},$$

and normal observations with unknown mean and precision (`normal_gamma`).
`coordinate_ascent` runs any set of updates and checks that the ELBO never falls.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.inference.variational.gaussian import LOG_2PI

S = TypeVar("S")
ROUNDING = 1e-9
"""The share of the ELBO by which it may fall by rounding."""


@dataclass(frozen=True)
class CoordinateAscent(Generic[S]):
    """The factors after the last sweep, and the ELBO after each.

    Attributes:
        factors: the parameters of every factor, by name.
        elbo: (sweeps + 1,) rising.
        converged: whether the last sweep changed the ELBO by less than the tolerance.
    """

    factors: dict[str, S]
    elbo: Float[np.ndarray, " sweeps"]
    converged: bool


def coordinate_ascent(
    updates: Mapping[str, Callable[[dict[str, Any]], Any]],
    start: Mapping[str, Any],
    elbo: Callable[[dict[str, Any]], float],
    *,
    tolerance: float = 1e-10,
    max_sweeps: int = 1000,
) -> CoordinateAscent:
    """Update one factor after the other until the ELBO stands still.

    Args:
        updates: by the name of a factor: from all factors to the best parameters of this.
        start: the first parameters of every factor.
        elbo: of all factors.
        tolerance: the rise of the ELBO, in nats, at which to stop.
        max_sweeps: the most rounds.
    """
    missing = [name for name in updates if name not in start]
    if missing:
        raise InputError(
            f"start has no factor {missing[0]!r}; give one for each update."
        )
    factors, course = dict(start), [float(elbo(dict(start)))]
    for _ in range(max_sweeps):
        for name, update in updates.items():
            factors[name] = update(factors)
        course.append(float(elbo(factors)))
        if course[-1] < course[-2] - ROUNDING * (1 + abs(course[-2])):
            raise InputError(
                f"the ELBO fell from {course[-2]:.6g} to {course[-1]:.6g}: an update is "
                "not the best factor given the others, or elbo is of another model."
            )
        if course[-1] - course[-2] <= tolerance:
            return CoordinateAscent(factors, np.array(course), True)
    return CoordinateAscent(factors, np.array(course), False)


class MeanFieldNormal(NamedTuple):
    """The mean-field approximation of a normal distribution."""

    mean: Float[np.ndarray, " d"]
    variance: Float[np.ndarray, " d"]
    """1/Λ_jj: at most the true variances."""
    elbo: Float[np.ndarray, " sweeps"]
    """After each sweep; the log evidence of a normalised density is 0."""
    kl: float
    """KL(q, p) at the end, in nats: −elbo, for p is normalised."""
    converged: bool


def mean_field_normal(
    mean: Any, precision: Any, *, start: Any = None, tolerance: float = 1e-14
) -> MeanFieldNormal:
    """Coordinate ascent on a normal target N(μ, Λ⁻¹).

    Args:
        mean: (d,) μ.
        precision: (d, d) Λ, positive definite.
        start: (d,) first means of the factors; zeros by default.
        tolerance: the rise of the ELBO at which to stop.

    Examples:
        >>> found = lk.inference.mean_field_normal(np.zeros(2), np.array([[2.0, 1.0], [1.0, 2.0]]))
        >>> found.variance
        array([0.5, 0.5])
    """
    mu, P = np.asarray(mean, float), np.asarray(precision, float)
    d = len(mu)
    sign, log_det = np.linalg.slogdet(P)
    if P.shape != (d, d) or sign <= 0 or np.linalg.eigvalsh(P)[0] <= 0:
        raise InputError("precision has to be a positive definite matrix, (d, d).")
    own = np.diagonal(P)

    def elbo(factors: dict[str, float]) -> float:
        away = np.array([factors[str(j)] for j in range(d)]) - mu
        energy = -0.5 * (away @ P @ away + d) + 0.5 * (log_det - d * LOG_2PI)
        return energy + 0.5 * (d * (1 + LOG_2PI) - np.log(own).sum())

    def update(j: int) -> Callable[[dict[str, float]], float]:
        def best(factors: dict[str, float]) -> float:
            away = np.array([factors[str(k)] for k in range(d)]) - mu
            return float(mu[j] - (P[j] @ away - P[j, j] * away[j]) / P[j, j])

        return best

    first = np.zeros(d) if start is None else np.asarray(start, float)
    found = coordinate_ascent(
        {str(j): update(j) for j in range(d)},
        {str(j): float(first[j]) for j in range(d)},
        elbo,
        tolerance=tolerance,
    )
    means = np.array([found.factors[str(j)] for j in range(d)])
    kl = max(0.0, -float(found.elbo[-1]))
    return MeanFieldNormal(means, 1 / own, found.elbo, kl, found.converged)
