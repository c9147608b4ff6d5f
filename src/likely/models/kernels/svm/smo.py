r"""Sequential minimal optimisation of the dual of support vector machines.

One problem serves classification and regression. With one signed weight β for each row,

$$\min_β\; \tfrac12 β^\top Kβ - c^\top β + ε\lVert β\rVert_1, \qquad
  \sum_i β_i = 0,\quad l_i \le β_i \le h_i,\qquad l_i \le 0 \le h_i.$$

Classification: c = y = ±1, ε = 0, β = yα with 0 ≤ α ≤ C, so one of l, h is zero.
Regression: c = y, −C ≤ β ≤ C, and ε the half-width of the tube. With g = Kβ − c, moving
β_i up costs $u_i = g_i \pm ε$ for each unit (∞ at the upper end), moving β_j down gains
$d_j = g_j \pm ε$ (−∞ at the lower end). β is optimal where max d − min u ≤ 0. Each step moves
the pair (i, j) with i = argmin u and j that promises most to second order,
$(d_j - u_i)^2 / (K_{ii} + K_{jj} - 2K_{ij})$.

Rows that sit at an end and would like to go beyond it are left out for a while
(shrinking): the arrays and the cached rows of K are packed, and g of the others is made
again from β at the end. Rows of K are kept in a cache of fixed size, in double
precision (those not asked for since the hand last came by make place).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from likely.models.kernels.svm.rows import PRECOMPUTED
from likely.models.kernels.svm.steps import descend, move_rows, weigh

CONVERGED, STEP_LIMIT, UNBOUNDED, ROUNDING = range(4)
HULLS_MEET = 1e-10
PAUSE, WORTH_PACKING = 1000, 0.8


@dataclass(frozen=True)
class Problem:
    """The dual: K by its kernel and inputs, c, ε and the ends of β."""

    kernel: tuple[int, float, float, float]
    XT: Float[np.ndarray, "d n"]
    """Inputs as `rows` wants them; K itself where it is precomputed."""
    norms: Float[np.ndarray, " n"]
    diagonal: Float[np.ndarray, " n"]
    c: Float[np.ndarray, " n"]
    lo: Float[np.ndarray, " n"]
    hi: Float[np.ndarray, " n"]
    eps: float = 0.0


@dataclass(frozen=True)
class Solved:
    """β, the slope g, and how it went."""

    b: Float[np.ndarray, " n"]
    g: Float[np.ndarray, " n"]
    intercept: float
    gap: float
    steps: int
    status: int


@dataclass(frozen=True)
class Taking:
    """The rows that take part, as the compiled steps want them, and cached rows."""

    active: tuple
    values: tuple
    cache: tuple

    @property
    def bounds(self) -> tuple[float, float]:
        """min u and max d."""
        g, up, down = self.values[0], self.values[4], self.values[5]
        return float((g + up).min()), float((g + down).max())


class Plan(NamedTuple):
    """When to stop: the gap, the step limit; whether to shrink; whether C is infinite."""

    tol: float
    max_steps: int
    shrink: bool
    hard: bool


def solve(
    problem: Problem, *, tol: float, cache_bytes: float, max_steps: int, shrink: bool
) -> Solved:
    """Minimise; the gap max d − min u certifies the answer."""
    p, n = problem, len(problem.c)
    plan = Plan(float(tol), max_steps, shrink, not np.isfinite(p.hi - p.lo).all())
    store = np.empty(n * int(np.clip(cache_bytes // (8 * n), 2, n)))
    b, g = np.zeros(n), -p.c
    steps, looked = 0, not shrink
    while True:
        up, down = _slopes(p, b)
        values = (g, b, p.lo, p.hi, up, down, p.diagonal)
        part = Taking((p.XT, p.norms, np.arange(n)), values, _empty(store, n))
        before = steps
        part, steps = _run(p, part, b, plan, steps, looked)
        b, g = _whole(p, part, b, g)
        up, down = _slopes(p, b)
        gap = float((g + down).max() - (g + up).min())
        status = _verdict(p, plan, b, g, gap, steps)
        if status is None and steps == before:
            status = ROUNDING  # no pair promises anything in floating point
        if status is not None:
            return Solved(b, g, _intercept(p, b, g, up, down), gap, steps, status)
        looked = True


def _run(p: Problem, part: "Taking", b, plan: Plan, steps: int, looked: bool):  # noqa: PLR0917
    """Steps, with fewer and fewer rows, until these seem done: the rows and the count.

    The first time that all is nearly done, too, so that rows left out too early come back.
    """
    while True:
        count = min(plan.max_steps - steps, 10 * PAUSE)
        count = min(count, PAUSE, len(b)) if plan.shrink else count
        limits = (float(p.eps), plan.tol, count)
        _, taken = descend(p.kernel, part.active, part.values, part.cache, limits)
        steps += taken
        low, high = part.bounds
        near = high - low <= (plan.tol if looked else 10 * plan.tol)
        if near or taken < count or steps >= plan.max_steps:
            return part, steps
        if plan.hard and _hulls_meet(p, part):
            return part, steps
        if plan.shrink:
            b[part.active[2]] = part.values[1]
            part = _packed(part, _may_move(part.values, low, high))


def _slopes(p: Problem, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What moving β up or down adds to g; infinite at an end."""
    up = np.where(b >= p.hi, np.inf, np.where(b >= 0, p.eps, -p.eps))
    down = np.where(b <= p.lo, -np.inf, np.where(b > 0, p.eps, -p.eps))
    return up, down


def _empty(store: np.ndarray, n: int) -> tuple:
    slots = min(len(store) // n, n)
    return (
        store,
        np.full(n, -1),
        np.full(slots, -1),
        np.zeros(slots, bool),
        np.zeros(1, int),
    )


def _may_move(values: tuple, low: float, high: float) -> Bool[np.ndarray, " n"]:
    """Not those that can move one way only, and would lose by it."""
    g, up, down = values[0], values[4], values[5]
    return ~((g + up > high) & (g + down < low))


def _packed(part: Taking, keep: Bool[np.ndarray, " n"]) -> Taking:
    """The same with these rows alone, if that is worth while."""
    rows = np.flatnonzero(keep)
    n, m = len(keep), len(rows)
    if m > WORTH_PACKING * n or m < 2:
        return part
    XT, norms, origin = part.active
    store, _, owner, _, _ = part.cache
    slots = np.flatnonzero((owner >= 0) & keep[owner])
    place = np.full(n, -1)
    place[rows] = np.arange(m)
    move_rows(store, n, slots, rows)
    cache = _empty(store, m)
    owners = place[owner[slots]]
    cache[1][owners] = np.arange(len(slots))
    cache[2][: len(slots)] = owners
    cache[4][0] = len(slots) % len(cache[2])
    active = (np.ascontiguousarray(XT[:, rows]), norms[rows], origin[rows])
    return Taking(active, tuple(v[rows] for v in part.values), cache)


def _whole(p: Problem, part: Taking, b: np.ndarray, g: np.ndarray) -> tuple:
    """β and g of all rows: those left out get their g from β."""
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
            total = weigh(p.kernel, XT, p.norms[out], others, b[support])
        g[out] = total - p.c[out]
    return b, g


def _hulls_meet(p: Problem, part: Taking) -> bool:
    g, b = part.values[:2]
    return _meeting(b, g, p.c[part.active[2]], p.diagonal)


def _meeting(b: np.ndarray, g: np.ndarray, c: np.ndarray, diagonal: np.ndarray) -> bool:
    """Whether both sides together weigh far more than the normal that they make.

    Without upper ends the dual has no minimum exactly where the hulls of the two
    classes meet: then Σ|β| grows while ‖w‖² = βᵀKβ does not.
    """
    total = np.abs(b).sum()
    return bool(b @ (g + c) < HULLS_MEET * diagonal.max() * total**2)


def _verdict(p: Problem, plan: Plan, b, g, gap: float, steps: int) -> int | None:  # noqa: PLR0917
    """How it ended, if it did."""
    if gap <= plan.tol:
        return CONVERGED
    if plan.hard and _meeting(b, g, p.c, p.diagonal):
        return UNBOUNDED
    return STEP_LIMIT if steps >= plan.max_steps else None


def _intercept(p: Problem, b, g, up, down) -> float:
    """The mean of −u over rows between their ends; else halfway through the gap."""
    free = (b > p.lo) & (b < p.hi) & (b != 0)
    if free.any():
        return float(-(g + up)[free].mean())
    return float(-0.5 * ((g + up).min() + (g + down).max()))
