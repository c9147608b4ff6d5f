r"""Levels of categories that training did not have: predictions average over known levels.

The effect of a new country is a draw from the effects of countries. So the distribution of
a row with an unseen level is the mixture of those that the model predicts with known levels
in its place:

$$p(y \mid x, \text{new}) = \sum_c π_c \, p(y \mid x, c).$$

Its mean is an average over levels, and its spread contains the spread between them,
whatever the model is. The weights are those of a random effect,
$π_c \propto n_c / (n_c + σ^2/τ^2)$ with σ² and τ² the variances of the target within levels
and between them: levels count alike, but for those with few rows. If the levels of a column
are nested in those of another (countries in continents), the average is over the levels
within the same one. A missing value is unseen, too, in a column where none was missing.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.preprocess.levels import MISSING, UNKNOWN
from likely.workbench.nesting import coarser_columns

MAX_STAND_INS, MIN_STAND_INS, STAND_IN_ROWS = 24, 8, 240_000
"""The number of known levels that stand in for an unseen one; times the rows of training."""
GOLDEN_RATIO = 0.5 * (5**0.5 - 1)
MAX_LEVELS = 1000
"""The largest number of levels of a column that are kept to be averaged over."""
MIN_NESTED_LEVELS = 10
"""The fewest levels within one of a coarser column that are averaged over on their own."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class KnownLevels:
    """The levels of each column of categories, in the order of their mean target.

    Attributes:
        rows: for each column (m, columns): the codes of a row of each of its levels.
        weights: for each column (m,) the weights of its levels.
        parents: for each column the coarser columns in which its levels are nested.
        missing: which columns had missing values, whose code is −1.
        stand_ins: the number of known levels that stand in for an unseen one.
    """

    rows: tuple[Int[np.ndarray, "_ d"], ...]
    weights: tuple[Float[np.ndarray, " _"], ...]
    parents: tuple[tuple[int, ...], ...]
    missing: Bool[np.ndarray, " d"]
    stand_ins: int

    @classmethod
    def of(
        cls,
        codes: Int[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        w: Float[np.ndarray, " n"],
    ) -> "KnownLevels":
        """Learn from the rows of training.

        Args:
            codes: of the levels of each column; −1 for a missing value.
            y: numbers that the effects of levels are measured by.
            w: how often each row counts.
        """
        here = w > 0
        codes, y, w = codes[here], y[here], w[here]
        found = [_levels(column, y, w) for column in codes.T]
        return cls(
            tuple(codes[middle] for middle, _ in found),
            tuple(weights for _, weights in found),
            coarser_columns(codes),
            (codes == MISSING).any(0),
            int(np.clip(STAND_IN_ROWS // len(y), MIN_STAND_INS, MAX_STAND_INS)),
        )

    def unseen(self, codes: Int[np.ndarray, "n d"]) -> Bool[np.ndarray, "n d"]:
        """Which values training did not have."""
        return (codes == UNKNOWN) | ((codes == MISSING) & ~self.missing)

    def replaced(self, codes: Int[np.ndarray, "n d"]) -> Int[np.ndarray, "k n d"]:
        """Copies of rows, each with other known levels in the place of unseen ones.

        The levels of a row are all taken from one row of training, so that what belongs
        together stays together.
        """
        unseen = self.unseen(codes)
        out = np.repeat(codes[None], self.stand_ins, axis=0)
        coarse = sorted({p for parents in self.parents for p in parents})
        alike = np.c_[unseen, np.where(unseen, 0, codes)[:, coarse]]
        _, first, index = np.unique(
            alike, axis=0, return_index=True, return_inverse=True
        )
        order = np.argsort(index.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(index.ravel()))[:-1]
        for i, rows in zip(first, np.split(order, ends), strict=True):
            columns = np.flatnonzero(unseen[i])
            if len(columns):
                picked = self._picked(columns, codes[i])
                out[:, rows[:, None], columns] = picked[:, None, columns]
        return out

    def _picked(
        self, unseen: Int[np.ndarray, " m"], row: Int[np.ndarray, " d"]
    ) -> Int[np.ndarray, "k d"]:
        """Rows of training with levels of a column at even steps of their weights.

        The column is the one with most levels among those where the row's is unseen.
        """
        j = max(unseen, key=lambda column: len(self.weights[column]))
        known = [p for p in self.parents[j] if p not in unseen]
        rows, weights = self.rows[j], self.weights[j]
        if known:
            same = (rows[:, known] == row[known]).all(1)
            if same.sum() >= MIN_NESTED_LEVELS:
                rows, weights = rows[same], weights[same]
        below = np.cumsum(weights) / weights.sum()
        # one level in each of k equal parts, at a place in it that varies from part to part
        step = np.arange(self.stand_ins)
        at = (step + (0.5 + GOLDEN_RATIO * step) % 1) / self.stand_ins
        return rows[np.minimum(np.searchsorted(below, at), len(rows) - 1)]


def level_effect(kind: str, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The numbers by which the levels of categories are put in order.

    Args:
        kind: the kind of the target.
        y: the target: numbers, or codes of classes.
    """
    if kind in ("positive", "survival"):
        return np.log(np.abs(y))
    if kind == "nonnegative":
        return np.log1p(y / max(float(y.mean()), 1e-300))
    if kind == "classes":
        return (y == np.bincount(y.astype(int)).argmax()).astype(float)
    return y


def _levels(
    codes: np.ndarray, y: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A row of each level, by rising mean of y, and the weights of the levels."""
    named = np.flatnonzero(codes >= 0)  # a missing value is like no new level
    if len(named) < len(codes) and len(named):
        middle, weights = _levels(codes[named], y[named], w[named])
        return named[middle], weights
    index = np.unique(codes, return_inverse=True)[1]
    n = np.bincount(index, w)
    m = len(n)
    order = np.argsort(index, kind="stable")
    half = np.cumsum(n) - 0.5 * n
    middle = order[np.searchsorted(np.cumsum(w[order]), half)]
    means = np.bincount(index, w * y) / n
    within = float(w @ (y - means[index]) ** 2)
    total, mean = n.sum(), w @ y / n.sum()
    s2 = within / (total - m) if total > m else 0.0
    between = float(n @ (means - mean) ** 2) - (m - 1) * s2
    t2 = max(between, 0.0) / max(total - float(n @ n) / total, 1e-300)
    weights = n * t2 / (n * t2 + s2) if t2 > 0 else n
    rising = np.argsort(means, kind="stable")
    if m > MAX_LEVELS:
        rising = rising[np.linspace(0, m - 1, MAX_LEVELS).round().astype(int)]
    return middle[rising], weights[rising]
