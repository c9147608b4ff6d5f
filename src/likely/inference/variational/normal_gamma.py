r"""Normal observations with unknown mean and precision, by mean field and exactly.

$$x_i \sim N(μ, 1/τ), \qquad μ \mid τ \sim N(μ_0, 1/(κ_0 τ)), \qquad
  τ \sim \mathrm{Gamma}(a_0, b_0).$$

The mean-field updates of $q(μ)\,q(τ) = N(m, 1/λ)\,\mathrm{Gamma}(a, b)$ are

$$m = \frac{κ_0 μ_0 + n\bar x}{κ_0 + n}, \quad λ = (κ_0 + n)\frac ab, \qquad
  a = a_0 + \frac{n+1}{2},$$

$$b = b_0 + \tfrac12 E_q\Bigl[\sum_i (x_i - μ)^2 + κ_0(μ - μ_0)^2\Bigr].$$

The model is conjugate, so the posterior and log p(x) are known too, and the gap between log
p(x) and the ELBO is the KL divergence of the mean field from the posterior.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln

from likely.core.checks import InputError, check_finite, check_weights
from likely.inference.variational.coordinate import coordinate_ascent
from likely.inference.variational.gaussian import LOG_2PI


class NormalGammaFit(NamedTuple):
    """The mean field of (μ, τ), the exact posterior, and both evidences."""

    mean: float
    """m, the mean of q(μ)."""
    precision: float
    """λ, the precision of q(μ)."""
    shape: float
    """a of q(τ)."""
    rate: float
    """b of q(τ)."""
    elbo: Float[np.ndarray, " sweeps"]
    """After each sweep."""
    log_evidence: float
    """log p(x), exact."""
    posterior: tuple[float, float, float, float]
    """μₙ, κₙ, aₙ, bₙ of the exact posterior."""
    converged: bool

    @property
    def kl(self) -> float:
        """The KL divergence of q from the posterior: log p(x) − ELBO."""
        return self.log_evidence - float(self.elbo[-1])


def normal_gamma(
    x: Any,
    sample_weight: Any = None,
    *,
    mean: float = 0.0,
    strength: float = 1.0,
    shape: float = 1.0,
    rate: float = 1.0,
) -> NormalGammaFit:
    """Mean-field inference of the mean and the precision of a normal distribution.

    Args:
        x: (n,) observations.
        sample_weight: how often each counts.
        mean: μ₀.
        strength: κ₀, observations that the prior of μ is worth.
        shape: a₀.
        rate: b₀.

    Examples:
        >>> found = lk.inference.normal_gamma(np.array([1.0, 2.0, 3.0]))
        >>> round(float(found.mean), 2)
        1.5
    """
    x = np.asarray(x, float)
    w = check_weights(sample_weight, len(x))
    check_finite("x", x, w)
    if not min(strength, shape, rate) > 0:
        raise InputError("strength, shape and rate have to be above 0.")
    x, w = x[w > 0], w[w > 0]
    n = float(w.sum())
    centre = float(w @ x) / n
    square = float(w @ (x - centre) ** 2)
    kappa = strength + n
    m = (strength * mean + n * centre) / kappa
    a = shape + 0.5 * (n + 1)
    around = square + n * (centre - m) ** 2 + strength * (m - mean) ** 2

    def update_mean(factors: dict[str, Any]) -> tuple[float, float]:
        own_a, b = factors["precision"]
        return m, kappa * own_a / b

    def update_precision(factors: dict[str, Any]) -> tuple[float, float]:
        return a, rate + 0.5 * (around + kappa / factors["mean"][1])

    def elbo(factors: dict[str, Any]) -> float:
        (_, lam), (own_a, b) = factors["mean"], factors["precision"]
        tau, log_tau = own_a / b, digamma(own_a) - np.log(b)
        normal = 0.5 * (n * (log_tau - LOG_2PI) + log_tau + np.log(strength) - LOG_2PI)
        normal -= 0.5 * tau * (around + kappa / lam)
        prior = (
            shape * np.log(rate) - gammaln(shape) + (shape - 1) * log_tau - rate * tau
        )
        entropy = 0.5 * (1 + LOG_2PI - np.log(lam))
        entropy += own_a - np.log(b) + gammaln(own_a) + (1 - own_a) * digamma(own_a)
        return float(normal + prior + entropy)

    found = coordinate_ascent(
        {"mean": update_mean, "precision": update_precision},
        {"mean": (m, kappa), "precision": (a, rate + 0.5 * square)},
        elbo,
        tolerance=1e-13,
    )
    a_n, b_n = shape + 0.5 * n, rate + 0.5 * around
    evidence = gammaln(a_n) - gammaln(shape) + shape * np.log(rate) - a_n * np.log(b_n)
    evidence += 0.5 * (np.log(strength / kappa) - n * LOG_2PI)
    (m, precision), (a, b) = found.factors["mean"], found.factors["precision"]
    return NormalGammaFit(
        m,
        precision,
        a,
        b,
        found.elbo,
        float(evidence),
        (m, kappa, a_n, b_n),
        found.converged,
    )
