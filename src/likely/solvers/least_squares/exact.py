r"""Exact least squares: one solve by QR or SVD for objectives quadratic in η.

At any η₀ a quadratic loss has the working response $z = η_0 - l'/l''$ and weights
$w\,l''$; the minimiser of $\sum w\,l''(z - AB)^2$ plus a quadratic penalty is the minimiser
of the objective. So this is another solver for the same objective, and does not depend
on the normal distribution that makes it quadratic.

For $\frac12\sum_i (y_i - x_i w)^2 + \frac{α}{2}\lVert w\rVert^2$ that is
$(X^\top X + αI)^{-1} X^\top y$. With $\frac{1}{2n}\sum r^2 + λ\lVert w\rVert^2$ the matrix
is $X^\top X + 2nλI$, with $\frac2n\sum r^2 + \fracλ2\lVert w\rVert^2$ it is
$X^\top X + \frac{nλ}{4} I$.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.core.linalg import lstsq
from likely.solvers.flat import (
    empty_trace,
    flatten,
    max_abs,
    record,
    value_and_gradient,
)
from likely.solvers.full_batch import AbstractFullBatch
from likely.solvers.second_order.pointwise import penalty_curvature, working_response
from likely.typing import EXACT, JITTERED, LEAST_NORM, STALLED, Batch, Solution, Status


class LeastSquares(AbstractFullBatch):
    """Solve a `LinearModel` under a quadratic `Separable` objective in one step.

    Args:
        decomposition: "qr", which solves a singular design with a jitter, or "svd",
            which then takes the solution of least norm. Either way the status says so.
    """

    decomposition: str = eqx.field(static=True, default="qr")

    def __check_init__(self):
        if self.decomposition not in ("qr", "svd"):
            raise InputError(
                f'decomposition is {self.decomposition!r}; give "qr" or "svd".'
            )

    def trace_length(self) -> int:
        """Two points: the start and the solution."""
        return 2

    def solve(
        self, objective, model, data: Batch, *, key, state, capacity: int
    ) -> Solution:
        """The minimum by one solve, if the gradient of the objective vanishes there."""
        A, z, h = working_response(objective, model, data, key, state)
        total = data.w.sum()
        P = penalty_curvature(objective, model, model.coefficients)

        def column(z: Float[Array, " n"], h: Float[Array, " n"], P: Float[Array, " p"]):
            w, penalty = data.w * h, P * total
            found = lstsq(A, z[:, None], w, penalty, decomposition=self.decomposition)
            return found.coefficients[:, 0], found.singular

        if z.shape[1] == 1:  # under vmap both branches of `lstsq` would be computed
            B, singular = column(z[:, 0], h[:, 0], P[:, 0])
            B = B[:, None]
        else:
            B, singular = jax.vmap(column, in_axes=1, out_axes=(1, 0))(z, h, P)
        x, rebuild = flatten(model.with_coefficients(B))
        evaluate = value_and_gradient(objective, rebuild, data, key)
        (f, _), g = evaluate(flatten(model)[0], state)
        trace = record(empty_trace(capacity, f.dtype), 0, f, max_abs(g), 1.0)
        (f, state), g = evaluate(x, state)
        trace = record(trace, 1, f, max_abs(g), jnp.nan)
        size = (data.w[:, None] * h * (jnp.abs(z) + jnp.abs(A @ B))).T @ jnp.abs(A)
        size = model.with_coefficients(size.T / total + jnp.abs(B) * P)
        small = jnp.finfo(x.dtype).eps ** 0.5 * flatten(size)[0]
        if_singular = JITTERED if self.decomposition == "qr" else LEAST_NORM
        reason = jnp.where(singular.any(), if_singular, EXACT)
        reason = jnp.where(jnp.all(jnp.abs(g) <= small), reason, STALLED)
        status = Status(reason, jnp.ones_like(reason), max_abs(g))
        return Solution(rebuild(x), state, f, trace, status)
