"""Derivatives of a separable objective: of its rows, and of its penalty."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.typing import Batch, LinearModel


def curvature(
    objective, eta: Float[Array, "n k"], y
) -> tuple[Float[Array, "n k"], Float[Array, "n k k"]]:
    """∂l/∂η and ∂²l/∂η² of each row."""

    def point(eta: Float[Array, " k"], y):
        one = jax.tree.map(lambda a: a[None], y)
        return objective.pointwise(eta[None], one)[0]

    g = jax.vmap(jax.grad(point))(eta, y)
    return g, jax.vmap(jax.hessian(point))(eta, y)


def working_response(
    objective, model: LinearModel, data: Batch, key, state
) -> tuple[Float[Array, "n p"], Float[Array, "n k"], Float[Array, "n k"]]:
    """The design A, z = AB − l′/l″ and l″ of each row, for a loss quadratic in η."""
    A, B = model.design(data.x), model.coefficients
    eta, _ = model(data.x, w=data.w, key=key, state=state)
    g, h = curvature(objective, eta, data.y)
    h = jnp.diagonal(h, axis1=1, axis2=2)
    return A, A @ B - g / h, h  # without the offset, if the model has one


def penalty_curvature(
    objective, model: LinearModel, B: Float[Array, "p k"]
) -> Float[Array, "p k"]:
    """Second derivatives at B of a penalty that is a sum over coefficients."""

    def gradient(B: Float[Array, "p k"]):
        return jax.grad(lambda B: objective.penalty(model.with_coefficients(B)))(B)

    return jax.jvp(gradient, (B,), (jnp.ones_like(B),))[1]
