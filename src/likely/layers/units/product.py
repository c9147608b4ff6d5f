r"""The matrix product XW, with the gradient of W in the form that is fastest on CPUs.

The transpose of $\dot W ↦ X\dot W$ is $G ↦ X^\top G$, a product with a transposed left
factor. XLA's matrix library for CPUs does not support it, and the fallback is slow where
the result is narrow or the product is small. There the same linear map is written in
another form: with Xᵀ in memory first, or, for few columns, as (GᵀX)ᵀ, which is also better
for many rows where W has fewer columns than rows. Only the tangent is
written by hand, in plain operations, so derivatives of any order and both modes work.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jax.lax import optimization_barrier
from jaxtyping import Float

MAX_NARROW_COLUMNS = 16
"""Up to this many columns of W the gradient is computed as (GᵀX)ᵀ."""
MIN_TALL_ROWS = 256
"""From this many rows of X on, so is that of a W with half as many columns as rows."""
MAX_SMALL_MULTIPLICATIONS = 3 * 2**19
"""Up to this many multiplications Xᵀ is written to memory first."""


def plain_product(X: Float[Any, "n d"], W: Float[Any, "d k"]) -> Float[Any, "n k"]:
    """XW, differentiated by JAX: the reference of `product`."""
    return X @ W


@jax.custom_jvp
def product(X: Float[Any, "n d"], W: Float[Any, "d k"]) -> Float[Any, "n k"]:
    """XW, with a fast gradient of W."""
    return X @ W


def _jvp(primals, tangents):
    (X, W), (x, w) = primals, tangents
    parts = []
    if not isinstance(x, SymbolicZero):
        parts.append(x @ W)
    if not isinstance(w, SymbolicZero):
        parts.append(_linear(X, w))
    Z = product(X, W)
    return Z, sum(parts[1:], parts[0]) if parts else jnp.zeros_like(Z)


product.defjvp(_jvp, symbolic_zeros=True)


def _linear(X: Float[Any, "n d"], w: Float[Any, "d k"]) -> Float[Any, "n k"]:
    """Xw, written so that its transpose in w is fast."""
    (n, d), k = X.shape, w.shape[1]
    if jax.default_backend() != "cpu" or k == 1:
        return X @ w
    narrow = k <= MAX_NARROW_COLUMNS and d >= 4 * k
    tall = n >= MIN_TALL_ROWS and k > MAX_NARROW_COLUMNS and d >= 2 * k
    if narrow or tall:
        return optimization_barrier(optimization_barrier(w.T) @ X.T).T
    if k > MAX_NARROW_COLUMNS and n * d * k <= MAX_SMALL_MULTIPLICATIONS:
        return optimization_barrier(X.T).T @ w
    return X @ w
