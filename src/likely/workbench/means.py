"""Models whose means are absurd, and means that another model predicts better."""

from typing import NamedTuple

import numpy as np

from likely import evaluate
from likely.core.written_numbers import number
from likely.workbench.candidates import STACK
from likely.workbench.ladder import Ladder
from likely.workbench.report.facts import ModelScores

MAX_ERROR = 2.0
"""A mean is absurd if its error is so many times that of the overall mean."""
MIN_GAIN = 0.02
"""By how much another model's error has to be smaller to be worth a sentence."""


class BetterMean(NamedTuple):
    """A model whose means are better than those of the best model by likelihood."""

    name: str
    label: str
    rmse: float
    best_rmse: float
    sentence: str


def absurd_means(rows: tuple[ModelScores, ...]) -> dict[str, str]:
    """The models that cannot win because of their means, each with the reason.

    Their distributions may be likely and their means still useless, for one row that
    extrapolates can spoil a mean.
    """
    found = {}
    for row in rows[1:]:
        r2 = row.scores.get("r2")
        if r2 is not None and not r2 >= 1 - MAX_ERROR**2:
            error = float(np.sqrt(1 - r2))
            times = f"{number(error)} times" if np.isfinite(error) else "far above"
            found[row.name] = (
                f"the error of its means is {times} that of the overall mean, so it "
                "was not chosen"
            )
    return found


def _error(row: ModelScores) -> float:
    """The root mean squared error; infinite where it is not known."""
    value = row.scores.get("rmse")
    return float("inf") if value is None else float(value)


def eligible(rows: tuple[ModelScores, ...]) -> list[ModelScores]:
    """The models that may win: all but those with absurd means."""
    out = absurd_means(rows)
    return [row for row in rows if row.name not in out]


def better_mean(
    ladder: Ladder, rows: tuple[ModelScores, ...], best: ModelScores
) -> BetterMean | None:
    """The model with the best means, where it is not the best model by likelihood."""
    predictions = ladder.held_out[best.name]
    if best.scores.get("rmse") is None or best.name == "null":
        return None
    others = [row for row in rows if row.name not in (best.name, STACK)]
    other = min(others, key=_error, default=None)
    if other is None:
        return None
    own, theirs = _error(best), _error(other)
    y, w = ladder.table.y[predictions.rows], ladder.table.w[predictions.rows]
    mean = ladder.held_out[other.name].mean
    gap = evaluate.paired_difference((y - predictions.mean) ** 2, (y - mean) ** 2, w)
    if theirs > (1 - MIN_GAIN) * own or gap.value < gap.error:
        return None
    command = "" if other.name == "null" else f" (--models {other.name})"
    sentence = (
        f"The {best.label} says best how likely each value is, but the means of the "
        f"{other.label} are closer (a root mean squared error of {number(theirs)} instead "
        f"of {number(own)}): use the {best.label} for intervals and probabilities, the "
        f"{other.label}{command} for totals and averages."
    )
    return BetterMean(other.name, other.label, theirs, own, sentence)
