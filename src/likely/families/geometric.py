r"""The geometric family: failures before the first success."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.rows import weighted_mean
from likely.families.counts import not_whole
from likely.families.family import AbstractFamily


class Geometric(AbstractFamily):
    r"""Failures y = 0, 1, ... before the first success: $p(y) = p\,(1-p)^y$ with p = σ(η).

    $-\log p(y) = \log(1+e^{-η}) + y \log(1+e^η)$; the mean is $e^{-η}$.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Geometric(), np.zeros((1, 1)))
        >>> print(dist.mean.round(2))
        [1.]
    """

    n_eta: int = eqx.field(default=1, static=True)
    discrete: ClassVar[bool] = True
    needs: ClassVar[str] = "counts (0, 1, 2, ...)"
    remedy: ClassVar[str] = "Subtract 1 if you count the success too."

    def theta(self, eta: Float[Array, "*n 1"]) -> dict[str, Array]:
        """The log-odds of a success."""
        return {"logits": eta[..., 0]}

    def eta(self, *, logits: Any) -> Float[Array, "*n 1"]:
        """The column of log-odds."""
        return jnp.asarray(logits)[..., None]

    def distribution(self, **theta: Any) -> distributions.GeometricLogits:
        """NumPyro's geometric distribution."""
        return distributions.GeometricLogits(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " 1"]:
        """The column −log of the mean count (of half a count where all are zero)."""
        mean = weighted_mean(y, w)
        return -jnp.log(jnp.where(mean > 0, mean, 0.5 / w.sum()))[None]

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is negative or not whole."""
        return not_whole(y)

    def log_prob(
        self, eta: Float[Array, "*n 1"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p(y) = log p + y log(1 − p)."""
        logits = eta[..., 0]
        return -jax.nn.softplus(-logits) - y * jax.nn.softplus(logits)

    def cdf(self, eta: Float[Array, "*n 1"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """The cdf 1 − (1 − p)^(⌊y⌋ + 1)."""
        failures = jnp.maximum(jnp.floor(y) + 1, 0.0)
        return -jnp.expm1(-failures * jax.nn.softplus(eta[..., 0]))

    def quantile(
        self, eta: Float[Array, "*n 1"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile ⌈log(1 − q) / log(1 − p)⌉ − 1, corrected where rounding overshoots."""
        q_low = q * (1 - 4 * jnp.finfo(q.dtype).eps)
        failures = jnp.ceil(-jnp.log1p(-q) / jax.nn.softplus(eta[..., 0]))
        y = jnp.maximum(failures - 1, 0.0)
        over = (y >= 1) & (self.cdf(eta, y - 1) >= q_low)
        return jnp.where(over & (q < 1), y - 1, y)

    def mode(self, eta: Float[Array, "*n 1"]) -> Float[Array, "*n"]:
        """The mode 0."""
        return jnp.zeros_like(eta[..., 0])
