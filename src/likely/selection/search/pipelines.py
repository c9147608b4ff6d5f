"""The rows of a fold as the last step of a pipeline gets them."""

from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from likely.selection.members import weight_arguments
from likely.selection.refits import TableRows

Fold = tuple[np.ndarray, np.ndarray]


def last_step_rows(
    pipe: Pipeline, rows: TableRows, fold: Fold
) -> tuple[TableRows, Fold] | None:
    """Training rows and then held-out rows, transformed, and the fold among them.

    The steps before the last one are fitted to the training rows alone. None where they do
    not make numbers.

    Args:
        pipe: the pipeline; it is not changed.
        rows: all rows.
        fold: the indices of the training rows and of the held-out rows.
    """
    known, new = (rows.part(np.asarray(side)) for side in fold)
    inputs = known.X, new.X
    if len(pipe.steps) > 1:
        steps: Any = clone(pipe[:-1])
        w = {} if (known.w == 1).all() else weight_arguments(steps, known.w)
        inputs = steps.fit_transform(known.X, known.y, **w), steps.transform(new.X)
    X = _stacked(*inputs)
    if X is None:
        return None
    y, w = np.concatenate([known.y, new.y]), np.concatenate([known.w, new.w])
    place = np.arange(len(y))
    return TableRows(X, y, w), (place[: len(known.y)], place[len(known.y) :])


def _stacked(above: Any, below: Any) -> Any:
    """Both parts as one array of numbers, or None where they are not numbers."""
    if issparse(above):
        return vstack([above, below], format="csr")
    above, below = np.asarray(above), np.asarray(below)
    if above.dtype.kind not in "biuf":
        return None
    return np.concatenate([above, below])
