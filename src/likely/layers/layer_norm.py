r"""Layer normalisation: over the features of one row (I8)."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.typing import State


class LayerNorm(eqx.Module):
    r"""$γ\,(x - m)/\sqrt{s^2 + ε} + δ$ with m and s² over the entries of one row.

    `shape` is that of the trailing axes to normalise over: the features, or positions
    and channels. Rows do not see each other, so there is no state and no difference
    between training and use.
    """

    scale: Float[Array, "*shape"]
    shift: Float[Array, "*shape"]
    epsilon: float = eqx.field(static=True)

    def __init__(self, shape: int | tuple[int, ...], *, epsilon: float = 1e-5):
        self.scale, self.shift = jnp.ones(shape), jnp.zeros(shape)
        self.epsilon = float(epsilon)

    def __call__(
        self, X: Float[Array, "*n"], *, w=None, key=None, state: State = None
    ) -> tuple[Float[Array, "*n"], State]:
        """Normalise each row; in float32 at least, whatever comes in."""
        shape = self.scale.shape
        axes = tuple(range(X.ndim - len(shape), X.ndim))
        wide = jnp.promote_types(X.dtype, jnp.float32)
        Z = standardize(X.astype(wide), axes, self.epsilon)
        lead = range(X.ndim - len(shape))
        scale, shift = (
            jnp.expand_dims(a.astype(wide), lead) for a in (self.scale, self.shift)
        )
        return (Z * scale + shift).astype(X.dtype), state


def plain_standardize(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    r"""$(x - m)/\sqrt{s^2 + ε}$, differentiated by JAX: the oracle of `standardize`."""
    m = x.mean(axes, keepdims=True)
    return (x - m) / jnp.sqrt(((x - m) ** 2).mean(axes, keepdims=True) + epsilon)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def standardize(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    r"""$z = (x - m)\,r$ with $r = 1/\sqrt{s^2 + ε}$ and the derivative written by hand.

    $\dot z = r\,(\dot x - \overline{\dot x} - z\,\overline{z \dot x})$, which but for the
    place of r is its own transpose, so the way back costs two means; JAX's own goes
    through m and s² one after the other and reads the rows more often.
    """
    return _standardized(x, axes, epsilon)[0]


@standardize.defjvp
def _standardize_jvp(axes, epsilon, primals, tangents):
    (x,), (t,) = primals, tangents
    z, r = _standardized(x, axes, epsilon)
    mean = t.mean(axes, keepdims=True)
    return z, r * (t - mean - z * (z * t).mean(axes, keepdims=True))


def _standardized(x, axes, epsilon):
    m = x.mean(axes, keepdims=True)
    r = jax.lax.rsqrt(((x - m) ** 2).mean(axes, keepdims=True) + epsilon)
    return (x - m) * r, r
