"""LK304 and LK401: interpolation without gain, and a simpler model that is better."""

import numpy as np
from scipy import stats

from likely.core.written_numbers import number, percent
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.references import linear_reference
from likely.diagnostics.checks.subject import Subject
from likely.evaluate import paired_difference

MAX_FITTED_SHARE = 0.1
"""The error on the rows of the fit, in units of that on others, of a model that interpolates."""
MIN_BETTER = 0.03
"""The least share by which a simpler model has to be better."""


def no_gain(subject: Subject) -> Finding | None:
    """Whether a model that fits its rows almost exactly gains nothing by that."""
    rows, known = subject.held_out, subject.fitted_rows
    error = subject.error_of(rows)
    own = float(np.average(error, weights=rows.w))
    fitted = float(np.average(subject.error_of(known), weights=known.w))
    if fitted > MAX_FITTED_SHARE * own:
        return None
    null = subject.null_error
    gap = paired_difference(error, null, rows.w)
    than, other = "the null model", float(np.average(null, weights=rows.w))
    better_than_null = gap.value < -2 * gap.error
    if better_than_null:
        try:
            simple = subject.error_of(linear_reference(subject))
        except DoesNotApply:
            return None
        gap = paired_difference(error, simple, rows.w)
        than, other = "a linear model", float(np.average(simple, weights=rows.w))
        if gap.value < gap.error:
            return None
    what = subject.loss_name
    text = (
        f"The model fits its own rows almost exactly ({what} {number(fitted)}), but on "
        f"others it is {number(own)}, no better than that of {than} ({number(other)})."
    )
    advice = (
        "Smooth it: larger leaves or fewer of them, a penalty, early stopping; or use the "
        "simpler model."
    )
    numbers = {"fitted": fitted, "held out": own, "other": other}
    return Finding("interpolation", "warning", text, advice, numbers=numbers)


def simpler_is_better(subject: Subject) -> Finding | None:
    """Whether a linear model predicts new rows better."""
    rows = subject.held_out
    error = subject.error_of(rows)
    simple = subject.error_of(linear_reference(subject))
    gap = paired_difference(error, simple, rows.w)
    own = float(np.average(error, weights=rows.w))
    z = gap.value / gap.error if gap.error > 0 else 0.0
    share = gap.value / own if own > 0 else 0.0
    p = float(stats.norm.sf(z))
    gain = paired_difference(subject.null_error, simple, rows.w)
    predicts = gain.value > 2 * gain.error
    if share < MIN_BETTER or p >= subject.level or not predicts:
        return None
    text = (
        f"A linear model is better: its {subject.loss_name} on rows that neither has seen is "
        f"{percent(share, 0)} lower (by {number(z)} standard errors)."
    )
    advice = "Use it, or give this model fewer parameters, a penalty or more rows."
    numbers = {"share": share, "z": z, "p": p}
    return Finding("simpler model", "warning", text, advice, numbers=numbers)
