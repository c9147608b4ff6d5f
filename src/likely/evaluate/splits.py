r"""Splits and folds as weights: what is held out has weight 0.

The rows are never cut apart: a split is weights for training and weights for what is held
out, so a hundred of them are one `vmap`. A user's weights are multiplied in. Rows of
weight 0 belong to no fold, and without them the others have the same folds.

    plain       each row alone, shuffled
    stratified  the same share of each class in every fold
    grouped     rows that belong together stay together: couples, patients
    by time     the past trains, the future is held out
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from likely.core.checks import InputError, check_weights
from likely.evaluate.assignment import (
    Seed,
    block_starts,
    by_class,
    even_parts,
    folds_along,
    generator_of,
    group_labels,
    group_parts,
    present_rows,
    time_parts,
)


class Folds(NamedTuple):
    """The training and held-out weights of m folds.

    Examples:
        >>> folds = lk.evaluate.k_fold(4, 2, random_state=0)
        >>> (folds.train + folds.held_out).tolist()
        [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """

    train: Float[np.ndarray, "m n"]
    held_out: Float[np.ndarray, "m n"]

    @property
    def numbers(self) -> Int[np.ndarray, " n"]:
        """The last fold that holds each row out; −1 for rows that are never held out."""
        fold = np.full(self.held_out.shape[1], -1)
        for number, weights in enumerate(self.held_out):
            fold[weights > 0] = number
        return fold


class Split(NamedTuple):
    """The weights of three parts of the rows: to learn from, to choose by, to judge by."""

    train: Float[np.ndarray, " n"]
    validation: Float[np.ndarray, " n"]
    test: Float[np.ndarray, " n"]


def k_fold(
    n: int, k: int = 5, *, sample_weight: Any = None, random_state: Seed = None
) -> Folds:
    """k folds of rows in random order; each row is held out exactly once.

    Args:
        n: rows.
        k: folds.
        sample_weight: the weights of the rows, multiplied in.
        random_state: seed or NumPy generator.

    Examples:
        >>> folds = lk.evaluate.k_fold(6, 3, random_state=0)
        >>> print(folds.train.sum(axis=1), folds.held_out.sum(axis=0))
        [4. 4. 4.] [1. 1. 1. 1. 1. 1.]
    """
    return repeated_k_fold(
        n, k, repeats=1, sample_weight=sample_weight, random_state=random_state
    )


def repeated_k_fold(
    n: int,
    k: int = 5,
    *,
    repeats: int = 10,
    sample_weight: Any = None,
    random_state: Seed = None,
) -> Folds:
    """k folds, several times over: (k · repeats, n) weights.

    Examples:
        >>> lk.evaluate.repeated_k_fold(6, 3, repeats=2, random_state=0).train.shape
        (6, 6)
    """
    w, rng = check_weights(sample_weight, n), generator_of(random_state)
    present = present_rows(w, k)
    codes = [folds_along(rng.permutation(present), n, k) for _ in range(repeats)]
    return _folds(codes, w, k)


def stratified_k_fold(
    y: Any, k: int = 5, *, sample_weight: Any = None, random_state: Seed = None
) -> Folds:
    """k folds with the same share of each class, as far as whole rows allow.

    Args:
        y: the class of each row, of any type.
        k: folds.
        sample_weight: the weights of the rows, multiplied in.
        random_state: seed or NumPy generator.

    Examples:
        >>> folds = lk.evaluate.stratified_k_fold(np.array([0, 0, 0, 1, 1, 1]), 3, random_state=0)
        >>> folds.held_out @ np.array([0, 0, 0, 1, 1, 1])
        array([1., 1., 1.])
    """
    w, rng = check_weights(sample_weight, len(y)), generator_of(random_state)
    present = present_rows(w, k)
    return _folds([folds_along(by_class(present, y, rng), len(w), k)], w, k)


def grouped_k_fold(
    groups: Any, k: int = 5, *, sample_weight: Any = None, random_state: Seed = None
) -> Folds:
    """k folds of whole groups, as even in rows as they can be.

    Args:
        groups: what each row belongs to, of any type.
        k: folds, at most as many as groups.
        sample_weight: the weights of the rows, multiplied in.
        random_state: seed or NumPy generator.

    Examples:
        >>> folds = lk.evaluate.grouped_k_fold(np.array([1, 1, 2, 2, 3, 3]), 3, random_state=0)
        >>> folds.held_out.sum(axis=1)
        array([2., 2., 2.])
    """
    w, rng = check_weights(sample_weight, len(groups)), generator_of(random_state)
    present = present_rows(w, k)
    label, sizes = group_labels(np.asarray(groups)[present])
    if len(sizes) < k:
        raise InputError(f"there are {len(sizes)} groups; give at most as many folds.")
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled, fold = np.zeros(k), np.zeros(len(sizes), int)
    for group in order:  # the largest first, each to the smallest fold
        fold[group] = np.argmin(filled)
        filled[fold[group]] += sizes[group]
    code = np.full(len(w), -1)
    code[present] = fold[label]
    return _folds([code], w, k)


def time_folds(
    time: Any,
    k: int = 5,
    *,
    gap: Any = None,
    window: Any = None,
    sample_weight: Any = None,
) -> Folds:
    """k folds in order of time: earlier rows train, the next block is held out.

    The rows are cut into k + 1 blocks; the first is never held out. Rows of the same
    time stay together.

    Args:
        time: the time of each row, numbers or datetime64, in any order.
        k: folds.
        gap: rows this close before the held-out ones are left out of training.
        window: train on no more than this much time; on all of the past where None.
        sample_weight: the weights of the rows, multiplied in.

    Examples:
        >>> folds = lk.evaluate.time_folds(np.arange(8), 3)
        >>> print(folds.train.sum(axis=1), folds.held_out.sum(axis=1))
        [2. 4. 6.] [2. 2. 2.]
    """
    time = np.asarray(time)
    w = check_weights(sample_weight, len(time))
    present = present_rows(w, k + 1)
    cuts = block_starts(np.sort(time[present]), k + 1)
    train, held_out = [], []
    for start, end in zip(cuts[1:], [*cuts[2:], None], strict=True):
        last = start if gap is None else start - gap
        known = time < last
        if window is not None:
            known &= time >= last - window
        later = time >= start if end is None else (time >= start) & (time < end)
        train.append(known * w)
        held_out.append(later * w)
    if not all(side.sum() > 0 for side in train):
        raise InputError("gap leaves no row to train on in some fold; make it smaller.")
    return Folds(np.array(train), np.array(held_out))


def train_validation_test(
    n: int,
    validation: float = 0.2,
    test: float = 0.2,
    *,
    y: Any = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    random_state: Seed = None,
) -> Split:
    """Three parts of the rows, at random or by one of the three arguments.

    Args:
        n: rows.
        validation: the share of rows to choose models by; may be 0.
        test: the share of rows to judge the chosen one by; may be 0.
        y: classes, of which each part gets its share.
        groups: rows of a group stay together.
        time: the last rows are for testing, those before for validation.
        sample_weight: the weights of the rows, multiplied in.
        random_state: seed or NumPy generator.

    Examples:
        >>> parts = lk.evaluate.train_validation_test(10, random_state=0)
        >>> print(parts.train.sum(), parts.validation.sum(), parts.test.sum())
        6.0 2.0 2.0
    """
    if min(validation, test) < 0 or not validation + test < 1:
        raise InputError(
            f"validation={validation} and test={test} leave nothing to train on; "
            "give shares of which the sum is below 1."
        )
    if sum(given is not None for given in (y, groups, time)) > 1:
        raise InputError("give only one of y, groups and time.")
    w, rng = check_weights(sample_weight, n), generator_of(random_state)
    present = present_rows(w, 1)
    code = np.full(n, -1)
    if groups is not None:
        code[present] = group_parts(np.asarray(groups)[present], validation, test, rng)
    elif time is not None:
        code[present] = time_parts(np.asarray(time)[present], validation, test)
    else:
        order = rng.permutation(present) if y is None else by_class(present, y, rng)
        code[order] = even_parts(len(order), validation, test)
    return Split(*((code == part) * w for part in range(3)))


def _folds(codes: list[np.ndarray], w: np.ndarray, k: int) -> Folds:
    if k < 2:
        raise InputError(f"k is {k}; give at least 2 folds.")
    held_out = np.concatenate([np.arange(k)[:, None] == code[None] for code in codes])
    return Folds(np.where(held_out, 0.0, w), np.where(held_out, w, 0.0))
