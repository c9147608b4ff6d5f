"""A convex loss with its minimum, its constants and a start: what rates are about."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.diagnostics.dynamics.losses import (
    Quadratic,
    descend,
    gradient,
    hessian,
    is_surface,
    loss_of,
    values,
)
from likely.diagnostics.rates.bounds import Start
from likely.diagnostics.rates.constants import (
    Constants,
    constants_within,
    quadratic_matrix,
)
from likely.solvers import BFGS

SEED = 0
"""Of the points at which a loss is tested for being quadratic."""
MIN_EIGENVALUE = 1e-10
"""Eigenvalues below this part of the largest are 0."""


class ConvexProblem(NamedTuple):
    """A convex loss and where a descent on it begins."""

    loss: Any
    start: Float[np.ndarray, " p"]
    minimum: Float[np.ndarray, " p"]
    """The nearest minimiser to the start where there are several."""
    lowest: float
    """The loss there."""
    matrix: Float[np.ndarray, "p p"] | None
    """Of a quadratic."""
    constants: Constants

    @property
    def distance(self) -> float:
        """D, from the start to the minimum."""
        return float(np.linalg.norm(self.start - self.minimum))

    @property
    def begin(self) -> Start:
        """What the bounds know of the start."""
        return Start(self.distance, float(self.excess(self.start[None])[0]))

    def excess(self, path: Float[np.ndarray, "t p"]) -> Float[np.ndarray, " t"]:
        """The loss above its minimum; of a quadratic without cancellation."""
        if self.matrix is not None:
            moved = path - self.minimum
            return 0.5 * np.einsum("tp,tp->t", moved @ self.matrix, moved)
        return values(self.loss, path) - self.lowest

    @property
    def rounding(self) -> float:
        """What rounding may do to the excess."""
        if self.matrix is not None:
            size = max(self.distance, float(np.abs(self.minimum).max(initial=0.0)))
            return 1e-22 * self.constants.L * size**2
        first = abs(self.lowest) + abs(float(values(self.loss, self.start[None])[0]))
        return 1e-13 * first

    def on(self, radius: float) -> "ConvexProblem":
        """The problem with constants that hold on a ball around the minimum."""
        found = constants_within(self.loss, self.minimum, radius, self.matrix)
        return self._replace(constants=found)


def convex_problem(
    model: Any,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    start: Any = None,
    **source: Any,
) -> ConvexProblem:
    """A convex problem of a model and rows, of a matrix, or of a function.

    Args:
        model: what `loss_of` takes.
        X: inputs.
        y: targets.
        sample_weight: how often each row counts.
        start: the first weights; None is 0 for a model and ones for a matrix.
        source: more about the model: see `loss_surface`.
    """
    plain = X is None and callable(model)
    if plain:
        source["start"] = start
    loss, center = loss_of(model, X, y, sample_weight, **source)
    if start is None:
        start = np.zeros_like(center) if is_surface(loss) else center
    start = np.atleast_1d(np.asarray(start, np.float64))
    if start.shape != center.shape or not np.isfinite(start).all():
        raise InputError(
            f"start has shape {start.shape}; this loss takes {center.size} finite weights."
        )
    rng = np.random.default_rng(SEED)
    size = 1 + np.abs(start).max(initial=0.0)
    near = start + size * rng.normal(size=(2, len(start)))
    A = quadratic_matrix(loss, np.stack([start, *near, 1e-3 * near[0]]))
    minimum = _minimum(loss, start, A)
    lowest = float(values(loss, minimum[None])[0])
    distance = float(np.linalg.norm(start - minimum))
    if not distance > 0:
        raise InputError("the start is the minimum; give another start.")
    constants = constants_within(loss, minimum, distance, A)
    return ConvexProblem(loss, start, minimum, lowest, A, constants)


def _minimum(loss: Any, start: np.ndarray, A: np.ndarray | None) -> np.ndarray:
    """The minimiser, the nearest to the start of a quadratic."""
    if isinstance(loss, Quadratic):
        values_, V = np.linalg.eigh(loss.A)
        flat = V[
            :, np.abs(values_) <= MIN_EIGENVALUE * np.abs(values_).max(initial=0.0)
        ]
        return flat @ (flat.T @ start)
    first = gradient(loss, start)
    if A is not None:
        found = start - np.linalg.pinv(A, rcond=MIN_EIGENVALUE, hermitian=True) @ first
    else:
        solved = descend(BFGS(2000, 1e-12), loss, start)
        found = np.asarray(solved.model, np.float64)
    left = np.abs(gradient(loss, found)).max(initial=0.0)
    level = left <= 1e-7 * (1 + np.abs(first).max(initial=0.0))
    if not level or (A is None and _vanishes(loss, start, found)):
        raise InputError(
            f"the loss has no minimum that could be found (a gradient of {left:.2g} is left at "
            f"weights of up to {np.abs(found).max(initial=0.0):.3g}): it may fall for ever, as "
            "that of classes that a plane separates. Give rows that overlap."
        )
    return found


def _vanishes(loss: Any, start: np.ndarray, found: np.ndarray) -> bool:
    """Whether a direction that was curved at the start is flat where the search ended."""
    before, after = (np.linalg.eigvalsh(hessian(loss, at)) for at in (start, found))
    return bool(before[0] > 1e-8 * before[-1] and after[0] < 1e-8 * before[-1])
