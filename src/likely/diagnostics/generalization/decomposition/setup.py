"""Training sets of a generator or of one table, and the points where their fits are judged."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from likely.base.rows import weights_of
from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.data.dataset import Dataset
from likely.diagnostics.generalization.decomposition.parts import MIN_FITS, Judged
from likely.diagnostics.generalization.refits.training_sets import (
    TrainingSets,
    bootstrap_sets,
    generated_sets,
)
from likely.diagnostics.generalization.refits.truth import (
    Generator,
    Truth,
    draw,
    truth_at,
)


class Setup(NamedTuple):
    """The training sets, and the points at which their fits are judged."""

    sets: TrainingSets
    X: Any
    """The inputs of the points."""
    y: np.ndarray
    truth: Truth
    judged: Judged
    of_table: bool
    """Whether the points are the rows of the table that the sets are parts of."""


def from_generator(
    source: Generator, n: int, m: int, test: Any, rng: np.random.Generator
) -> Setup:
    """Fresh training sets, and points that are drawn or given.

    Args:
        source: the generator.
        n: rows of a set.
        m: sets.
        test: how many points are drawn, or the points.
        rng: where randomness comes from.
    """
    sets = generated_sets(source, n, m, rng)
    fixed = not isinstance(test, int | np.integer)
    count = 1 if fixed else at_least("test", test, 2, whole=True)
    drawn = draw(source, int(count), rng)
    X, y = np.asarray(drawn.X), np.asarray(drawn.y)
    if fixed:
        X, y = _given_points(test)
    truth = truth_at(drawn.truth, X)
    if y is None:
        if truth.mean is None and truth.probs is None:
            raise InputError(
                "test holds points without y, and the generator does not say what y is "
                "there; give (X, y), or a number of points to draw."
            )
        y = np.full(len(X), drawn.y[0] if drawn.y is not None else 0)
    if X.shape[1:] != sets.X.shape[1:]:
        raise InputError(
            f"test has points of shape {X.shape[1:]}, and the generator rows of shape "
            f"{sets.X.shape[1:]}."
        )
    judged = Judged(np.ones((m, len(X)), bool), np.ones(len(X)), fixed)
    return Setup(sets, X, y, truth, judged, of_table=False)


def _given_points(test: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Inputs and targets of points that the user gave."""
    if isinstance(test, Dataset):
        test = (test.X, test.y)
    if isinstance(test, tuple) and len(test) == 2:
        y = None if test[1] is None else np.asarray(test[1])
        return np.asarray(test[0]), y
    X = np.asarray(test, np.float64)
    return (X[:, None] if X.ndim == 1 else X), None


def from_table(
    source: Any, sample_weight: Any, m: int, rng: np.random.Generator, *, classes: bool
) -> Setup:
    """Bootstraps of a table; each row is a point for the fits that did not see it.

    Args:
        source: a `Dataset`, or (X, y).
        sample_weight: how often each row counts.
        m: resamples.
        rng: where randomness comes from.
        classes: whether y is a class.
    """
    X, y, truth = _table(source)
    if np.shape(X)[0] != len(y):
        raise InputError(f"X has {np.shape(X)[0]} rows and y has {len(y)}.")
    w = weights_of(sample_weight, len(y))
    here = np.flatnonzero(w > 0)
    if len(here) < MIN_FITS:
        raise InputError(f"there are {len(here)} rows; bootstraps need at least 3.")
    X, y, w = _safe_indexing(X, here), y[here], w[here]
    truth = Truth(*(None if part is None else part[here] for part in truth))
    sets, left_out = bootstrap_sets(X, y, w, m, rng, classes=classes)
    usable = Judged(left_out, w, fixed=False).usable()
    if not usable.any():
        raise InputError(
            f"{m} bootstraps leave no row out {MIN_FITS} times; give more refits."
        )
    judged = Judged(left_out & usable, np.where(usable, w, 0.0), fixed=False)
    return Setup(sets, X, y, truth, judged, of_table=True)


def _table(source: Any) -> tuple[Any, np.ndarray, Truth]:
    if isinstance(source, Dataset) and source.y is not None:
        return source.X, np.asarray(source.y), truth_at(source.truth, source.X)
    if isinstance(source, tuple | list) and len(source) == 2:
        return source[0], np.asarray(source[1]), Truth()
    raise InputError(
        "give a generator, such as data.curve, or one table as (X, y) or a Dataset; got "
        f"{type(source).__name__}."
    )
