r"""XW, with the derivative by W in the form that the machine computes fastest.

The transpose of $\dot W ↦ X\dot W$ is $G ↦ X^\top G$, a product whose left side lies
the wrong way round. XLA's library for CPUs does not take it and what takes it instead
is slow where the result is narrow or the whole is small. So there the same linear map
is written another way: with Xᵀ laid out first, or, for few columns, as (GᵀX)ᵀ. Only the
tangent is written by hand, of plain operations; so derivatives of any order and both
modes remain.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jax.lax import optimization_barrier as laid_out
from jaxtyping import Float

NARROW = 16
"""Columns of W up to which the derivative is computed as (GᵀX)ᵀ."""
SMALL = 3 * 2**19
"""Multiplications up to which Xᵀ is laid out first."""


def plain_product(X: Float[Any, "n d"], W: Float[Any, "d k"]) -> Float[Any, "n k"]:
    """XW, differentiated by JAX: the oracle of `product`."""
    return X @ W


@jax.custom_jvp
def product(X: Float[Any, "n d"], W: Float[Any, "d k"]) -> Float[Any, "n k"]:
    """XW."""
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
    if k <= NARROW and d >= 4 * k:
        return laid_out(laid_out(w.T) @ X.T).T
    if k > NARROW and n * d * k <= SMALL:
        return laid_out(X.T).T @ w
    return X @ w
