r"""LK203: counts that vary more than Poisson counts would.

The ratio $\sum w (y - μ)^2 / \sum w μ$ is 1 for Poisson counts of means μ. It is significant by
the score test against a variance μ + αμ²: $\sum w((y - μ)^2 - y) / \sqrt{2 \sum w μ^2}$ is
standard normal without over-dispersion.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from likely.core.written_numbers import number, with_error
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject

MIN_DISPERSION = 1.5
"""Counts that vary so many times as much as Poisson counts are called over-dispersed."""


class Dispersion(NamedTuple):
    """How many times as much counts vary as Poisson counts."""

    ratio: float
    error: float
    p_value: float

    def shown(self, level: float) -> bool:
        """Whether it is more than chance, and worth a word."""
        return bool(MIN_DISPERSION <= self.ratio < np.inf and self.p_value < level)


def dispersion(y: np.ndarray, mean: np.ndarray, w: np.ndarray) -> Dispersion:
    """The variance of counts around their predicted means, in units of these.

    Args:
        y: counts.
        mean: predicted means.
        w: how often each row counts.
    """
    mean = np.maximum(mean, 0.0)
    square = (y - mean) ** 2
    with np.errstate(all="ignore"):
        total = max(float(w @ mean), 1e-300)
        ratio = float(w @ square) / total
        error = float(np.sqrt(w @ (square - ratio * mean) ** 2)) / total
        z = float(w @ (square - y)) / np.sqrt(max(2 * float(w @ mean**2), 1e-300))
    return Dispersion(ratio, error, float(stats.norm.sf(z)) if z == z else 1.0)


def over_dispersed(subject: Subject) -> Finding | None:
    """Whether a Poisson model sees counts that vary more."""
    if subject.family != "poisson":
        raise DoesNotApply("it is no Poisson model")
    rows = subject.held_out
    found = dispersion(rows.y, rows.mean, rows.w)
    if not found.shown(subject.level):
        return None
    text = (
        f"Around their predicted means the counts vary {with_error(found.ratio, found.error)} "
        "times as much as Poisson counts would."
    )
    advice = (
        "Use a negative binomial model, which allows for it: standard errors and intervals "
        f"of this one are too small by a factor of {number(np.sqrt(found.ratio))}."
    )
    numbers = {"ratio": found.ratio, "error": found.error, "p": found.p_value}
    return Finding("over-dispersion", "warning", text, advice, numbers=numbers)
