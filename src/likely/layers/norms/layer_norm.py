r"""Layer normalisation: over the features of one row."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.composition.layer import AbstractLayer


class LayerNorm(AbstractLayer):
    r"""$γ\,(x - m)/\sqrt{s^2 + ε} + δ$ with m and s² over the entries of one row.

    `shape` is the shape of the trailing axes to normalise over: the features, or positions
    and channels. Rows are independent, so there is no state and no difference between
    training and inference.
    """

    scale: Float[Array, "*shape"]
    shift: Float[Array, "*shape"]
    epsilon: float = eqx.field(static=True)

    def __init__(self, shape: int | tuple[int, ...], *, epsilon: float = 1e-5):
        self.scale, self.shift = jnp.ones(shape), jnp.zeros(shape)
        self.epsilon = float(epsilon)

    def of(self, X: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """Normalise each row, in at least float32 precision."""
        shape = self.scale.shape
        if X.shape[X.ndim - len(shape) :] != shape:
            raise InputError(
                f"LayerNorm is over axes of shape {shape} but got {X.shape}; "
                "give it the shape of the last axes of its input."
            )
        wide = jnp.promote_types(X.dtype, jnp.float32)
        rows = X.astype(wide).reshape(-1, self.scale.size)
        scale, shift = (a.astype(wide).reshape(1, -1) for a in (self.scale, self.shift))
        Z = standardize(rows, self.epsilon) * scale + shift
        return Z.astype(X.dtype).reshape(X.shape)


def plain_standardize(X: Float[Array, "n d"], epsilon: float) -> Float[Array, "n d"]:
    r"""$(x - m)/\sqrt{s^2 + ε}$, differentiated by JAX: the reference of `standardize`."""
    m = X.mean(1, keepdims=True)
    return (X - m) / jnp.sqrt(((X - m) ** 2).mean(1, keepdims=True) + epsilon)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def standardize(X: Float[Array, "n d"], epsilon: float) -> Float[Array, "n d"]:
    r"""$z = (x - m)\,r$ with $r = 1/\sqrt{s^2 + ε}$ and a derivative written by hand.

    $\dot z = r\,(\dot x - \overline{\dot x} - z\,\overline{z \dot x})$, which up to the
    position of r is its own transpose, so the backward pass needs two means; JAX's own
    goes through m and s² one after the other and reads the rows more often.
    """
    return _standardized(X, epsilon)[0]


@standardize.defjvp
def _standardize_jvp(epsilon, primals, tangents):
    (X,), (t,) = primals, tangents
    z, r = _standardized(X, epsilon)
    return z, r * (t - _mean(t) - z * _mean(z * t))


def _standardized(X, epsilon):
    m = _mean(X)
    r = jax.lax.rsqrt(_mean((X - m) ** 2) + epsilon)
    return (X - m) * r, r


def _mean(X: Float[Array, "n d"]) -> Float[Array, "n 1"]:
    """The mean of each row; on CPUs as a matrix product, which XLA does not recompute."""
    if jax.default_backend() != "cpu":
        return X.mean(1, keepdims=True)
    return X @ jnp.full((X.shape[1], 1), 1 / X.shape[1], X.dtype)
