r"""Root-mean-square normalisation: layer norm without the mean."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.composition.layer import AbstractLayer


class RMSNorm(AbstractLayer):
    r"""$γ\,x/\sqrt{\overline{x^2} + ε}$ over the last axis, in at least float32 precision."""

    scale: Float[Array, " d"]
    epsilon: float = eqx.field(static=True)

    def __init__(self, size: int, *, epsilon: float = 1e-5):
        self.scale, self.epsilon = jnp.ones(size), float(epsilon)

    def of(self, X: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
        """Divide each row by its root mean square."""
        if X.shape[-1] != self.scale.size:
            raise InputError(
                f"RMSNorm is over {self.scale.size} features but got {X.shape[-1]}."
            )
        wide = jnp.promote_types(X.dtype, jnp.float32)
        Z = X.astype(wide)
        Z = Z * jax.lax.rsqrt((Z**2).mean(-1, keepdims=True) + self.epsilon)
        scale = jnp.expand_dims(self.scale.astype(wide), range(X.ndim - 1))
        return (Z * scale).astype(X.dtype)
