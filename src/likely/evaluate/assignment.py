"""The fold, or the part of a split, that each row is assigned to."""

from typing import Any

import numpy as np
from jaxtyping import Int

from likely.core.checks import InputError

Seed = None | int | np.random.RandomState | np.random.Generator


def random_folds(n: int, k: int, random_state: Any = None) -> Int[np.ndarray, " n"]:
    """The fold of each of n rows: k folds of about equal size, at random.

    Args:
        n: rows, all of which count.
        k: folds.
        random_state: seed or NumPy generator.

    Examples:
        >>> np.bincount(lk.evaluate.random_folds(10, 5, 0))
        array([2, 2, 2, 2, 2])
    """
    return generator_of(random_state).permutation(n) % k


def ordered_folds(n: int, k: int, *, classes: Any = None) -> Int[np.ndarray, " n"]:
    """The fold of each of n rows: 0, 1, ..., k − 1 in turn, in the order of the rows.

    Args:
        n: rows.
        k: folds.
        classes: (n,) the class of each row, of any type; the rows of each class are
            assigned in turn, so that every fold gets the same share of it.

    Examples:
        >>> lk.evaluate.ordered_folds(7, 3)
        array([0, 1, 2, 0, 1, 2, 0])
    """
    if classes is None:
        return np.arange(n) % k
    rank = np.empty(n, int)
    label, sizes = group_labels(np.asarray(classes))
    for number, size in enumerate(sizes):
        rank[label == number] = np.arange(size)
    return rank % k


def early_stopping_split(
    rows: Any, validation: float | int, random_state: Any
) -> tuple[Int[np.ndarray, " a"], Int[np.ndarray, " b"]]:
    """Rows to learn from, and rows on which to watch when to stop; both rising.

    Args:
        rows: how many there are, or the indices of those that count.
        validation: the share of rows to stop by, above 0 and below 1; at least one row.
        random_state: seed, or sequence of seeds, or NumPy generator.

    Examples:
        >>> learn, watch = lk.evaluate.early_stopping_split(10, 0.2, 0)
        >>> print(len(learn), len(watch))
        8 2
    """
    if not 0 < validation < 1:
        raise InputError(
            f"validation_fraction is {validation}; give a number between 0 and 1."
        )
    order = generator_of(random_state).permutation(rows)
    stop = max(1, round(validation * len(order)))
    if stop >= len(order):
        raise InputError(
            f"with {len(order)} sample{'s' * (len(order) != 1)} there is no row left to learn "
            "from; give more rows, or X_val and y_val."
        )
    return np.sort(order[stop:]), np.sort(order[:stop])


def generator_of(random_state: Any) -> np.random.Generator:
    """A NumPy generator from whatever scikit-learn accepts as `random_state`."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def present_rows(w: np.ndarray, k: int) -> np.ndarray:
    """The indices of the rows that have weight, of which there must be at least k."""
    present = np.flatnonzero(w > 0)
    if len(present) < k:
        raise InputError(
            f"{len(present)} rows with weight cannot be split into {k} parts; "
            "give fewer folds, or more rows."
        )
    return present


def by_class(present: np.ndarray, y: Any, rng: np.random.Generator) -> np.ndarray:
    """The present rows in random order, sorted by class."""
    order = rng.permutation(present)
    label = np.unique(np.asarray(y)[order], return_inverse=True)[1]
    return order[np.argsort(label, kind="stable")]


def folds_along(order: np.ndarray, n: int, k: int) -> np.ndarray:
    """The fold of each of n rows: in turn along an order, −1 for rows not in it."""
    fold = np.full(n, -1)
    fold[order] = np.arange(len(order)) % k
    return fold


def group_labels(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The group of each row as a number, and the number of rows of each group."""
    return np.unique(groups, return_inverse=True, return_counts=True)[1:]


def block_starts(time: np.ndarray, blocks: int) -> list:
    """The times at which blocks of equal size begin; `time` is sorted."""
    cuts = [time[(i * len(time)) // blocks] for i in range(blocks)]
    if len(np.unique(cuts)) < blocks:
        raise InputError(f"there are too few different times for {blocks} blocks.")
    return cuts


def even_parts(n: int, validation: float, test: float) -> np.ndarray:
    """The part (0 training, 1 validation, 2 test) of n rows, spread evenly."""
    part = np.where(_every(n, test), 2, 0)
    rest = np.flatnonzero(part == 0)
    part[rest[_every(len(rest), validation / (1 - test))]] = 1
    return part


def _every(n: int, share: float) -> np.ndarray:
    """Whether each of n rows is one of an evenly spread share."""
    return np.diff(np.round(np.arange(n + 1) * share)) > 0


def group_parts(
    groups: np.ndarray, validation: float, test: float, rng: np.random.Generator
) -> np.ndarray:
    """The part (0 training, 1 validation, 2 test) of each row, by whole groups at random."""
    label, sizes = group_labels(groups)
    order = rng.permutation(len(sizes))
    middle = (np.cumsum(sizes[order]) - sizes[order] / 2) / len(groups)
    part = np.empty(len(sizes), int)
    part[order] = np.where(middle < test, 2, np.where(middle < test + validation, 1, 0))
    return part[label]


def time_parts(time: np.ndarray, validation: float, test: float) -> np.ndarray:
    """The part (0 training, 1 validation, 2 test) of each row: the latest are for testing."""
    ordered = np.sort(time)
    n = len(ordered)
    begins = [n - round(n * share) for share in (validation + test, test)]
    part = np.zeros(n, int)
    for number, begin in enumerate(begins, start=1):
        if begin < n:
            part[time >= ordered[begin]] = number
    return part
