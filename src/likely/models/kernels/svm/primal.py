r"""Linear support vector machines in the primal, by Newton's method in NumPy.

$$\min_{w,b}\; \tfrac12\lVert w\rVert^2 + \sum_i C_i\, ℓ(1 - y_i(x_i·w + b)), \qquad
  ℓ(s) = \begin{cases} 0 & s \le 0\\ \tfrac{κ}{2}s^2 & 0 < s < δ\\
  κδ(s - \tfrac{δ}{2}) & s \ge δ.\end{cases}$$

κ = 2, δ = ∞ is the squared hinge. κ = 1/δ is the smoothed hinge (Huber's); it is solved for
smaller and smaller δ, each starting at the solution of the last. The objective is piecewise
quadratic, so Newton's method with an exact line search ends in a few steps. Only rows with
0 < s < δ enter the Hessian, and it is updated by the rows that entered or left that zone.
The intercept is not penalised.

For the hinge, $α_i = C_i \min(\max(s_i, 0)/δ, 1)$ is feasible for the dual, so the
difference of both objectives bounds the error: `gap`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from likely.core.threads import threads_for

WIDTHS = (1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
MIN_WARM_START_ROWS, WARM_START_STRIDE = 40_000, 10
"""Rows from which on every tenth row is fitted first, for a start."""
RELATIVE_RIDGE = 1e-12


class Smoothing(NamedTuple):
    """The curvature κ and the width δ of the smoothed hinge."""

    curvature: float
    width: float


SQUARED = Smoothing(2.0, np.inf)


@dataclass(frozen=True)
class Plane:
    """A separating plane w·x + b, and how the solver ended."""

    w: Float[np.ndarray, " d"]
    b: float
    objective: float
    gap: float
    steps: int
    """Newton steps, those of the δ that took most."""
    converged: bool


def plane(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    C: Float[np.ndarray, " n"],
    *,
    squared: bool = True,
    intercept: bool = True,
    max_steps: int = 200,
    tol: float = 1e-9,
) -> Plane:
    """The plane that minimises the objective, for y = ±1.

    Args:
        X: (n, d) rows.
        y: −1 or +1.
        C: the cost of the slack of each row.
        squared: whether the hinge is squared.
        intercept: whether to fit an intercept b.
        max_steps: the step limit for each δ.
        tol: the tolerance of the gradient, relative to that at zero.
    """
    n, d = X.shape
    Q = None
    if d > n:  # w is in the span of the rows
        with threads_for(n):
            Q, R = np.linalg.qr(X.T)
        X = np.ascontiguousarray(R.T)
    A = np.c_[X, np.ones(n)] if intercept else X
    search = _Search(A, y, C, intercept, max_steps, tol)
    theta = _start(search, n)
    stages = [SQUARED] if squared else [Smoothing(1 / s, s) for s in WIDTHS]
    steps, converged = 0, True
    for smoothing in stages:
        theta, taken, converged = search.newton(theta, smoothing)
        steps = max(steps, taken)
    objective, gap = search.certify(theta, stages[-1])
    w = theta[:-1] if intercept else theta
    b = float(theta[-1]) if intercept else 0.0
    if intercept and not squared:
        b = search.middle_intercept(theta)
    return Plane(w if Q is None else Q @ w, b, objective, gap, steps, converged)


def _start(search: "_Search", n: int) -> np.ndarray:
    """The start: zero, or for many rows the squared-hinge plane of a tenth of them."""
    theta = np.zeros(search.A.shape[1])
    if n < MIN_WARM_START_ROWS:
        return theta
    A, y, C = (a[::WARM_START_STRIDE] for a in (search.A, search.y, search.C))
    part = _Search(
        np.ascontiguousarray(A), y, WARM_START_STRIDE * C, search.intercept, 20, 1e-3
    )
    return part.newton(theta, SQUARED)[0]


@dataclass(frozen=True)
class _Search:
    """Newton's method for one set of rows."""

    A: Float[np.ndarray, "n p"]
    y: Float[np.ndarray, " n"]
    C: Float[np.ndarray, " n"]
    intercept: bool
    max_steps: int
    tol: float

    def newton(
        self, theta: np.ndarray, smoothing: Smoothing
    ) -> tuple[np.ndarray, int, bool]:
        """The minimising θ, the steps taken, and whether the gradient vanished."""
        A, y, C = self.A, self.y, self.C
        kappa, delta = smoothing
        penalty = np.ones(A.shape[1])
        penalty[-1] = 0.0 if self.intercept else 1.0
        size = np.abs((C * y) @ A).max() * min(kappa * delta, kappa) + 1e-300
        s = 1 - y * (A @ theta)
        zone, H = np.zeros(len(y), bool), np.zeros((A.shape[1],) * 2)
        for step in range(self.max_steps):
            g = penalty * theta - (C * y * kappa * np.clip(s, 0, delta)) @ A
            if np.abs(g).max() <= self.tol * size:
                return theta, step, True
            now = (s > 0) & (s < delta)
            H = _update_hessian(H, A, C, zone, now)
            zone = now
            p = -_solve(kappa * H + np.diag(penalty), g)
            slope = y * (A @ p)
            t = self._step_length(theta, p, s, slope, smoothing, penalty)
            moved = theta + t * p
            s = s - t * slope
            if np.array_equal(moved, theta):
                return theta, step, True  # no closer in floating point
            theta = moved
        return theta, self.max_steps, False

    def _step_length(self, theta, p, s, slope, smoothing, penalty) -> float:  # noqa: PLR0917
        """The step at which the piecewise linear derivative along p is zero."""
        kappa, delta = smoothing
        cost = self.C * kappa * slope
        start, rise = float((penalty * theta) @ p), float((penalty * p) @ p)
        touched = slope != 0
        s, slope, cost = s[touched], slope[touched], cost[touched]

        def derivative(t: float) -> float:
            return start + t * rise - float(cost @ np.clip(s - t * slope, 0, delta))

        low, high, zero = 0.0, 1.0, abs(derivative(0.0))
        while (at_high := derivative(high)) < 0 and high < 1e12:
            if at_high >= -1e-12 * zero:
                return high
            low, high = high, 2 * high
        if at_high <= 1e-12 * zero:
            return high
        kinks = np.r_[s / slope, (s - delta) / slope] if delta < np.inf else s / slope
        kinks = np.sort(kinks[(kinks > low) & (kinks < high)])
        left, right = 0, len(kinks)
        while left < right:  # the first kink where the derivative is not negative
            middle = (left + right) // 2
            if derivative(kinks[middle]) < 0:
                left = middle + 1
            else:
                right = middle
        low = float(kinks[left - 1]) if left > 0 else low
        high = float(kinks[left]) if left < len(kinks) else high
        a, b = derivative(low), derivative(high)
        return low if b <= a else low + (high - low) * min(max(-a / (b - a), 0.0), 1.0)

    def middle_intercept(self, theta: np.ndarray) -> float:
        """The intercept; the middle of the interval where several are optimal."""
        w, b = theta[:-1], float(theta[-1])
        # as a function of b, the hinge of each row has a kink here
        kinks = self.y - self.A[:, :-1] @ w
        order = np.argsort(kinks, kind="stable")
        steps = np.cumsum(self.C[order])  # each kink adds its C to the slope
        slopes = steps - self.C[self.y > 0].sum()
        flat = np.abs(slopes) <= 1e-9 * self.C.sum()
        if not flat[:-1].any():
            return b
        low, high = kinks[order][int(np.argmax(flat)) :][:2]
        return float(0.5 * (low + high)) if high - low > 1e3 * WIDTHS[-1] else b

    def certify(self, theta: np.ndarray, smoothing: Smoothing) -> tuple[float, float]:
        """The objective with the exact hinge, and the duality gap."""
        A, y, C = self.A, self.y, self.C
        w = theta[:-1] if self.intercept else theta
        s = np.maximum(1 - y * (A @ theta), 0)
        if not np.isfinite(smoothing.width):
            objective = 0.5 * w @ w + C @ s**2
            alpha = 2 * C * s
            dual = alpha.sum() - 0.25 * (alpha**2 / np.where(C > 0, C, 1)).sum()
        else:
            objective = 0.5 * w @ w + C @ s
            alpha = C * np.minimum(s / smoothing.width, 1)
            dual = alpha.sum()
        v = (alpha * y) @ (A[:, :-1] if self.intercept else A)
        return float(objective), float(objective - dual + 0.5 * v @ v)


def _update_hessian(H, A, C, before, now) -> Float[np.ndarray, "p p"]:
    """Aᵀ C A over the rows of the zone, updated from that of the last zone."""
    entered, left = np.flatnonzero(now & ~before), np.flatnonzero(before & ~now)
    if len(entered) + len(left) > now.sum():
        rows = np.flatnonzero(now)
        return _square(A, C, rows)
    return H + _square(A, C, entered) - _square(A, C, left)


def _square(A, C, rows) -> Float[np.ndarray, "p p"]:
    """Aᵀ C A over some rows."""
    part, costs = A[rows], C[rows]
    if len(rows) and (costs == costs[0]).all():
        return costs[0] * (part.T @ part)
    part *= np.sqrt(costs)[:, None]
    return part.T @ part


def _solve(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """H⁻¹g, of least norm where H is singular (no row determines the intercept)."""
    try:
        H = H + RELATIVE_RIDGE * np.trace(H) / len(H) * np.eye(len(H))
        return cho_solve(cho_factor(H), g)
    except LinAlgError:
        return np.linalg.lstsq(H, g)[0]
