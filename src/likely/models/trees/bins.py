r"""Inputs as small whole numbers: at most 255 bins for each feature, and one for missing.

Code 0 is "missing". A number x has code $1 + \#\{c : c < x\}$ over the cut points c of its
feature; a category has the code of its place among the categories. With few distinct values
every one has its own bin, cuts lie half-way; with many, bins of equal weight, where a value
that is heavier than a bin has one of its own. Rows of weight 0 are not looked at.

Codes are kept four features to a word, `(blocks, n, 4)`: one load serves four histograms.
"""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float, Int

MOST = 255


class Bins(eqx.Module):
    """The cut points of each feature."""

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
        most: int = MOST,
        n_jobs: int | None = None,
    ) -> "Bins":
        """From the rows that have weight."""
        from likely.core.compiled import share

        if not (w > 0).all():
            X, w = X[w > 0], w[w > 0]
        even = None if (w == w[0]).all() else w

        def one(j: int) -> np.ndarray:
            return cut_points(X[:, j], even, bool(categorical[j]), most)

        found = share(one, range(X.shape[1]), n_jobs)
        cuts = np.full((len(found), MOST), np.inf)
        for row, own in zip(cuts, found, strict=True):
            row[: len(own)] = own
        counts = np.array([len(own) for own in found], np.int64)
        return cls(cuts, counts + ~categorical, categorical)

    def of_feature(self, j: int) -> np.ndarray:
        """The cut points (or categories) of a feature."""
        return self.cuts[j, : self.counts[j] - (not self.categorical[j])]

    def encode(self, X: Float[np.ndarray, "n d"], n_jobs: int | None = None) -> Any:
        """(blocks, n, 4) codes."""
        from likely.core.compiled import share, stretches, threads
        from likely.models.trees.kernels import encode_blocks

        n, d = X.shape
        codes = np.zeros((-(-d // 4), n, 4), np.uint8)
        X = np.ascontiguousarray(X)

        def one(part: tuple[int, int]) -> None:
            encode_blocks(X, self.cuts, self.categorical, codes, *part)

        share(one, stretches(n, threads(n_jobs) if n > 10_000 else 1), n_jobs)
        return codes


def cut_points(
    x: np.ndarray, w: np.ndarray | None, categorical: bool, most: int = MOST
) -> np.ndarray:
    """The cuts between bins of one feature, or its categories."""
    known = ~np.isnan(x)
    if not known.all():
        x, w = x[known], None if w is None else w[known]
    values, mass = _distinct(x, w)
    if categorical:
        heaviest = np.argsort(-mass, kind="stable")[:most]
        return values[np.sort(heaviest)]
    if len(values) <= most:
        return _between(values[:-1], values[1:])
    total = mass.sum()
    below = np.cumsum(np.minimum(mass, total / most))
    goals = below[-1] * np.arange(1, most) / most
    place = np.searchsorted(below, goals * (1 - 1e-12))
    place = np.unique(np.minimum(place, len(values) - 2))
    return _between(values[place], values[place + 1])


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
