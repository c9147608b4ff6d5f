r"""Distance to the closest record: do generated rows come nearer to training rows than new ones?

The distances of generated rows to their nearest training row are set beside those of held-out
rows, which are what new rows of the same source look like. A generated row is called close
if it is nearer than 95 % of held-out rows are: 5 % of new rows would be.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.core.written_numbers import number, p_value, percent
from likely.evaluate.generated.memorization import nearest_distances
from likely.evaluate.generated.rows import feature_rows
from likely.evaluate.scores import Score, mean_score


class ClosestRecords(NamedTuple):
    """Distances of generated rows to the closest training row, beside held-out rows."""

    median: float
    """The median distance of generated rows."""
    held_out_median: float
    close: Score
    """The share of generated rows that are nearer than `level` of held-out rows are."""
    level: float
    p_value: float
    """Of the rank-sum test that generated rows are not nearer than held-out rows."""

    @property
    def verdict(self) -> str:
        """What was found, in a sentence."""
        numbers = (
            f"the median distance of generated rows to the closest training row is "
            f"{number(self.median)}, of held-out rows {number(self.held_out_median)}; "
            f"{percent(self.close.value)} of generated rows are as close as the closest "
            f"{percent(self.level, 0)} of held-out rows (p {p_value(self.p_value)})"
        )
        if self.p_value > 0.05:
            return f"Generated rows are not nearer than new rows would be: {numbers}."
        return f"Generated rows are nearer than new rows would be: {numbers}."

    def __str__(self) -> str:
        return self.verdict


def closest_records(
    generated: Any, train: Any, held_out: Any, *, level: float = 0.05
) -> ClosestRecords:
    """The distances of generated and of held-out rows to the closest training row.

    Args:
        generated: (r, d) features of generated rows.
        train: (n, d) features of the rows that the generator was fitted to.
        held_out: (m, d) features of rows from the same source that it has not seen.
        level: the share of held-out rows that are called close.

    Examples:
        >>> X = np.random.default_rng(0).normal(size=(90, 2))
        >>> found = lk.evaluate.closest_records(X[:30], X[:30], X[30:60])  # copies
        >>> found.median
        0.0
    """
    from scipy import stats  # imported late: it takes a while

    if not 0 < level < 1:
        raise InputError(f"level is {level}; give a number between 0 and 1.")
    G, T, H = feature_rows(1, generated=generated, train=train, held_out=held_out)
    own, usual = nearest_distances(G, T), nearest_distances(H, T)
    limit = np.quantile(usual, level)
    # where many held-out rows tie at the limit, a part of the tied rows is close
    below, tied = (usual < limit).mean(), (usual == limit).mean()
    part = np.clip((level - below) / tied, 0.0, 1.0) if tied > 0 else 0.0
    close = mean_score((own < limit) + part * (own == limit))
    test: Any = stats.mannwhitneyu(own, usual, alternative="less")
    p = float(test.pvalue) if np.ptp(np.concatenate([own, usual])) > 0 else 1.0
    return ClosestRecords(
        float(np.median(own)), float(np.median(usual)), close, float(level), p
    )
