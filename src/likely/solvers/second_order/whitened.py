r"""Whitening: a solver in coordinates where the Hessian starts as the identity.

For a linear model under a separable objective the Hessian at the start,
$H_0 = A^\top \operatorname{diag}(w\,l'')\,A / \sum w$ plus the penalty's, is cheap once. With
$H_0 = LL^\top$ and $B = B_0 + L^{-\top}Γ$ the Hessian in Γ starts as the identity, so a
quasi-Newton method needs few steps whatever the scales and correlations of the columns.
Of many rows a sample is enough: coordinates affect the number of steps, not the result.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from likely.core.linalg import weighted_gram
from likely.core.rows import fill_absent
from likely.solvers.second_order.pointwise import curvature, penalty_curvature
from likely.typing import Batch, Key, LinearModel, Solution, Solver, State


class Whitened(eqx.Module):
    """Minimise over a `LinearModel` by another solver, in whitened coordinates.

    Args:
        solver: the solver that does the work, such as `LBFGS`.
    """

    solver: Solver

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise a `Separable` objective over the coefficients of the model."""
        return _minimize(self.solver, objective, model, data, key=key, state=state)


class _Objective(eqx.Module):
    """The objective as a function of Γ."""

    objective: Any
    model: LinearModel
    M: Float[Array, "p p"]
    """L⁻ᵀ, computed once: a product is cheaper than a triangular solve."""

    def rebuild(self, gamma: Float[Array, "p k"]) -> LinearModel:
        """The model with B = B₀ + L⁻ᵀΓ."""
        return self.model.with_coefficients(self.model.coefficients + self.M @ gamma)

    def __call__(self, gamma, batch: Batch, *, key=None, state: State = None):
        return self.objective(self.rebuild(gamma), batch, key=key, state=state)


@eqx.filter_jit
def _minimize(solver, objective, model, data, *, key, state) -> Solution:
    L = jnp.linalg.cholesky(_start_hessian(objective, model, data))
    M = solve_triangular(L, jnp.eye(len(L), dtype=L.dtype), lower=True).T
    inner = _Objective(objective, model, M)
    gamma = jnp.zeros_like(model.coefficients)
    found = solver.minimize(inner, gamma, data, key=key, state=state)
    return eqx.tree_at(lambda s: s.model, found, inner.rebuild(found.model))


def _start_hessian(objective, model: LinearModel, data: Batch) -> Float[Array, "p p"]:
    """H₀ averaged over the entries of η, plus a jitter against singularity."""
    # evenly spaced rows: the coordinates need not be exact
    stride = max(1, len(data.w) // max(4096, 16 * model.coefficients.shape[0]))
    data = fill_absent(jax.tree.map(lambda a: a[::stride], data))
    eta, _ = model(data.x)
    _, h = curvature(objective, eta, data.y)
    h = jnp.trace(h, axis1=1, axis2=2) / h.shape[1]
    A = model.design(data.x)
    total = jnp.maximum(data.w.sum(), jnp.finfo(A.dtype).tiny)
    H = weighted_gram(A, data.w * jnp.maximum(h, 0.0) / total)

    penalty = penalty_curvature(objective, model, model.coefficients).mean(1)
    diagonal = jnp.diagonal(H) + penalty
    jitter = jnp.finfo(H.dtype).eps ** 0.5 * jnp.where(diagonal > 0, diagonal, 1.0)
    return H + jnp.diag(penalty + jitter)
