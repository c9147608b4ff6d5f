r"""The information about coefficients, and the scores of rows: pure, safe to `vmap`.

For a linear model η = AB with row losses $l_i = -\log p(y_i \mid η_i)$ the gradient in B of
one row is $a_i \otimes l_i'$ and the Hessian of all rows

$$I = \sum_i w_i\, a_i a_i^\top \otimes l_i'',$$

so that $I^{-1}$ is the covariance of the maximum-likelihood estimate. Weights are counts.
Where the family is not canonical `expected` takes the mean of l'' over y instead, which
is what iteratively reweighted least squares reports. (D14, A45: for logistic regression
$l'' = h(1-h)$, so $I = X^\top D X$.)
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.linalg import weighted_gram
from likely.families import AbstractFamily


class Curvature(NamedTuple):
    """l′ and l″ of each row, in the entries of η that have coefficients of their own."""

    slope: Float[Array, "n k"]
    bend: Float[Array, "n k k"]


def curvature(
    family: AbstractFamily, eta: Float[Array, "n k"], y: Float[Array, "n ..."]
) -> Curvature:
    """First and second derivatives of −log p(y | η) in η, row by row."""

    def loss(eta: Float[Array, " k"], y) -> Float[Array, ""]:
        return -family.log_prob(eta[None], y[None])[0]

    slope = jax.vmap(jax.grad(loss))(eta, y)
    return Curvature(slope, jax.vmap(jax.hessian(loss))(eta, y))


def information(
    A: Float[Array, "n p"], bend: Float[Array, "n k k"], w: Float[Array, " n"]
) -> Float[Array, "q q"]:
    """Σ wᵢ aᵢaᵢᵀ ⊗ l″ᵢ, coefficients ordered entry of η by entry of η."""
    k, p = bend.shape[1], A.shape[1]
    if k == 1:
        return weighted_gram(A, w * bend[:, 0, 0])
    pairs = bend.reshape(len(A), k * k).T
    blocks = jax.lax.map(lambda bend: weighted_gram(A, w * bend), pairs)
    return blocks.reshape(k, k, p, p).swapaxes(1, 2).reshape(k * p, k * p)


def joint_information(
    A: Float[Array, "n p"], bend: Float[Array, "n 2 2"], w: Float[Array, " n"]
) -> Float[Array, "q q"]:
    """The same for (B, s) where η = (AB, s): a dispersion s that all rows share."""
    cross = (w * bend[:, 0, 1]) @ A
    corner = (w @ bend[:, 1, 1])[None, None]
    top = jnp.concatenate([weighted_gram(A, w * bend[:, 0, 0]), cross[:, None]], 1)
    return jnp.concatenate([top, jnp.concatenate([cross[None], corner], 1)])


def scores(A: Float[Array, "n p"], slope: Float[Array, "n k"]) -> Float[Array, "n q"]:
    """aᵢ ⊗ l′ᵢ of each row."""
    return (slope[:, :, None] * A[:, None]).reshape(len(A), -1)


def inverse(H: Float[Array, "q q"]) -> Float[Array, "q q"]:
    """H⁻¹ of a positive definite matrix, in units that make its diagonal 1."""
    scale = jnp.sqrt(jnp.maximum(jnp.diagonal(H), jnp.finfo(H.dtype).tiny))
    L = jnp.linalg.cholesky(H / (scale[:, None] * scale[None]))
    half = jax.scipy.linalg.solve_triangular(
        L, jnp.eye(len(H), dtype=H.dtype), lower=True
    )
    return (half.T @ half) / (scale[:, None] * scale[None])
