"""Held-out fits of models whose columns have places: knots and ranges are learned too.

A basis decides from the rows where its knots lie, so they belong to the fit: in every
fold they come from the rows that teach. Such folds run one after another, through one
compiled program; folds that need fewer columns are filled up with zeros.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import jax
import numpy as np
from jaxtyping import Float, PyTree

from likely.estimators.linear import held_out
from likely.typing import Batch, Key, Learner

_INPUTS: WeakKeyDictionary[Any, np.ndarray] = WeakKeyDictionary()


@runtime_checkable
class WideningLearner(Learner, Protocol):
    """A learner that has to know how many columns there are."""

    def widened(self, extra: int) -> Learner:
        """The same for rows with this many columns of zeros at the end."""
        ...


def remember_inputs(estimator: Any, X: np.ndarray) -> None:
    """Keep the columns before they are expanded, until the folds have asked for them."""
    _INPUTS[estimator] = X


def forget_inputs(estimator: Any) -> None:
    """Let them go."""
    _INPUTS.pop(estimator, None)


def fits(
    estimator: Any,
    learner: Learner,
    key: Key,
    hypers: Mapping[str, Any],
    batch: Batch,
    *,
    train: Float[np.ndarray, "j n"],
) -> tuple[PyTree, Float[np.ndarray, "m j"]]:
    """`held_out.fits`, with the places of each fold from its own rows."""
    X = _INPUTS.get(estimator)
    if X is None:
        return held_out.fits(learner, key, hypers, batch, train)
    judge = partial(_judge, key=key, hypers=hypers, batch=batch)
    parts, width = [], None
    for t in train:  # one after the other: columns may be large
        fold = _fold(estimator, X, batch, t)
        if width not in (None, fold[1].shape[1]):
            break
        width = fold[1].shape[1]
        parts.append(judge(*fold, t, width))
        del fold
    else:
        return _joined(parts)
    folds = [_fold(estimator, X, batch, t) for t in train]
    most = max(columns.shape[1] for _, columns in folds)
    return _joined(
        [judge(*fold, t, most) for fold, t in zip(folds, train, strict=True)]
    )


def _judge(
    own: Learner,
    columns: np.ndarray,
    t: np.ndarray,
    width: int,
    *,
    key: Key,
    hypers: Mapping[str, Any],
    batch: Batch,
) -> tuple[PyTree, Float[np.ndarray, "m 1"]]:
    """φ and held-out nats of one fold, its columns filled up to a width."""
    extra = width - columns.shape[1]
    if extra:
        columns = np.pad(columns, ((0, 0), (0, extra)))
    x = (columns, *batch.x[1:]) if isinstance(batch.x, tuple) else columns
    own = own.widened(extra) if isinstance(own, WideningLearner) else own
    return held_out.fits(own, key, hypers, batch._replace(x=x), t[None])


def _joined(parts: list) -> Any:
    """Results of several folds along their axis."""
    return jax.tree.map(lambda *a: np.concatenate(a, 1), *parts)


def _fold(estimator: Any, X: np.ndarray, batch: Batch, t: np.ndarray):
    """The learner and the columns of a fold."""
    own = object.__new__(type(estimator))
    vars(own).update(vars(estimator))
    columns = own._expand(X, batch.w * t)
    forget_inputs(own)
    return own._learner(batch.y), columns
