r"""Linear support vector machines in the primal, by Newton's method on the host.

$$\min_{w,b}\; \tfrac12\lVert w\rVert^2 + \sum_i C_i\, ℓ(1 - y_i(x_i·w + b)), \qquad
  ℓ(s) = \begin{cases} 0 & s \le 0\\ \tfrac{κ}{2}s^2 & 0 < s < δ\\
  κδ(s - \tfrac{δ}{2}) & s \ge δ.\end{cases}$$

κ = 2, δ = ∞ is the squared hinge. κ = 1/δ is the hinge rounded at its kink; it is solved for
smaller and smaller δ, each from the last. The objective is a quadratic in pieces, so
Newton's method with an exact line search ends in a few steps; only rows in the curved
zone enter the Hessian, and from one step to the next only those that came or went. The
intercept is not penalised.

For the hinge, $α_i = C_i \min(\max(s_i, 0)/δ, 1)$ is feasible for the dual, so the
difference of both objectives bounds the error: `gap`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import LinAlgError, cho_factor, cho_solve

STAGES = (1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
LARGE, PART = 40_000, 10
RIDGE = 1e-12


class Rounding(NamedTuple):
    """κ and δ."""

    curvature: float
    width: float


SQUARED = Rounding(2.0, np.inf)


@dataclass(frozen=True)
class Plane:
    """w, b, and how it went."""

    w: Float[np.ndarray, " d"]
    b: float
    objective: float
    gap: float
    steps: int
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
    """The plane of least objective for y = ±1.

    Args:
        X: (n, d) rows.
        y: −1 or +1.
        C: the price of each row.
        squared: whether the hinge is squared.
        intercept: whether there is a b.
        max_steps: limit for each δ.
        tol: the gradient, relative to that at zero.
    """
    n, d = X.shape
    Q = None
    if d > n:  # w lies in the span of the rows
        Q, R = np.linalg.qr(X.T)
        X = np.ascontiguousarray(R.T)
    A = np.c_[X, np.ones(n)] if intercept else X
    search = _Search(A, y, C, intercept, max_steps, tol)
    theta = _start(search, n)
    stages = [SQUARED] if squared else [Rounding(1 / s, s) for s in STAGES]
    steps, converged = 0, True
    for rounding in stages:
        theta, taken, converged = search.newton(theta, rounding)
        steps += taken
    objective, gap = search.certify(theta, stages[-1])
    w = theta[:-1] if intercept else theta
    b = float(theta[-1]) if intercept else 0.0
    if intercept and not squared:
        b = search.middle(theta)
    return Plane(w if Q is None else Q @ w, b, objective, gap, steps, converged)


def _start(search: "_Search", n: int) -> np.ndarray:
    """Zero; for many rows the squared-hinge plane of a tenth of them."""
    theta = np.zeros(search.A.shape[1])
    if n < LARGE:
        return theta
    A, y, C = (a[::PART] for a in (search.A, search.y, search.C))
    part = _Search(np.ascontiguousarray(A), y, PART * C, search.intercept, 20, 1e-3)
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
        self, theta: np.ndarray, rounding: Rounding
    ) -> tuple[np.ndarray, int, bool]:
        """θ of least objective, steps, whether the gradient vanished."""
        A, y, C = self.A, self.y, self.C
        kappa, delta = rounding
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
            H = _updated(H, A, C, zone, now)
            zone = now
            p = -_solved(kappa * H + np.diag(penalty), g)
            slope = y * (A @ p)
            t = self._length(theta, p, s, slope, rounding, penalty)
            moved = theta + t * p
            s = s - t * slope
            if np.array_equal(moved, theta):
                return theta, step, True  # no closer in floating point
            theta = moved
        return theta, self.max_steps, False

    def _length(self, theta, p, s, slope, rounding, penalty) -> float:  # noqa: PLR0917
        """Where the derivative along p, which rises in straight pieces, passes zero."""
        kappa, delta = rounding
        price = self.C * kappa * slope
        start, rise = float((penalty * theta) @ p), float((penalty * p) @ p)
        touched = slope != 0
        s, slope, price = s[touched], slope[touched], price[touched]

        def derivative(t: float) -> float:
            return start + t * rise - float(price @ np.clip(s - t * slope, 0, delta))

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

    def middle(self, theta: np.ndarray) -> float:
        """The intercept; where several are equally good for the hinge, halfway."""
        w, b = theta[:-1], float(theta[-1])
        kinks = (
            self.y - self.A[:, :-1] @ w
        )  # a row's hinge, as a function of b, bends here
        order = np.argsort(kinks, kind="stable")
        steps = np.cumsum(self.C[order])  # each kink adds its C to the slope
        slopes = steps - self.C[self.y > 0].sum()
        flat = np.abs(slopes) <= 1e-9 * self.C.sum()
        if not flat[:-1].any():
            return b
        low, high = kinks[order][int(np.argmax(flat)) :][:2]
        return float(0.5 * (low + high)) if high - low > 1e3 * STAGES[-1] else b

    def certify(self, theta: np.ndarray, rounding: Rounding) -> tuple[float, float]:
        """The unrounded objective, and its distance from the dual one."""
        A, y, C = self.A, self.y, self.C
        w = theta[:-1] if self.intercept else theta
        s = np.maximum(1 - y * (A @ theta), 0)
        if not np.isfinite(rounding.width):
            objective = 0.5 * w @ w + C @ s**2
            alpha = 2 * C * s
            dual = alpha.sum() - 0.25 * (alpha**2 / np.where(C > 0, C, 1)).sum()
        else:
            objective = 0.5 * w @ w + C @ s
            alpha = C * np.minimum(s / rounding.width, 1)
            dual = alpha.sum()
        v = (alpha * y) @ (A[:, :-1] if self.intercept else A)
        return float(objective), float(objective - dual + 0.5 * v @ v)


def _updated(H, A, C, before, now) -> Float[np.ndarray, "p p"]:
    """Aᵀ C A over the rows of the zone, from that of the last zone."""
    came, went = np.flatnonzero(now & ~before), np.flatnonzero(before & ~now)
    if len(came) + len(went) > now.sum():
        rows = np.flatnonzero(now)
        return _square(A, C, rows)
    return H + _square(A, C, came) - _square(A, C, went)


def _square(A, C, rows) -> Float[np.ndarray, "p p"]:
    part, prices = A[rows], C[rows]
    if len(rows) and (prices == prices[0]).all():
        return prices[0] * (part.T @ part)
    part *= np.sqrt(prices)[:, None]
    return part.T @ part


def _solved(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """H⁻¹g; least norm where H is singular (an intercept that no row decides)."""
    try:
        H = H + RIDGE * np.trace(H) / len(H) * np.eye(len(H))
        return cho_solve(cho_factor(H), g)
    except LinAlgError:
        return np.linalg.lstsq(H, g)[0]
