r"""Inputs as small whole numbers: at most 255 bins for each feature, and one for missing.

Code 0 is "missing". A number x has code $1 + \#\{c : c < x\}$ over the cut points c of its
feature; a category has the code of its rank among the categories. Few distinct values have a
bin each, with cuts half-way between them; many have bins of equal weight, where a value
that is heavier than a bin has one of its own. Rows of weight 0 are ignored.

Codes are kept four features to a word, `(blocks, n, 4)`: one load serves four histograms.
"""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.threads import row_blocks, thread_count, thread_map

MAX_BINS = 255
MIN_PARALLEL_ROWS = 10_001
"""Rows from which on threads share the encoding."""


class Bins(eqx.Module):
    """The cut points that turn each feature into codes."""

    cuts: Float[np.ndarray, "d 255"]
    """Cut points, or the values of categories, rising; then infinity."""
    counts: Int[np.ndarray, " d"]
    """The largest code of each feature."""
    categorical: Bool[np.ndarray, " d"]

    @classmethod
    def of(
        cls,
        X: Float[np.ndarray, "n d"],
        w: Float[np.ndarray, " n"],
        categorical: Bool[np.ndarray, " d"],
        *,
        max_bins: int = MAX_BINS,
        n_jobs: int | None = None,
    ) -> "Bins":
        """The bins of the rows that have weight."""
        if not (w > 0).all():
            X, w = X[w > 0], w[w > 0]
        weights = None if (w == w[0]).all() else w

        def some(part: tuple[int, int]) -> list[np.ndarray]:
            return [
                cut_points(X[:, j], weights, bool(categorical[j]), max_bins)
                for j in range(*part)
            ]

        workers = thread_count(n_jobs)
        parts = thread_map(some, row_blocks(X.shape[1], workers), workers)
        found = [own for part in parts for own in part]
        cuts = np.full((len(found), MAX_BINS), np.inf)
        for row, own in zip(cuts, found, strict=True):
            row[: len(own)] = own
        counts = np.array([len(own) for own in found], np.int64)
        return cls(cuts, counts + ~categorical, categorical)

    def of_feature(self, j: int) -> np.ndarray:
        """The cut points (or categories) of a feature."""
        return self.cuts[j, : self.counts[j] - (not self.categorical[j])]

    def encode(self, X: Float[np.ndarray, "n d"], n_jobs: int | None = None) -> Any:
        """The codes of rows, (blocks, n, 4)."""
        from likely.models.trees.kernels import encode_blocks

        n, d = X.shape
        codes = np.zeros((-(-d // 4), n, 4), np.uint8)
        X = np.ascontiguousarray(X)

        def one(part: tuple[int, int]) -> None:
            encode_blocks(X, self.cuts, self.categorical, codes, *part)

        workers = thread_count(n_jobs)
        thread_map(
            one, row_blocks(n, workers if n >= MIN_PARALLEL_ROWS else 1), workers
        )
        return codes


def cut_points(
    x: np.ndarray, w: np.ndarray | None, categorical: bool, max_bins: int = MAX_BINS
) -> np.ndarray:
    """The cuts between the bins of one feature, or its categories."""
    known = ~np.isnan(x)
    if not known.all():
        x, w = x[known], None if w is None else w[known]
    values, mass = _distinct(x, w)
    if categorical:
        heaviest = np.argsort(-mass, kind="stable")[:max_bins]
        return values[np.sort(heaviest)]
    if len(values) <= max_bins:
        return _between(values[:-1], values[1:])
    total = mass.sum()
    below = np.cumsum(np.minimum(mass, total / max_bins))
    goals = below[-1] * np.arange(1, max_bins) / max_bins
    index = np.searchsorted(below, goals * (1 - 1e-12))
    index = np.unique(np.minimum(index, len(values) - 2))
    return _between(values[index], values[index + 1])


def _distinct(x: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, rising, and the weight of each."""
    if not len(x):
        return np.empty(0), np.empty(0)
    if w is None:
        x, below = np.sort(x), np.arange(1.0, len(x) + 1)
    else:
        order = np.argsort(x, kind="stable")
        x, below = x[order], np.cumsum(w[order])
    last = np.append(np.flatnonzero(x[1:] != x[:-1]), len(x) - 1)
    return x[last], np.diff(below[last], prepend=0.0)


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A number c with low ≤ c < high: half-way where rounding allows."""
    with np.errstate(invalid="ignore"):
        middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)
