"""What scikit-learn's `cv` means: a number of folds, a splitter, or an iterable of splits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError

Splits = Sequence[tuple[np.ndarray, np.ndarray]]
"""The indices of the training rows and of the held-out rows of each fold."""


def cv_splits(
    cv: Any, y: Any, X: Any = None, *, classes: bool, groups: Any = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The training rows and the held-out rows of each fold, as indices.

    Args:
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        y: (n,) or (n, q) targets.
        X: (n, d) inputs, for splitters that look at them.
        classes: whether y is a class; a number of folds is then stratified.
        groups: (n,) what each row belongs to, for splitters that keep groups together.
    """
    from sklearn.model_selection import check_cv  # takes a while to import

    splitter: Any = check_cv(cv, y, classifier=classes)
    rows = np.zeros(len(y)) if X is None else X
    every = np.arange(len(y))
    splits = splitter.split(rows, y, groups)
    return [(every[train], every[held_out]) for train, held_out in splits]


def training_weights(
    cv: Any, y: Any, w: Float[np.ndarray, " n"], *, classes: bool, groups: Any = None
) -> Float[np.ndarray, "j n"]:
    """One row of zeros and ones for each fold: 1 where a row is learned from.

    Args:
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        y: (n,) or (n, q) targets.
        w: row weights; each fold needs some on both sides.
        classes: whether y is a class.
        groups: (n,) what each row belongs to, for splitters that keep groups together.
    """
    splits = cv_splits(cv, y, classes=classes, groups=groups)
    train = np.zeros((len(splits), len(w)))
    for row, (rows, _) in zip(train, splits, strict=True):
        row[rows] = 1.0
    check_folds([(row > 0, row == 0) for row in train], w)
    return train


def check_folds(splits: Splits, w: Float[np.ndarray, " n"]) -> None:
    """Refuse folds without weight to learn from, or to be judged on.

    Args:
        splits: the training rows and the held-out rows of each fold, as indices or masks.
        w: row weights.
    """
    for j, (train, held_out) in enumerate(splits):
        if not (w[train].any() and w[held_out].any()):
            raise InputError(
                f"fold {j} has no weight to learn from or to be judged on; "
                "use fewer folds or other weights."
            )


def complementary_weights(splits: Splits, n: int) -> Float[np.ndarray, "j n"] | None:
    """One row of zeros and ones for each fold, where each holds out all the other rows.

    None where some fold leaves rows out of both sides (the future of a time series), or
    has a row twice: such folds are more than a row of zeros and ones.

    Args:
        splits: the indices of the training rows and of the held-out rows of each fold.
        n: rows.
    """
    train = np.zeros((len(splits), n))
    for row, (rows, held_out) in zip(train, splits, strict=True):
        row[rows] = 1.0
        counts = np.bincount(np.concatenate([rows, held_out]), minlength=n)
        if not (counts == 1).all():
            return None
    return train
