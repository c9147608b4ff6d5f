r"""Lanczos' method: eigenvalues of a symmetric matrix from products with vectors alone.

From a start $v_1$ of length 1 it makes an orthonormal basis V of
$v_1, A v_1, A^2 v_1, \dots$ in which A is tridiagonal,

$$A V = V T + β_m\,v_{m+1} e_m^\top .$$

An eigenpair $(θ, s)$ of T gives the *Ritz pair* $(θ, V s)$ of A, whose residual
$\lVert A V s - θ V s\rVert = β_m |s_m|$ is known: A has an eigenvalue within that distance of
θ. And $\sum_i s_{1i}^2\,g(θ_i)$ is Gauss's quadrature of $v_1^\top g(A)\,v_1$, exact for
polynomials of degree 2m − 1. Each new vector is made orthogonal to all before it, twice, so that
rounding does not repeat eigenvalues.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import eigh_tridiagonal


class Tridiagonal(NamedTuple):
    """T and V of Lanczos' method, leading axes of several starts first."""

    alpha: Float[Array | np.ndarray, "*starts m"]
    """The diagonal of T."""
    beta: Float[Array | np.ndarray, "*starts m"]
    """The entries beside it; the last one is $β_m$, which belongs to the residual."""
    basis: Float[Array | np.ndarray, "*starts m p"]
    """V, a vector in each row; zeros after a basis that is complete."""


class RitzPairs(NamedTuple):
    """Approximate eigenvalues of A, ascending."""

    values: Float[np.ndarray, " m"]
    residuals: Float[np.ndarray, " m"]
    """A has an eigenvalue within this distance of each."""
    weights: Float[np.ndarray, " m"]
    """The share of the start along each Ritz vector: weights of the quadrature."""
    coordinates: Float[np.ndarray, "m m"]
    """The Ritz vectors in the basis V, one in each column."""


def lanczos(
    product: Callable[[Float[Array, " p"]], Float[Array, " p"]],
    start: Float[Array, " p"],
    steps: int,
) -> Tridiagonal:
    """T and V after some steps; safe to trace and to `vmap` over starts.

    Args:
        product: from v to A v, for a symmetric A.
        start: any vector but 0.
        steps: m, at most the size of A.
    """
    V = jnp.zeros((steps, start.size), start.dtype)
    V = V.at[0].set(start / jnp.linalg.norm(start))
    tiny = 10 * start.size**0.5 * jnp.finfo(start.dtype).eps

    def step(k: Array, carry: Any) -> Any:
        V, alpha, beta, size = carry
        u = product(V[k])
        a = u @ V[k]
        for _ in range(2):
            u = u - (u @ V.T) @ V
        b = jnp.linalg.norm(u)
        size = jnp.maximum(size, jnp.abs(a) + b)
        b = jnp.where(b > tiny * size, b, 0.0)  # the basis is complete
        following = jnp.where(b > 0, u / jnp.where(b > 0, b, 1.0), 0.0)
        V = V.at[k + 1].set(following, mode="drop")
        return V, alpha.at[k].set(a), beta.at[k].set(b), size

    zeros = jnp.zeros(steps, start.dtype)
    carry = V, zeros, zeros, jnp.zeros((), start.dtype)
    V, alpha, beta, _ = jax.lax.fori_loop(0, steps, step, carry)
    return Tridiagonal(alpha, beta, V)


def ritz_pairs(
    alpha: Float[np.ndarray, " m"], beta: Float[np.ndarray, " m"]
) -> RitzPairs:
    """The Ritz pairs of one start; those of a complete basis are eigenpairs.

    Args:
        alpha: the diagonal of T.
        beta: the entries beside it, and the one that belongs to the residual.
    """
    alpha, beta = np.asarray(alpha, np.float64), np.asarray(beta, np.float64)
    complete = np.flatnonzero(beta == 0)
    m = int(complete[0]) + 1 if complete.size else len(alpha)
    values, S = eigh_tridiagonal(alpha[:m], beta[: m - 1])
    rounding = np.finfo(np.float64).eps * np.abs(values).max()
    residuals = np.maximum(beta[m - 1] * np.abs(S[-1]), rounding)
    return RitzPairs(values, residuals, S[0] ** 2, S)
