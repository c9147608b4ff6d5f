"""First and second derivatives of a separable objective, row by row."""

import jax
from jaxtyping import Array, Float


def curvature(
    objective, eta: Float[Array, "n k"], y
) -> tuple[Float[Array, "n k"], Float[Array, "n k k"]]:
    """∂l/∂η and ∂²l/∂η² of each row."""

    def point(eta: Float[Array, " k"], y):
        one = jax.tree.map(lambda a: a[None], y)
        return objective.pointwise(eta[None], one)[0]

    g = jax.vmap(jax.grad(point))(eta, y)
    return g, jax.vmap(jax.hessian(point))(eta, y)
