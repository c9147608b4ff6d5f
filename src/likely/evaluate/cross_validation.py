"""What scikit-learn's `cv` means: a number of folds, a splitter, or an iterable of splits."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.evaluate.splits import Folds

Splits = Sequence[tuple[np.ndarray, np.ndarray]]
"""The indices of the training rows and of the held-out rows of each fold."""


def cv_splits(
    cv: Any, y: Any, X: Any = None, *, classes: bool, groups: Any = None, w: Any = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The training rows and the held-out rows of each fold, as indices.

    A number of folds, or a splitter, splits the rows that have weight: absent rows are in
    no fold, and the others have the folds that they would have without them. Splits that
    name rows (an iterable of indices, `PredefinedSplit`) are taken as they are.

    Args:
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        y: (n,) or (n, q) targets.
        X: (n, d) inputs, for splitters that look at them.
        classes: whether y is a class; a number of folds is then stratified.
        groups: (n,) what each row belongs to, for splitters that keep groups together; a
            number of folds does.
        w: (n,) row weights; None where all rows are present.
    """
    from sklearn.model_selection import PredefinedSplit  # slow to import
    from sklearn.utils import _safe_indexing

    every = np.arange(len(y))
    named = isinstance(cv, PredefinedSplit) or not (
        hasattr(cv, "split") or cv is None or isinstance(cv, Integral)
    )
    present = every if named or w is None else np.flatnonzero(w)
    rows = np.zeros(len(y)) if X is None else X
    if len(present) < len(every):
        rows, y = _safe_indexing(rows, present), np.asarray(y)[present]
        groups = None if groups is None else np.asarray(groups)[present]
    splits = _splitter(cv, y, classes, groups).split(rows, y, groups)
    return [(present[train], present[held_out]) for train, held_out in splits]


def _splitter(cv: Any, y: np.ndarray, classes: bool, groups: Any) -> Any:
    """scikit-learn's splitter; a number of folds keeps groups together where there are any."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv

    if cv is None or isinstance(cv, Integral):
        cv = 5 if cv is None else int(cv)
        n, what = len(y), "sample"
        if groups is not None:
            n, what = len(np.unique(np.asarray(groups))), "group"
        if n < cv:
            most = f"a cv of at most {n}" if n > 1 else f"two {what}s or more"
            raise InputError(
                f"{n} {what}{'s' * (n != 1)} cannot be split into {cv} folds; give {most}."
            )
        if groups is not None:
            kind = StratifiedGroupKFold if classes else GroupKFold
            return kind(n_splits=cv)
    check: Any = check_cv
    return check(cv, y, classifier=classes)


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
    splits = cv_splits(cv, y, classes=classes, groups=groups, w=w)
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


def fold_counts(splits: Splits, w: Float[np.ndarray, " n"]) -> Folds:
    """How often each present row is learned from and held out, in each fold.

    Rows may be on neither side (the future of a time series), or on one of them several
    times (draws with replacement).

    Args:
        splits: the indices of the training rows and of the held-out rows of each fold.
        w: row weights.
    """
    n, here = len(w), w > 0
    train, held_out = (
        np.array([np.bincount(np.asarray(side), minlength=n)[here] for side in sides])
        for sides in zip(*splits, strict=True)
    )
    return Folds(train.astype(float), held_out.astype(float))
