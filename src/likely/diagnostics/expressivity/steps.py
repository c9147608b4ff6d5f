r"""Universal approximation by steep sigmoids: bumps of two units each.

**Finite points** $s_1 < \dots < s_N$: $\sum_i f(s_i)\,[σ(c(x - l_i)) - σ(c(x - r_i))]$ with walls
$l_i, r_i$ half way to the neighbours. At a point each of the 2N units is off by at most
$σ(-cg/2)$, g the smallest gap, so that $c = \frac2g \log\frac{2\sum|f|}{ε}$ is steep enough.

**An interval** [a, b], f with Lipschitz constant L: N = ⌈L(b − a)/ε⌉ cells of width w ≤ ε/L, the
bump of each as high as f in its middle. In the middle of a step the sum is a mean of the two
neighbours, which are ε/2 away at most; what the transitions and tails add is below ε/2 from
$cw = 20$ on. The walls at both ends stand outside. 2N units, about $2L(b - a)/ε$.

**A box** in $\mathbb{R}^q$: with walls on all axes, a *second* layer is needed, which finds where
several walls are passed at once: a sum of walls alone is as high in other places too. A unit
$σ(C(\sum_j h_j - q + \frac12))$ is on where all q walls are passed; with mixed differences of f
over the cells as weights these corners add up to a staircase. Where walls meet, some corners are
counted and others not yet: the sum is then the value of one cell plus a few differences of
neighbours, each at most Lw: none for q = 1, one for q = 2, three for q = 3. With the distance to
the middle of a cell the error is at most $(\frac{\sqrt q}2 + \{0, 1, 3\}) L w$, which fixes w.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.diagnostics.expressivity.approximation import (
    Approximation,
    Target,
    approximation_of,
    checked_epsilon,
)

STEEPNESS = 20.0
"""c times the width of a cell."""
MEETINGS = {1: 0, 2: 1, 3: 3}
"""Differences of neighbouring cells by which a staircase can be off where walls meet."""
TRANSITIONS = 1.1
"""What the width of walls and the tails of units add, as a factor."""
MAX_CELLS = 20_000


def finite_network(points: Any, values: Any, epsilon: Any = 1e-3) -> Approximation:
    """A network with the given values at finitely many points, to a given error.

    Args:
        points: (n,) different numbers.
        values: (n,) the values there, or a function of numbers.
        epsilon: the largest error at a point.
    """
    epsilon = checked_epsilon(epsilon)
    x = np.asarray(points, np.float64).ravel()
    y = np.asarray(values(x) if callable(values) else values, np.float64).ravel()
    if not len(x) or x.shape != y.shape or len(np.unique(x)) < len(x):
        raise InputError("give different points, and a value for each of them.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("points and values have to be finite numbers.")
    order = np.argsort(x)
    x, y = x[order], y[order]
    gaps = np.diff(x)
    ends = (gaps[0], gaps[-1]) if len(gaps) else (1.0, 1.0)
    half = np.r_[ends[0], gaps, ends[1]] / 2
    steep = 1 / half.min() * np.log(2 * max(np.abs(y).sum(), epsilon) / epsilon)
    left, right = x - half[:-1], x + half[1:]
    walls = np.concatenate([left, right])
    target = Target(lambda at: np.interp(at, x, y), x[0] - half[0], x[-1] + half[-1])
    return approximation_of(
        target,
        [
            (np.full((1, len(walls)), steep), -steep * walls),
            (np.r_[y, -y][:, None], [0.0]),
        ],
        "sigmoid",
        kind=f"bumps at {len(x)} points",
        epsilon=epsilon,
        promised_units=2 * len(x),
        points=x[:, None],
    )


def interval_network(
    f: Callable,
    low: Any,
    high: Any,
    epsilon: Any,
    *,
    lipschitz: Any = None,
) -> Approximation:
    """A network of one hidden layer that is within ε of a function on an interval.

    Args:
        f: a continuous function, called with (n,) arrays.
        low: the lower end.
        high: the upper end.
        epsilon: the largest error that is allowed.
        lipschitz: the Lipschitz constant of f; None measures it on a grid.
    """
    target, epsilon = Target(f, low, high), checked_epsilon(epsilon)
    L, assumed = target.lipschitz(lipschitz)
    n = _cells(L * float(target.width[0]) / epsilon)
    w = float(target.width[0]) / n
    c = STEEPNESS / w
    borders = target.low[0] + w * np.arange(n + 1)
    v = target((borders[:-1] + w / 2)[:, None])
    outside = np.log(100 * (np.abs(v).max() + epsilon) / epsilon) / c
    walls = borders.copy()
    walls[0], walls[-1] = borders[0] - outside, borders[-1] + outside
    inner = np.r_[walls[:-1], walls[1:]]
    offsets = np.linspace(-6, 6, 25) / c
    return approximation_of(
        target,
        [(np.full((1, 2 * n), c), -c * inner), (np.r_[v, -v][:, None], [0.0])],
        "sigmoid",
        kind=f"{n} steps",
        epsilon=epsilon,
        promised_units=2 * n,
        assumed=assumed,
        critical=(borders[:, None] + offsets).reshape(-1, 1),
    )


def box_network(
    f: Callable,
    low: Any,
    high: Any,
    epsilon: Any,
    *,
    lipschitz: Any = None,
) -> Approximation:
    """A network of two hidden layers that is within ε of a function on a box.

    Args:
        f: a continuous function, called with (n, q) arrays.
        low: the lower ends.
        high: the upper ends.
        epsilon: the largest error that is allowed.
        lipschitz: the Lipschitz constant of f in Euclidean distance; None measures it.
    """
    target, epsilon = Target(f, low, high), checked_epsilon(epsilon)
    q = target.dimension
    if q not in MEETINGS:
        raise InputError(
            f"the function has {q} inputs; boxes of 1 to 3 are built, for the number of cells "
            "grows like ε^−q."
        )
    L, assumed = target.lipschitz(lipschitz)
    slack = TRANSITIONS * (np.sqrt(q) / 2 + MEETINGS[q])
    counts = [_cells(slack * L * w / epsilon) for w in target.width]
    if np.prod(counts) > MAX_CELLS:
        raise InputError(
            f"an error of {epsilon:g} takes {int(np.prod(counts)):,} cells; give a larger epsilon "
            f"(at most {MAX_CELLS:,} cells), or fewer inputs."
        )
    sides = [
        a + w / n * np.arange(n)
        for a, w, n in zip(target.low, target.width, counts, strict=True)
    ]
    widths = target.width / counts
    middles = [s + w / 2 for s, w in zip(sides, widths, strict=True)]
    cells = np.stack(np.meshgrid(*middles, indexing="ij"), -1).reshape(-1, q)
    v = target(cells).reshape(counts)
    jumps = _mixed_differences(v)
    layers = _corners(sides, widths, jumps, epsilon)
    beside = [
        np.sort(np.r_[s, (s[:, None] + w * np.array([-0.3, -0.1, 0.1, 0.3])).ravel()])
        for s, w in zip(sides, widths, strict=True)
    ]
    critical = np.stack(np.meshgrid(*beside, indexing="ij"), -1).reshape(-1, q)
    return approximation_of(
        target,
        layers,
        "sigmoid",
        kind=f"{' × '.join(map(str, counts))} cells",
        epsilon=epsilon,
        promised_units=sum(counts) + int(np.prod(counts)),
        assumed=assumed,
        critical=critical[:: max(1, len(critical) // 40_000)],
    )


def _cells(number: float) -> int:
    n = max(1, int(np.ceil(number * (1 - 1e-12))))
    if n > MAX_CELLS:
        raise InputError(
            f"this error takes {n:,} cells; give a larger epsilon (at most {MAX_CELLS:,})."
        )
    return n


def _mixed_differences(v: np.ndarray) -> np.ndarray:
    """What is added at each corner: the differences of v along every axis."""
    for axis in range(v.ndim):
        v = np.diff(v, axis=axis, prepend=np.zeros_like(np.take(v, [0], axis)))
    return v


def _corners(
    sides: list, widths: np.ndarray, jumps: np.ndarray, epsilon: float
) -> list:
    """Walls of all axes, then a unit for each corner, then the staircase."""
    q, total = len(sides), np.abs(jumps).sum()
    tail = 200 * (total + epsilon) / epsilon
    inner, bias = np.zeros((q, sum(map(len, sides)))), []
    at = 0
    for i, (side, w) in enumerate(zip(sides, widths, strict=True)):
        c = 2 * np.log(tail * q) / (0.02 * w)  # a wall is a fiftieth of a cell wide
        walls = side.copy()
        walls[0] -= 0.5 * w  # so that it is passed everywhere
        inner[i, at : at + len(side)] = c
        bias.append(-c * walls)
        at += len(side)
    starts = np.cumsum([0, *map(len, sides)])
    C = 2 * np.log(tail)
    second = np.zeros((inner.shape[1], jumps.size))
    for k, corner in enumerate(product(*[range(len(s)) for s in sides])):
        second[[starts[i] + j for i, j in enumerate(corner)], k] = C
    threshold = np.full(jumps.size, -C * (q - 0.5))
    return [
        (inner, np.concatenate(bias)),
        (second, threshold),
        (jumps.reshape(-1, 1), [0.0]),
    ]
