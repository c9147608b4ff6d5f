"""How rows are dealt out to folds and parts."""

from typing import Any

import numpy as np

from likely.core.checks import InputError, check_weights

Seed = None | int | np.random.RandomState | np.random.Generator


def row_weights(sample_weight: Any, n: int) -> np.ndarray:
    """(n,) weights, one each unless given."""
    w = np.ones(n) if sample_weight is None else np.asarray(sample_weight)
    return check_weights(w, n)


def generator_of(random_state: Seed) -> np.random.Generator:
    """A NumPy generator from whatever scikit-learn accepts as `random_state`."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def present_rows(w: np.ndarray, k: int) -> np.ndarray:
    """The rows that have weight: there must be k."""
    present = np.flatnonzero(w > 0)
    if len(present) < k:
        raise InputError(
            f"{len(present)} rows with weight cannot be parted in {k}; "
            "give fewer folds, or more rows."
        )
    return present


def by_class(present: np.ndarray, y: Any, rng: np.random.Generator) -> np.ndarray:
    """Rows in random order, class after class."""
    order = rng.permutation(present)
    label = np.unique(np.asarray(y)[order], return_inverse=True)[1]
    return order[np.argsort(label, kind="stable")]


def dealt(order: np.ndarray, n: int, k: int) -> np.ndarray:
    """(n,) folds dealt out in turn, −1 for the rows that are not in the order."""
    code = np.full(n, -1)
    code[order] = np.arange(len(order)) % k
    return code


def group_labels(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row's group as a number, and the rows of each group."""
    label = np.unique(groups, return_inverse=True)[1]
    return label, np.bincount(label)


def block_starts(time: np.ndarray, blocks: int) -> list:
    """Where blocks of sorted times begin."""
    cuts = [time[(i * len(time)) // blocks] for i in range(blocks)]
    if len(np.unique(cuts)) < blocks:
        raise InputError(f"there are too few different times for {blocks} blocks.")
    return cuts


def part_evenly(n: int, validation: float, test: float) -> np.ndarray:
    """0, 1, 2 for training, validation and test, spread evenly along the order."""
    part = np.where(_every(n, test), 2, 0)
    rest = np.flatnonzero(part == 0)
    part[rest[_every(len(rest), validation / (1 - test))]] = 1
    return part


def _every(n: int, share: float) -> np.ndarray:
    """(n,) whether each row in order is one of an even share."""
    return np.diff(np.round(np.arange(n + 1) * share)) > 0


def part_groups(
    groups: np.ndarray, validation: float, test: float, rng: np.random.Generator
) -> np.ndarray:
    """Whole groups in random order: the first are for testing, then validation."""
    label, sizes = group_labels(groups)
    order = rng.permutation(len(sizes))
    middle = (np.cumsum(sizes[order]) - sizes[order] / 2) / len(groups)
    part = np.empty(len(sizes), int)
    part[order] = np.where(middle < test, 2, np.where(middle < test + validation, 1, 0))
    return part[label]


def part_time(time: np.ndarray, validation: float, test: float) -> np.ndarray:
    """The last share of the times is for testing, the share before for validation."""
    ordered = np.sort(time)
    n = len(ordered)
    begins = [n - round(n * share) for share in (validation + test, test)]
    part = np.zeros(n, int)
    for number, begin in enumerate(begins, start=1):
        if begin < n:
            part[time >= ordered[begin]] = number
    return part
