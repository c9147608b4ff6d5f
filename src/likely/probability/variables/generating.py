r"""Cumulant generating functions $K(t) = \log E[e^{tX}]$, and moments as derivatives at 0.

$$M(t) = E[e^{t^\top X}], \qquad E[X^k] = M^{(k)}(0), \qquad
  E\big[X_1^{k_1} \cdots X_d^{k_d}\big]
  = \frac{∂^{k_1 + \dots + k_d} M}{∂t_1^{k_1} \cdots ∂t_d^{k_d}}(0) .$$

All derivatives at once are those of Taylor arithmetic (`jet`): a number is replaced by its first
coefficients, and no difference quotient is taken.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.jet import jet
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from likely import families
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.families.predictive import Predictive

HEAVY_TAILED = (families.LogNormal, families.StudentT)
"""Families whose E[e^tX] is infinite for some t of any size."""


class Generating(NamedTuple):
    """A cumulant generating function and the open interval on which it is finite."""

    K: Callable[[Array], Array]
    low: float = -np.inf
    high: float = np.inf


def generating_of(predictive: Predictive) -> Generating | None:
    """The generating function of a family of one row, where there is a formula."""
    formula = FORMULAS.get(type(predictive.family))
    if formula is None:
        return None
    theta: dict[str, Any] = {
        name: np.asarray(v[0], np.float64) for name, v in predictive.theta.items()
    }
    theta["family"] = predictive.family
    return formula(theta)


def derivatives(
    K: Callable[[Array], Array], order: int, *, logarithm: bool
) -> Float[np.ndarray, " order"]:
    """The first derivatives at 0: of K (cumulants), or of M = exp K (moments)."""
    with float64():
        return np.asarray(_derivatives(K, order, logarithm))


def mixed_derivative(K: Callable[[Array], Array], powers: tuple[int, ...]) -> float:
    """The mixed partial derivative of M = exp K at 0."""
    with float64():
        return float(_mixed(K, powers))


def evaluate(
    K: Callable[[Array], Array], t: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """K at all of t: scalars, or vectors in the last axis for functions of vectors."""
    with float64():
        return np.asarray(_evaluate(K, jnp.asarray(t)))


@lean_jit
def _evaluate(K, t):
    return jax.vmap(K)(t)


@lean_jit
def _derivatives(K, order: int, logarithm: bool):
    first = [jnp.ones(()), *(jnp.zeros(()) for _ in range(order - 1))]
    function = K if logarithm else lambda t: jnp.exp(K(t))
    return jnp.stack(jet(function, (jnp.zeros(()),), (first,))[1])


@lean_jit
def _mixed(K, powers: tuple[int, ...]):
    def along(i: int, function: Callable) -> Callable:
        return lambda t: jax.jvp(function, (t,), (jnp.eye(len(powers))[i],))[1]

    function: Any = lambda t: jnp.exp(K(t))  # noqa: E731
    for i, power in enumerate(powers):
        for _ in range(power):
            function = along(i, function)
    return function(jnp.zeros(len(powers)))


# Formulas ----------------------------------------------------------------------------


def _bernoulli(theta: Any) -> Generating:
    return Generating(eqx.Partial(_trials, _sigmoid(theta["logits"]), np.ones(())))


def _binomial(theta: Any) -> Generating:
    n = np.asarray(theta["total_count"], np.float64)
    return Generating(eqx.Partial(_trials, _sigmoid(theta["logits"]), n))


def _poisson(theta: Any) -> Generating:
    return Generating(eqx.Partial(_rate, theta["rate"]))


def _normal(theta: Any) -> Generating:
    return Generating(eqx.Partial(_gaussian, theta["loc"], theta["scale"]))


def _gamma(theta: Any) -> Generating:
    a, rate = theta.get("concentration", np.ones(())), theta["rate"]
    return Generating(eqx.Partial(_waiting, a, np.asarray(1 / rate)), high=float(rate))


def _laplace(theta: Any) -> Generating:
    limit = 1 / float(theta["scale"])
    K = eqx.Partial(_two_sided, theta["loc"], theta["scale"])
    return Generating(K, -limit, limit)


def _geometric(theta: Any) -> Generating:
    return _failures(np.exp(-theta["logits"]), np.ones(()))


def _negative_binomial(theta: Any) -> Generating:
    return _failures(theta["mean"], theta["concentration"])


def _failures(mean: Any, r: Any) -> Generating:
    ratio = np.asarray(mean / r)
    high = float(np.log1p(1 / ratio))
    return Generating(eqx.Partial(_counts, ratio, r), high=high)


def _multivariate_normal(theta: Any) -> Generating:
    return Generating(eqx.Partial(_gaussian_vector, theta["loc"], theta["scale_tril"]))


def _multinomial(theta: Any) -> Generating:
    logits = theta["logits"] - np.logaddexp.reduce(theta["logits"])
    total = np.asarray(theta["family"].total_count, np.float64)
    return Generating(eqx.Partial(_classes, logits, total))


def _sigmoid(z: Any) -> np.ndarray:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * z)))


def _trials(p, n, t):
    return n * jnp.log1p(p * jnp.expm1(t))


def _rate(rate, t):
    return rate * jnp.expm1(t)


def _gaussian(loc, scale, t):
    return loc * t + 0.5 * (scale * t) * (scale * t)


def _waiting(a, scale, t):
    return -a * jnp.log1p(-scale * t)


def _two_sided(loc, scale, t):
    return loc * t - jnp.log1p(-(scale * t) * (scale * t))


def _counts(ratio, r, t):
    return -r * jnp.log1p(-ratio * jnp.expm1(t))


def _gaussian_vector(loc, L, t):
    return loc @ t + 0.5 * jnp.sum((t @ L) ** 2)


def _classes(logits, total, t):
    return total * jnp.log(jnp.sum(jnp.exp(logits + t)))


def points(y, log_weight, t):
    """The generating function of points (n,) or (n, d) with weights that sum to one."""
    exponent = y * t if y.ndim == 1 else y @ t
    return logsumexp(log_weight + exponent)


FORMULAS: dict[type, Callable[[Any], Generating]] = {
    families.Bernoulli: _bernoulli,
    families.Binomial: _binomial,
    families.Exponential: _gamma,
    families.Gamma: _gamma,
    families.Geometric: _geometric,
    families.Laplace: _laplace,
    families.Multinomial: _multinomial,
    families.MultivariateNormal: _multivariate_normal,
    families.NegativeBinomial: _negative_binomial,
    families.Normal: _normal,
    families.Poisson: _poisson,
}
