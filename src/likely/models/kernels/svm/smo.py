r"""Sequential minimal optimisation of the dual of support vector machines.

One problem covers classification and regression. With one signed dual variable β per row,

$$\min_β\; \tfrac12 β^\top Kβ - c^\top β + ε\lVert β\rVert_1, \qquad
  \sum_i β_i = 0,\quad l_i \le β_i \le h_i,\qquad l_i \le 0 \le h_i.$$

Classification: c = y = ±1, ε = 0, β = yα with 0 ≤ α ≤ C, so one of l, h is zero.
Regression: c = y, −C ≤ β ≤ C, and ε the half-width of the tube. With g = Kβ − c, the
derivative of the objective is $u_i = g_i \pm ε$ for increasing β_i (∞ at the upper bound), and
$d_j = g_j \pm ε$ for decreasing β_j (−∞ at the lower bound). β is optimal where
max d − min u ≤ 0. Each step moves the pair (i, j) with i = argmin u and the j of the largest
second-order decrease,
$(d_j - u_i)^2 / (K_{ii} + K_{jj} - 2K_{ij})$.

Rows whose β is at a bound and would move beyond it are left out for a while (shrinking): the
arrays and the cached rows of K are packed, and g of the other rows is recomputed from β at
the end. Rows of K are kept in a cache of fixed size, in double precision, which replaces
rows by the clock algorithm (those not used since the last round of the clock hand).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from likely.models.kernels.svm.rows import PRECOMPUTED
from likely.models.kernels.svm.steps import descend, move_rows, weighted_sum

CONVERGED, STEP_LIMIT, UNBOUNDED, ROUNDING = range(4)
HULL_TOLERANCE = 1e-10
"""‖w‖² relative to (Σ|β|)² below which the convex hulls of the classes intersect."""
STEPS_PER_CHECK, MAX_PACKED_SHARE = 1000, 0.8
"""Steps between attempts to shrink, and the share of rows kept above which none is made."""


@dataclass(frozen=True)
class Problem:
    """The dual problem: K by its kernel and inputs, c, ε and the bounds of β."""

    kernel: tuple[int, float, float, float]
    XT: Float[np.ndarray, "d n"]
    """The inputs in the layout of `rows`; K itself where it is precomputed."""
    norms: Float[np.ndarray, " n"]
    diagonal: Float[np.ndarray, " n"]
    c: Float[np.ndarray, " n"]
    lo: Float[np.ndarray, " n"]
    hi: Float[np.ndarray, " n"]
    eps: float = 0.0


@dataclass(frozen=True)
class Solved:
    """The solution β, the gradient g, and how the solver ended."""

    b: Float[np.ndarray, " n"]
    g: Float[np.ndarray, " n"]
    intercept: float
    gap: float
    steps: int
    status: int


@dataclass(frozen=True)
class Active:
    """The active rows, in the layout of the compiled steps, and the cached rows of K."""

    active: tuple
    values: tuple
    cache: tuple

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds min u and max d of the optimality conditions."""
        g, up, down = self.values[0], self.values[4], self.values[5]
        return float((g + up).min()), float((g + down).max())


class Plan(NamedTuple):
    """The settings of a solution: tolerance of the gap, step limit, shrinking, hard margin."""

    tol: float
    max_steps: int
    shrink: bool
    hard: bool


def solve(
    problem: Problem, *, tol: float, cache_bytes: float, max_steps: int, shrink: bool
) -> Solved:
    """Minimise the dual; the gap max d − min u certifies the solution."""
    p, n = problem, len(problem.c)
    plan = Plan(float(tol), max_steps, shrink, not np.isfinite(p.hi - p.lo).all())
    store = np.empty(n * int(np.clip(cache_bytes // (8 * n), 2, n)))
    b, g = np.zeros(n), -p.c
    steps, checked = 0, not shrink
    while True:
        up, down = _slopes(p, b)
        values = (g, b, p.lo, p.hi, up, down, p.diagonal)
        part = Active((p.XT, p.norms, np.arange(n)), values, _empty(store, n))
        before = steps
        part, steps = _run(p, part, b, plan, steps, checked)
        b, g = _unpack(p, part, b, g)
        up, down = _slopes(p, b)
        gap = float((g + down).max() - (g + up).min())
        status = _status(p, plan, b, g, gap, steps)
        if status is None and steps == before:
            status = ROUNDING  # no pair decreases the objective in floating point
        if status is not None:
            return Solved(b, g, _intercept(p, b, g, up, down), gap, steps, status)
        checked = True


def _run(p: Problem, part: Active, b, plan: Plan, steps: int, checked: bool):  # noqa: PLR0917
    """Take steps, with fewer and fewer active rows, until these are optimal.

    The first time it already stops at ten times the tolerance, so that rows that were left
    out too early come back. Returns the active rows and the number of steps.
    """
    while True:
        count = min(plan.max_steps - steps, 10 * STEPS_PER_CHECK)
        count = min(count, STEPS_PER_CHECK, len(b)) if plan.shrink else count
        limits = (float(p.eps), plan.tol, count)
        _, taken = descend(p.kernel, part.active, part.values, part.cache, limits)
        steps += taken
        low, high = part.bounds
        near = high - low <= (plan.tol if checked else 10 * plan.tol)
        if near or taken < count or steps >= plan.max_steps:
            return part, steps
        rows, (g, beta) = part.active[2], part.values[:2]
        if plan.hard and _hulls_meet(beta, g, p.c[rows], p.diagonal):
            return part, steps
        if plan.shrink:
            b[rows] = beta
            part = _pack(part, _may_move(part.values, low, high))


def _slopes(p: Problem, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The terms ±ε of u and d; infinite at the bounds of β."""
    up = np.where(b >= p.hi, np.inf, np.where(b >= 0, p.eps, -p.eps))
    down = np.where(b <= p.lo, -np.inf, np.where(b > 0, p.eps, -p.eps))
    return up, down


def _empty(store: np.ndarray, n: int) -> tuple:
    """An empty cache of rows of length n in the memory of `store`."""
    slots = min(len(store) // n, n)
    return (
        store,
        np.full(n, -1),
        np.full(slots, -1),
        np.zeros(slots, bool),
        np.zeros(1, int),
    )


def _may_move(values: tuple, low: float, high: float) -> Bool[np.ndarray, " n"]:
    """Which rows may still move: not those at a bound with a gradient that keeps them there."""
    g, up, down = values[0], values[4], values[5]
    return ~((g + up > high) & (g + down < low))


def _pack(part: Active, keep: Bool[np.ndarray, " n"]) -> Active:
    """The active rows reduced to those of a mask, where that is worth the copying."""
    rows = np.flatnonzero(keep)
    n, m = len(keep), len(rows)
    if m > MAX_PACKED_SHARE * n or m < 2:
        return part
    XT, norms, origin = part.active
    store, _, owner, _, _ = part.cache
    slots = np.flatnonzero((owner >= 0) & keep[owner])
    index = np.full(n, -1)
    index[rows] = np.arange(m)
    move_rows(store, n, slots, rows)
    cache = _empty(store, m)
    owners = index[owner[slots]]
    cache[1][owners] = np.arange(len(slots))
    cache[2][: len(slots)] = owners
    cache[4][0] = len(slots) % len(cache[2])
    active = (np.ascontiguousarray(XT[:, rows]), norms[rows], origin[rows])
    return Active(active, tuple(v[rows] for v in part.values), cache)


def _unpack(p: Problem, part: Active, b: np.ndarray, g: np.ndarray) -> tuple:
    """β and g of all rows; g of the rows that were left out is recomputed from β."""
    rows = part.active[2]
    b, g = b.copy(), g.copy()
    g[rows], b[rows] = part.values[0], part.values[1]
    out = np.setdiff1d(np.arange(len(b)), rows, assume_unique=True)
    if len(out):
        support = np.flatnonzero(b)
        if p.kernel[0] == PRECOMPUTED:
            total = b[support] @ p.XT[np.ix_(support, out)]
        else:
            others = np.ascontiguousarray(p.XT[:, support].T), p.norms[support]
            XT = np.ascontiguousarray(p.XT[:, out])
            total = weighted_sum(p.kernel, XT, p.norms[out], others, b[support])
        g[out] = total - p.c[out]
    return b, g


def _hulls_meet(
    b: np.ndarray, g: np.ndarray, c: np.ndarray, diagonal: np.ndarray
) -> bool:
    """Whether the convex hulls of the two classes intersect.

    Without upper bounds the dual has no minimum exactly in that case: Σ|β| grows while
    ‖w‖² = βᵀKβ does not.
    """
    total = np.abs(b).sum()
    return bool(b @ (g + c) < HULL_TOLERANCE * diagonal.max() * total**2)


def _status(p: Problem, plan: Plan, b, g, gap: float, steps: int) -> int | None:  # noqa: PLR0917
    """The status with which the solver ends, or None to go on."""
    if gap <= plan.tol:
        return CONVERGED
    if plan.hard and _hulls_meet(b, g, p.c, p.diagonal):
        return UNBOUNDED
    return STEP_LIMIT if steps >= plan.max_steps else None


def _intercept(p: Problem, b, g, up, down) -> float:
    """The mean of −u over rows between their bounds, or the middle of the gap."""
    free = (b > p.lo) & (b < p.hi) & (b != 0)
    if free.any():
        return float(-(g + up)[free].mean())
    return float(-0.5 * ((g + up).min() + (g + down).max()))
