r"""Gradients of expectations: the score-function and reparameterised estimators.

For $z \sim N(μ, LL^\top)$ and any f, the gradient of $E\,f(z)$ is the mean of either of

$$\text{score function:}\quad f(z)\, \nabla \log p(z; μ, L), \qquad
  \text{reparameterised:}\quad \nabla f(μ + L ε),\; ε \sim N(0, I).$$

The first needs only values of f. The second needs the derivative of f and usually has a
much smaller variance.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.autodiff.program.text import array, table
from likely.core.precision import float64
from likely.typing import Key


def reparameterised(
    mean: Float[Array | np.ndarray, " d"],
    factor: Float[Array | np.ndarray, "d d"],
    noise: Float[Array | np.ndarray, "*n d"],
) -> Float[Array, "*n d"]:
    """z = μ + L ε: a sample of N(μ, LLᵀ) as a smooth function of μ and L."""
    spread = jnp.asarray(noise) @ jnp.asarray(factor).T
    return jnp.broadcast_to(mean, spread.shape) + spread


@dataclass(frozen=True)
class Estimate:
    """The mean of an estimator over the samples, and its variance."""

    mean: np.ndarray
    variance: np.ndarray
    """The variance of one sample's estimate, entry by entry."""
    standard_error: np.ndarray
    """The standard error of the mean."""


@dataclass(frozen=True)
class GradientEstimates:
    """Both estimators of ∂E f(z)/∂μ and ∂E f(z)/∂L, from the same samples."""

    samples: int
    score_function: dict[str, Estimate]
    """The estimates by parameter, `mean` and `factor`."""
    reparameterised: dict[str, Estimate]

    @property
    def variance_ratio(self) -> dict[str, float]:
        """The total variance of the score function, relative to the reparameterised one."""
        return {
            name: float(
                self.score_function[name].variance.sum()
                / max(self.reparameterised[name].variance.sum(), np.finfo(float).tiny)
            )
            for name in self.score_function
        }

    def __str__(self) -> str:
        both = {
            "score function": self.score_function,
            "reparameterised": self.reparameterised,
        }
        rows = [
            (f"∂E f/∂{name}", label, array(e.mean), array(e.standard_error, digits=2))
            for name in self.score_function
            for label, estimates in both.items()
            for e in [estimates[name]]
        ]
        ratios = ", ".join(f"{k} {v:.3g}" for k, v in self.variance_ratio.items())
        note = (
            f"{self.samples} samples; variance of the score function, times: {ratios}"
        )
        return f"{table(('gradient', 'estimator', 'mean', '± standard error'), rows)}\n{note}"

    __repr__ = __str__


def gradient_estimates(
    f: Callable[[Array], Array], mean: Any, factor: Any, *, samples: int, key: Key
) -> GradientEstimates:
    """Estimate the gradient of E f(z), z ~ N(μ, LLᵀ), with both estimators.

    Args:
        f: a function of one z ~ (d,) to a number.
        mean: μ ~ (d,).
        factor: L ~ (d, d), lower triangular, or (d,) standard deviations.
        samples: the number of samples z.
        key: the random key of the samples.
    """
    with float64():
        mu = jnp.asarray(mean, jnp.float64)
        L = jnp.asarray(factor, jnp.float64)
        L = jnp.diag(L) if L.ndim == 1 else L
        noise = jax.random.normal(key, (samples, len(mu)))
        score, pathwise = _both(f, mu, L, noise)
    return GradientEstimates(samples, _summary(score), _summary(pathwise))


def _both(f: Callable, mu: Array, L: Array, noise: Array):
    """Both estimates of the gradient with respect to (μ, L), for each sample."""
    z = jax.lax.stop_gradient(reparameterised(mu, L, noise))

    def log_density(mu, L, z):
        white = jax.scipy.linalg.solve_triangular(L, z - mu, lower=True)
        return -0.5 * white @ white - jnp.log(jnp.abs(jnp.diag(L))).sum()

    def score(z):
        slopes = jax.grad(log_density, argnums=(0, 1))(mu, L, z)
        return jax.tree.map(lambda s: f(z) * s, slopes)

    def pathwise(e):
        return jax.grad(lambda m, L: f(reparameterised(m, L, e)), argnums=(0, 1))(mu, L)

    lower = jnp.tril(jnp.ones_like(L))
    return tuple(
        (by_mean, by_factor * lower[None])
        for by_mean, by_factor in (jax.vmap(score)(z), jax.vmap(pathwise)(noise))
    )


def _summary(samples: tuple[Array, Array]) -> dict[str, Estimate]:
    found = {}
    for name, rows in zip(("mean", "factor"), samples, strict=True):
        rows = np.asarray(rows)
        variance = rows.var(axis=0, ddof=1)
        found[name] = Estimate(
            rows.mean(axis=0), variance, np.sqrt(variance / len(rows))
        )
    return found
