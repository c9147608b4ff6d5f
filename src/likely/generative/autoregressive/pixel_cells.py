r"""The distribution of one pixel with L levels: logits of all, or a mixture of logistics.

With many levels a pixel is a mixture of K logistic distributions that are rounded, with all
that is below the first level or above the last one added to these:
$P(k) = \sum_j π_j [σ((k + ½ - μ_j)/s_j) - σ((k - ½ - μ_j)/s_j)]$ (Salimans, Karpathy, Chen and
Kingma 2017).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.typing import Key

MAX_LOGITS = 16
"""Levels up to which each has a logit."""
MIN_LOG_SCALE = -6.0
"""The smallest log s, in units of half the range."""


class PixelCells(eqx.Module):
    """Pixels with a number of levels.

    Args:
        levels: L.
        n_components: K, where pixels are mixtures.
    """

    levels: int = eqx.field(static=True)
    n_components: int = eqx.field(static=True)

    @property
    def by_logits(self) -> bool:
        """Whether each level has a logit."""
        return self.levels <= MAX_LOGITS

    @property
    def width(self) -> int:
        """How many numbers a network reads of a pixel."""
        return self.levels if 2 < self.levels <= MAX_LOGITS else 1

    @property
    def n_eta(self) -> int:
        """How many numbers a network says about a pixel."""
        return self.levels if self.by_logits else 3 * self.n_components

    def inputs(self, codes: Float[Array, "*n b"]) -> Float[Array, "*n i"]:
        """What a network reads of whole numbers: from −1 to 1, or one column each."""
        if self.width == 1:
            return codes * (2 / (self.levels - 1)) - 1
        levels = jnp.arange(self.levels).reshape((1,) * codes.ndim + (-1,))
        hot = (codes[..., None] == levels).astype(codes.dtype)
        return hot.reshape(*codes.shape[:-1], -1)

    def log_prob(
        self, eta: Float[Array, "*n e b"], codes: Float[Array, "*n b"]
    ) -> Float[Array, "*n b"]:
        """log P of each whole number."""
        if self.by_logits:
            levels = jnp.arange(self.levels).reshape((1,) * (codes.ndim - 1) + (-1, 1))
            own = jnp.where(levels == codes[..., None, :], eta, 0.0).sum(-2)
            return own - jax.nn.logsumexp(eta, -2)
        logits, mean, log_scale = self._mixture(eta)
        half = 1 / (self.levels - 1)
        y = self.inputs(codes)[..., None, :]
        inverse = jnp.exp(-log_scale)
        upper, lower = (y - mean + half) * inverse, (y - mean - half) * inverse
        last, first = y > 1 - half, y < -1 + half
        # log(σ(u) − σ(l)) = log σ(u) + log σ(−l) + log(1 − e^(l − u))
        inner = (
            jax.nn.log_sigmoid(upper)
            + jax.nn.log_sigmoid(-lower)
            + jnp.log(-jnp.expm1(-2 * half * inverse))
        )
        each = jnp.where(
            first,
            jax.nn.log_sigmoid(upper),
            jnp.where(last, jax.nn.log_sigmoid(-lower), inner),
        )
        return jax.nn.logsumexp(jax.nn.log_softmax(logits, -2) + each, -2)

    def sample(self, eta: Float[Array, "*n e b"], key: Key) -> Float[Array, "*n b"]:
        """A whole number for each pixel."""
        if self.by_logits:
            return jax.random.categorical(key, eta, axis=-2).astype(eta.dtype)
        logits, mean, log_scale = self._mixture(eta)
        first, then = jax.random.split(key)
        chosen = jax.random.categorical(first, logits, axis=-2)
        at = jnp.arange(self.n_components).reshape((1,) * (chosen.ndim - 1) + (-1, 1))
        hot = at == chosen[..., None, :]
        mean, log_scale = (jnp.where(hot, a, 0).sum(-2) for a in (mean, log_scale))
        y = mean + jnp.exp(log_scale) * jax.random.logistic(
            then, mean.shape, mean.dtype
        )
        codes = jnp.round((y + 1) * 0.5 * (self.levels - 1))
        return jnp.clip(codes, 0, self.levels - 1)

    def _mixture(self, eta: Float[Array, "*n e b"]) -> tuple[Array, Array, Array]:
        """Logits, means and log scales; components begin spread over the range."""
        K = self.n_components
        logits, mean, log_scale = jnp.split(eta, 3, axis=-2)
        places = np.linspace(-1, 1, K) if K > 1 else np.zeros(1)
        shift = jnp.asarray(places, eta.dtype).reshape((1,) * (eta.ndim - 2) + (-1, 1))
        scale = jnp.maximum(log_scale - 2.0, MIN_LOG_SCALE)
        return logits, mean + shift, scale
