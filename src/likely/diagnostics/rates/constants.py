r"""The constants μ and L of a loss on a ball around its minimum.

Bounds on gradient descent need $μI \preceq \nabla^2 f(φ) \preceq LI$ wherever the path goes. They
are exact where the loss is quadratic. The loss of a linear model is $\sum_i w_i\,l(η_i,
y_i)/\sum_i w_i$ with $η_i = a_i^\top φ + o_i$; within a ball of radius r around $φ^*$ each $η_i$
stays within $η_i^* \pm \lVert a_i\rVert r$, and the lowest and highest curvature of $l$ there
make matrices that bound the Hessian from both sides. Of any other loss they come from a search,
so L may be too low.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.analysis import curvature_bounds
from likely.core.checks import InputError
from likely.core.precision import float64
from likely.diagnostics.dynamics.losses import Quadratic, hessian, is_surface
from likely.diagnostics.landscape.surface import LearnerLosses, LossSurface

MAX_PARAMETERS = 500
"""Weights up to which the Hessian is computed."""
MAX_SEARCHED = 10
"""Weights up to which curvature is looked for in a box."""
GRID_POINTS = 257
"""Values of η at which the curvature of a row is looked at."""
CURVATURE_MARGIN = 1e-3
"""By how much the curvature between these may exceed that at them, relative."""
HESSIAN_TOLERANCE = 1e-9
"""Hessians that differ by less than this, relative, are the same."""
EXACT, ROWS, SEARCHED = "exact", "row by row", "by a search"


class Constants(NamedTuple):
    """Bounds of the curvature of a loss."""

    mu: float
    """The lowest curvature, 0 where it is not positive."""
    L: float
    """The highest curvature."""
    origin: str
    """"exact" of a quadratic, "row by row" of a linear model, or "by a search"."""
    radius: float
    """Of the ball around the minimum on which they hold; infinite for a quadratic."""

    @property
    def quadratic(self) -> bool:
        """Whether the curvature is the same everywhere."""
        return self.origin == EXACT

    @property
    def condition(self) -> float:
        """L/μ."""
        return self.L / self.mu if self.mu > 0 else float("inf")


def quadratic_matrix(
    loss: Any, points: Float[np.ndarray, "m p"]
) -> Float[np.ndarray, "p p"] | None:
    """The matrix of a loss that is quadratic, by its Hessians at some points; else None."""
    if isinstance(loss, Quadratic):
        return loss.A
    if points.shape[1] > MAX_PARAMETERS:
        raise InputError(
            f"the loss has {points.shape[1]:,} weights; rates are computed for at most "
            f"{MAX_PARAMETERS}, whose Hessian is small enough."
        )
    found = [hessian(loss, phi) for phi in points]
    if not np.isfinite(found[0]).all():
        raise InputError("the loss has no finite Hessian at the start.")
    found = [H for H in found if np.isfinite(H).all()]
    values = np.linalg.eigvalsh(np.stack(found))
    if np.abs(values).max() > 0:  # else it may be curved elsewhere
        check_convex(float(values.min()), float(np.abs(values).max()))
    gap = max(float(np.abs(H - found[0]).max()) for H in found)
    size = float(np.abs(found[0]).max())
    return found[0] if size > 0 and gap <= HESSIAN_TOLERANCE * size else None


def constants_within(
    loss: Any, center: Float[np.ndarray, " p"], radius: float, A: np.ndarray | None
) -> Constants:
    """The constants on a ball.

    Args:
        loss: with the method `mean(φ)`.
        center: of the ball, the minimum.
        radius: of the ball.
        A: the matrix of a quadratic, or None.
    """
    if A is not None:
        found = curvature_bounds(A)
        check_convex(found.mu, found.L)
        return Constants(_positive(found.mu, found.L), found.L, EXACT, np.inf)
    rows = row_bounds(loss, center, radius) if is_surface(loss) else None
    if rows is not None:
        check_convex(*rows)
        return Constants(_positive(*rows), rows[1], ROWS, radius)
    if len(center) > MAX_SEARCHED:
        raise InputError(
            f"the curvature of this loss of {len(center)} weights is not known: it is neither "
            "quadratic nor that of a linear model with one η for each row, and a search is for "
            f"at most {MAX_SEARCHED} weights."
        )
    half = max(radius, 1e-6)
    found = curvature_bounds(loss.mean, center - half, center + half)
    check_convex(found.mu, found.L)
    return Constants(_positive(found.mu, found.L), found.L, SEARCHED, radius)


def _positive(mu: float, L: float) -> float:
    """μ, or 0 where it is 0 up to rounding."""
    return mu if mu > 1e-10 * L else 0.0


def check_convex(mu: float, L: float) -> None:
    """Refuse a loss that is flat, or has negative curvature."""
    if not L > 0:
        raise InputError("the loss is flat: its curvature is 0 in all directions.")
    if mu < -1e-8 * L:
        raise InputError(
            f"the loss is not convex: its lowest curvature is {mu:.3g}, the highest {L:.3g}. "
            "The bounds are for convex losses: give a linear model, a positive semi-definite "
            "matrix or a convex function."
        )


def row_bounds(
    surface: LossSurface, center: Float[np.ndarray, " p"], radius: float
) -> tuple[float, float] | None:
    """(μ, L) of a linear model with one η that depends on the weights; else None."""
    with float64():
        phi = jnp.asarray(center)
        eta, J, far = map(np.asarray, _linearised(surface, phi))
    columns = np.flatnonzero(np.abs(J).max((0, 2)) > 0)
    linear = np.abs(far - (eta + J.sum(2))).max() <= 1e-8 * (1 + np.abs(far).max())
    if len(columns) != 1 or not linear:
        return None
    j, w = int(columns[0]), surface.w
    A = J[:, j]  # (n, p)
    reach = np.linalg.norm(A, axis=1) * radius
    with float64():
        at = jnp.asarray(eta), jnp.asarray(reach)
        low, high = map(np.asarray, _row_curvatures(surface, *at, j))
    present = w > 0
    A, w = A[present], w[present] / w[present].sum()
    low, high = (
        low[present] * (1 - CURVATURE_MARGIN),
        high[present] * (1 + CURVATURE_MARGIN),
    )
    if not np.isfinite(high).all():
        raise InputError(
            "the curvature of the loss is not finite within the ball that the path may reach; "
            "begin nearer to the minimum."
        )
    ends = [np.linalg.eigvalsh(A.T @ (A * (w * c)[:, None])) for c in (low, high)]
    return float(ends[0][0]), float(ends[1][-1])


def _eta(surface: LossSurface, phi: Array) -> Float[Array, "n k"]:
    """η of each row."""
    of, model = surface.losses_of, surface.at(phi)

    def part(batch: Any) -> Array:
        if isinstance(of, LearnerLosses):
            filled = eqx.tree_at(lambda p: p.model, of.phi, model)
            return of.learner.eta(filled, batch.x)
        return model(batch.x, w=batch.w, key=None, state=of.state)[0]

    found = jax.lax.map(part, surface.data)
    return found.reshape(-1, *found.shape[2:])


@eqx.filter_jit
def _linearised(surface: LossSurface, phi: Array) -> tuple[Array, Array, Array]:
    """η, its derivatives (n, k, p), and η where 1 is added to each weight."""
    eta = _eta(surface, phi)
    eta = eta.reshape(len(eta), -1)

    def along(v: Array) -> Array:
        return jax.jvp(lambda p: _eta(surface, p), (phi,), (v,))[1].reshape(eta.shape)

    J = jax.lax.map(along, jnp.eye(len(phi), dtype=phi.dtype))
    return eta, jnp.moveaxis(J, 0, -1), _eta(surface, phi + 1).reshape(eta.shape)


@eqx.filter_jit
def _row_curvatures(
    surface: LossSurface, eta: Array, reach: Array, j: int
) -> tuple[Array, Array]:
    """The lowest and highest second derivative of each row's loss by its own η."""
    of = surface.losses_of
    learned = isinstance(of, LearnerLosses)
    y = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), surface.data.y)

    def losses(shift: Array) -> Array:
        moved = eta.at[:, j].add(shift)
        if learned:
            return -of.learner.family.log_prob(moved, y)
        return of.objective.pointwise(moved, y)

    one = jnp.ones_like(reach)

    def curvature(share: Array) -> Array:
        def slope(s: Array) -> Array:
            return jax.jvp(losses, (s,), (one,))[1]

        return jax.jvp(slope, (share * reach,), (one,))[1]

    found = jax.lax.map(curvature, jnp.linspace(-1.0, 1.0, GRID_POINTS))
    return found.min(0), found.max(0)
