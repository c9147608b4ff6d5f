r"""The linear support vector machine of many columns or a sparse matrix, by products alone.

The objective is that of `primal`, as a mean: the loss $\sum_i C_i ℓ(1 - y_i η_i)$ over $\sum C$,
minimised by Newton's method with conjugate gradients (`newton_cg`).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.models.kernels.svm.primal import SQUARED, WIDTHS, Plane, Smoothing
from likely.solvers.second_order.newton_cg import Columns, Slopes, newton_cg

MIN_TOLERANCE = 1e-5
"""The least tolerance: half of its square is the error of the objective, before the last step."""


class _Hinge(NamedTuple):
    """The smoothed or squared hinge of η, weighted by C/ΣC."""

    y: np.ndarray
    share: np.ndarray
    smoothing: Smoothing

    def value(self, eta: np.ndarray) -> float:
        s = np.maximum(1 - self.y * eta[:, 0], 0.0)
        kappa, delta = self.smoothing
        inner = np.minimum(s, delta)
        return float(self.share @ (kappa * inner * (s - 0.5 * inner)))

    def slopes(self, eta: np.ndarray) -> Slopes:
        s = 1 - self.y * eta[:, 0]
        kappa, delta = self.smoothing
        first = -self.share * self.y * kappa * np.clip(s, 0.0, delta)
        bend = (self.share * kappa * ((s > 0) & (s < delta)))[:, None]
        return Slopes(first[:, None], lambda V: bend * V, bend)


def matrix_free_plane(
    X: Any,
    y: Float[np.ndarray, " n"],
    C: Float[np.ndarray, " n"],
    *,
    squared: bool = True,
    intercept: bool = True,
    max_steps: int = 200,
    tol: float = 1e-9,
) -> Plane:
    """The plane that minimises the objective, for y = ±1; see `primal.plane`.

    Args:
        X: (n, d) rows, maybe sparse.
        y: −1 or +1.
        C: the cost of the slack of each row.
        squared: whether the hinge is squared.
        intercept: whether to fit an intercept b.
        max_steps: the step limit for each δ.
        tol: the tolerance of √(gᵀH⁻¹g), relative to the objective at zero.
    """
    d, total = X.shape[1], float(C.sum())
    columns = Columns.of(X, C / total, intercept)
    B = np.zeros((d + intercept, 1))
    ridge = np.full((d + intercept, 1), 1 / total)
    ridge[d:] = 0.0
    stages = [SQUARED] if squared else [Smoothing(1 / s, s) for s in WIDTHS]
    eta, steps, converged = np.zeros(len(y)), 0, True
    for smoothing in stages:
        found = newton_cg(
            columns,
            _Hinge(y, C / total, smoothing),
            B,
            ridge=ridge,
            tolerance=max(tol, MIN_TOLERANCE),
            max_steps=max_steps,
        )
        B, eta, converged = found.B, found.eta[:, 0], found.converged
        steps = max(steps, found.steps)
    w = B[:d, 0]
    b = float(B[-1, 0] - columns.centre @ w) if columns.centre is not None else 0.0
    s = np.maximum(1 - y * eta, 0.0)
    if squared:
        objective, alpha = 0.5 * w @ w + C @ s**2, 2 * C * s
        dual = alpha.sum() - 0.25 * (alpha**2 / np.where(C > 0, C, 1)).sum()
    else:
        objective, alpha = 0.5 * w @ w + C @ s, C * np.minimum(s / WIDTHS[-1], 1)
        dual = alpha.sum()
    v = columns.transposed @ (alpha * y)
    gap = float(objective - dual + 0.5 * v @ v)
    return Plane(w, b, float(objective), gap, steps, converged)
