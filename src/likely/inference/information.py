r"""The Fisher information of coefficients, and the scores of rows; safe to `vmap`.

For a linear model η = AB with row losses $l_i = -\log p(y_i \mid η_i)$ the gradient in B of
one row is $a_i \otimes l_i'$ and the Hessian of all rows

$$I = \sum_i w_i\, a_i a_i^\top \otimes l_i'',$$

so that $I^{-1}$ is the covariance of the maximum-likelihood estimate. Weights are counts.
For logistic regression $l'' = h(1-h)$, so $I = X^\top D X$.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.linalg import weighted_gram
from likely.families import AbstractFamily


class Curvature(NamedTuple):
    """The derivatives l′ and l″ of the loss of each row in η."""

    gradient: Float[Array, "n k"]
    hessian: Float[Array, "n k k"]


def curvature(
    family: AbstractFamily, eta: Float[Array, "n k"], y: Float[Array, "n ..."]
) -> Curvature:
    """The first and second derivatives of −log p(y | η) in η, of each row."""

    def loss(eta: Float[Array, " k"], y) -> Float[Array, ""]:
        return -family.log_prob(eta[None], y[None])[0]

    gradient = jax.vmap(jax.grad(loss))(eta, y)
    return Curvature(gradient, jax.vmap(jax.hessian(loss))(eta, y))


def information(
    A: Float[Array, "n p"], hessian: Float[Array, "n k k"], w: Float[Array, " n"]
) -> Float[Array, "q q"]:
    """The information Σ wᵢ aᵢaᵢᵀ ⊗ l″ᵢ, coefficients ordered entry of η by entry of η."""
    k, p = hessian.shape[1], A.shape[1]
    if k == 1:
        return weighted_gram(A, w * hessian[:, 0, 0])
    pairs = hessian.reshape(len(A), k * k).T
    blocks = jax.lax.map(lambda entry: weighted_gram(A, w * entry), pairs)
    return blocks.reshape(k, k, p, p).swapaxes(1, 2).reshape(k * p, k * p)


def joint_information(
    A: Float[Array, "n p"], hessian: Float[Array, "n k k"], w: Float[Array, " n"]
) -> Float[Array, "q q"]:
    """The information of (B, s) where η = (AB, s): all rows share the entries s."""
    cross = (w[:, None] * hessian[:, 0, 1:]).T @ A
    corner = jnp.tensordot(w, hessian[:, 1:, 1:], 1)
    top = jnp.concatenate([weighted_gram(A, w * hessian[:, 0, 0]), cross.T], 1)
    return jnp.concatenate([top, jnp.concatenate([cross, corner], 1)])


def scores(
    A: Float[Array, "n p"], gradient: Float[Array, "n k"]
) -> Float[Array, "n q"]:
    """The score aᵢ ⊗ l′ᵢ of each row."""
    return (gradient[:, :, None] * A[:, None]).reshape(len(A), -1)


def inverse(H: Float[Array, "q q"]) -> Float[Array, "q q"]:
    """The inverse of a positive definite matrix, scaled so that its diagonal is 1."""
    scale = jnp.sqrt(jnp.maximum(jnp.diagonal(H), jnp.finfo(H.dtype).tiny))
    L = jnp.linalg.cholesky(H / (scale[:, None] * scale[None]))
    half = jax.scipy.linalg.solve_triangular(
        L, jnp.eye(len(H), dtype=H.dtype), lower=True
    )
    return (half.T @ half) / (scale[:, None] * scale[None])
