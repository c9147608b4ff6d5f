"""LK402 and LK403: too few rows for the claim that a model predicts, and no signal."""

import numpy as np
from scipy.special import xlogy

from likely.core.written_numbers import number, percent
from likely.diagnostics.checks.finding import Finding
from likely.diagnostics.checks.subject import Subject
from likely.evaluate import Score, paired_difference

POSITIVE = ("poisson", "negativebinomial", "gamma", "tweedie")
"""Families of counts and positive numbers, whose variance grows with the mean."""
MIN_Z = 2.0
"""Standard errors that a gain has to have to be shown."""
FEW_ROWS = 50
"""Rows below which even a loss against the null model says little."""
USEFUL = 0.1
"""A share of the null model's error whose gain would be useful."""


def gain_over_null(subject: Subject) -> tuple[Score, float]:
    """How much the model gains over the null model, and the mean error of that one.

    The errors are squared ones (Brier scores of classes); for counts and positive numbers
    half of Poisson's deviance, of which rows with large means do not have most.
    """
    rows, null = subject.held_out, subject.null_error
    own = subject.error_of(rows)
    if subject.family in POSITIVE and (rows.mean > 0).all():
        mean = float(np.average(subject.codes, weights=subject.known.w))
        own = _deviance(rows.y, rows.mean)
        null = _deviance(rows.y, np.full(len(rows.y), mean))
    return paired_difference(null, own, rows.w), float(np.average(null, weights=rows.w))


def _deviance(y: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return xlogy(y, y / mean) - (y - mean)


def too_few_rows(subject: Subject) -> Finding | None:
    """Whether more rows are needed to show that the model predicts anything."""
    gain, null = gain_over_null(subject)
    if not _open(gain, null, subject.n):
        return None
    share, error = gain.value / null, gain.error / null
    needed = ""
    if share > 0:
        rows = subject.n * (2 * MIN_Z * error / share) ** 2
        if rows < 100 * subject.n:
            needed = f" About {number(rows, 2)} rows would tell."
    text = (
        f"{number(subject.n)} rows are too few to show that the model predicts: it gains "
        f"{percent(share)} ± {percent(error)} of the error of the null model."
    )
    advice = f"Collect more rows, or claim less.{needed}"
    numbers = {"gain": share, "error": error, "rows": subject.n}
    return Finding("too few rows", "warning", text, advice, numbers=numbers)


def no_signal(subject: Subject) -> Finding | None:
    """Whether the model is no better than the null model, as far as rows can tell."""
    gain, null = gain_over_null(subject)
    if not null > 0 or gain.value > MIN_Z * gain.error or _open(gain, null, subject.n):
        return None
    share, error = gain.value / null, gain.error / null
    text = (
        f"The model is no better than predicting the same for all rows: it gains "
        f"{percent(share)} ± {percent(error)} of the error of the null model."
    )
    advice = "The columns do not predict the target: try others, or a stronger penalty."
    numbers = {"gain": share, "error": error}
    return Finding("no signal", "warning", text, advice, numbers=numbers)


def _open(gain: Score, null: float, n: float) -> bool:
    """Whether nothing is shown, and a useful gain is not ruled out either."""
    shown = gain.value > MIN_Z * gain.error
    useless = gain.value + MIN_Z * gain.error < USEFUL * null and n >= FEW_ROWS
    return bool(null > 0 and not shown and not useless)
