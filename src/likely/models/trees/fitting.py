"""Growing one tree from Python: statistics of rows, limits, and values of leaves."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from likely.core.checks import InputError
from likely.models.trees.bins import Bins
from likely.models.trees.ensemble import Grown
from likely.models.trees.fixed_point import fixed_products, fixed_weights

GINI, ENTROPY, SQUARED, POISSON, NORMAL, NEWTON = range(6)
CRITERIA = {"gini": GINI, "entropy": ENTROPY, "log_loss": ENTROPY}
MAX_DRAWS = 64
"""How often a bootstrap may draw a row without an overflow of sums."""
NO_LABEL = np.zeros(0, np.int32)


class TreeLimits(NamedTuple):
    """The limits of one tree; gains are in units of the criterion."""

    max_depth: int
    max_leaves: int
    max_features: int
    min_leaf: float
    min_split: float
    min_gain: float


class Task(NamedTuple):
    """The statistics of rows on which a tree is grown.

    Attributes:
        stats: (n, m) statistics as integers, the weight first.
        label: (n,) class numbers; empty without classes.
        units: the units of the statistics.
        criterion: the number of the splitting criterion.
        n_stats: how many statistics the criterion needs.
        n_classes: the number of classes; 0 without classes.
        centre: the number that was subtracted from the targets.
    """

    stats: Int[np.ndarray, "n m"]
    label: Int[np.ndarray, " l"]
    units: Float[np.ndarray, " u"]
    criterion: int
    n_stats: int
    n_classes: int = 0
    centre: float = 0.0

    def drawn(self, counts: Int[np.ndarray, " n"]) -> "Task":
        """The task with each row counted as often as a bootstrap drew it."""
        return self._replace(stats=self.stats * np.minimum(counts, MAX_DRAWS)[:, None])


def class_task(
    y: Float[np.ndarray, " n"],
    w: Float[np.ndarray, " n"],
    n_classes: int,
    criterion: Any,
) -> Task:
    """The task of rows with class numbers."""
    if criterion not in CRITERIA:
        raise InputError(f"criterion is {criterion!r}; give one of {list(CRITERIA)}.")
    whole, unit = fixed_weights(w)
    return Task(
        whole[:, None],
        y.astype(np.int32),
        np.array([unit]),
        CRITERIA[criterion],
        n_classes,
        n_classes,
    )


def moment_task(y: Float[np.ndarray, " n"], w: Float[np.ndarray, " n"]) -> Task:
    """The task of rows with numbers: weight, first and second moments about the mean."""
    whole, unit = fixed_weights(w)
    centre = float(np.average(y, weights=w))
    r = y - centre
    scale = float(np.abs(r).max(initial=0.0)) or 1.0
    first, unit1 = fixed_products(r, whole, unit, MAX_DRAWS)
    second, unit2 = fixed_products((r / scale) ** 2, whole, unit, MAX_DRAWS)
    stats = np.stack([whole, first, second], axis=1)
    units = np.array([unit, unit1, unit2 * scale**2])
    return Task(stats, NO_LABEL, units, SQUARED, 2, centre=centre)


def grow(  # noqa: PLR0917
    bins: Bins,
    codes: np.ndarray,
    task: Task,
    limits: TreeLimits,
    seed: int,
    values: Callable[[Task, np.ndarray], np.ndarray],
) -> Grown:
    """Grow one tree on the rows that have weight."""
    rows = np.flatnonzero(task.stats[:, 0]).astype(np.int32)
    nodes, set_at, sets, about, sums = call_kernel(
        bins, codes, rows, task, limits, seed
    )
    return Grown(nodes, set_at, sets, values(task, sums), about[:, 1], about[:, 0])


def call_kernel(  # noqa: PLR0917
    bins: Bins,
    codes: np.ndarray,
    rows: Int[np.ndarray, " r"],
    task: Task,
    limits: TreeLimits,
    seed: int,
    min_variance: float = 0.0,
) -> tuple[np.ndarray, ...]:
    """`grow.grow_tree` on some rows, which end up in the order of the leaves."""
    from likely.models.trees.grow import grow_tree

    best_first = limits.max_leaves < 2**31 - 1
    sizes = (limits.max_depth, limits.max_leaves, limits.max_features, best_first)
    kind = (task.criterion, task.n_classes, task.n_stats)
    return grow_tree(
        codes,
        rows,
        np.ascontiguousarray(task.stats),
        task.label,
        bins.categorical,
        np.array([*sizes, *kind], np.int64),
        np.array([limits.min_leaf, limits.min_split, limits.min_gain, min_variance]),
        task.units,
        np.uint64(seed),
    )


def class_values(task: Task, sums: Int[np.ndarray, "N c"]) -> np.ndarray:
    """The frequencies of the classes in each node."""
    return sums / np.maximum(sums.sum(axis=1, keepdims=True), 1)


def normal_values(task: Task, sums: Int[np.ndarray, "N 3"]) -> np.ndarray:
    """The mean and the variance of each node."""
    w, s, q = (sums * task.units).T
    mean = s / w
    return np.stack([mean + task.centre, np.maximum(q / w - mean**2, 0.0)], axis=1)
