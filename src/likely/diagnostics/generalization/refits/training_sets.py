r"""Many training sets: fresh draws of a generator, or resamples of one table.

Each set is some rows of one table with weights, so that all sets together are a table, a matrix
of row numbers and a matrix of weights, and all fits can be one program.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.diagnostics.generalization.refits.truth import Generator, draw
from likely.inference import resampled_weights


class TrainingSets(NamedTuple):
    """m training sets of at most r rows each."""

    X: Any
    """(N, d) the rows of all sets: an array, or a frame."""
    y: np.ndarray
    """(N,) their targets."""
    rows: Int[np.ndarray, "m r"]
    """Which rows of the table each set holds; those of weight 0 stand last."""
    w: Float[np.ndarray, "m r"]
    """How often each of them counts; 0 fills up sets of fewer rows."""
    is_shared: bool = True
    """Whether sets are parts of one table, so that rows are in many of them."""

    def __len__(self) -> int:
        return len(self.rows)

    def table_weights(self) -> Float[np.ndarray, "m N"]:
        """The weights of all rows of the table, in each set."""
        w = np.zeros((len(self), len(self.y)))
        np.add.at(w, (np.arange(len(self))[:, None], self.rows), self.w)
        return w

    @property
    def sizes(self) -> Int[np.ndarray, " m"]:
        """The number of different rows of each set."""
        return (self.w > 0).sum(1)


def generated_sets(
    generator: Generator, n: int, m: int, rng: np.random.Generator
) -> TrainingSets:
    """m independent draws of n rows.

    Args:
        generator: a function of the number of rows and `random_state`.
        n: rows of each.
        m: sets.
        rng: where randomness comes from.
    """
    parts = [draw(generator, n, own) for own in rng.spawn(m)]
    sizes = np.array([len(part) for part in parts])
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    place = np.arange(sizes.max())
    here = place < sizes[:, None]
    rows = np.where(here, starts[:, None] + place, starts[:, None])
    X = np.concatenate([np.asarray(part.X) for part in parts])
    y = np.concatenate([np.asarray(part.y) for part in parts])
    return TrainingSets(X, y, rows, here.astype(float), is_shared=False)


def weighted_sets(X: Any, y: np.ndarray, w: Float[np.ndarray, "m N"]) -> TrainingSets:
    """Sets that are given by weights of the rows of a table.

    Args:
        X: (N, d) inputs.
        y: (N,) targets.
        w: weights of all rows in each set.
    """
    most = int((w > 0).sum(1).max())
    rows = np.argsort(w == 0, axis=1, kind="stable")[:, :most]
    return TrainingSets(X, y, rows, np.take_along_axis(w, rows, 1))


def bootstrap_sets(
    X: Any,
    y: np.ndarray,
    w: np.ndarray,
    m: int,
    rng: np.random.Generator,
    *,
    classes: bool = False,
) -> tuple[TrainingSets, Bool[np.ndarray, "m N"]]:
    """m resamples of a table with replacement, and which rows each of them left out.

    Args:
        X: (N, d) inputs.
        y: (N,) targets.
        w: (N,) how often each row counts.
        m: resamples.
        rng: where randomness comes from.
        classes: whether y is a class; a resample of one class only, from which a classifier
            cannot be fitted, is then drawn again.
    """
    counts = resampled_weights(w, m, rng)
    if classes and (y != y[0]).any():
        again = _of_one_class(counts, y)
        while len(again):
            counts[again] = resampled_weights(w, len(again), rng)
            again = again[_of_one_class(counts[again], y)]
    return weighted_sets(X, y, counts), (counts == 0) & (w > 0)


def _of_one_class(
    counts: Float[np.ndarray, "m N"], y: np.ndarray
) -> Int[np.ndarray, " k"]:
    """The numbers of the resamples that hold rows of one class only."""
    codes = np.unique(y, return_inverse=True)[1]
    held = counts @ np.eye(codes.max() + 1)[codes] > 0
    return np.flatnonzero(held.sum(1) < 2)
