r"""LK301: probabilities, or distributions, that held-out rows contradict.

For two classes the log-odds are recalibrated by $a + b\,\text{logit}(p)$, for more by a
temperature; twice the gain of log-likelihood is χ² distributed where a = 0 and b = 1. For
numbers P(Y ≤ y) has to be uniform: the largest gap to a uniform distribution is Kolmogorov's;
where intervals cover too few rows, that is told instead (LK302).
"""

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import log_softmax

from likely.core.written_numbers import number
from likely.diagnostics.checks.coverage import wrong_coverage
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject
from likely.evaluate.calibration_error import top_label_error

MIN_GAIN, MIN_ERROR = 0.02, 0.03
"""The least gain of recalibration in nats per row, and the least calibration error."""
MIN_GAP = 0.08
"""The least gap of P(Y ≤ y) to a uniform distribution."""
MIN_ROWS = 40
MIN_PROBABILITY = 1e-6


class Recalibration(NamedTuple):
    """What recalibrating probabilities would gain."""

    gain: float
    """Nats per row."""
    p_value: float
    slope: float
    """Of log-odds: below 1 where the probabilities are too sure."""


def recalibration(codes: np.ndarray, probs: np.ndarray, w: np.ndarray) -> Recalibration:
    """Fit a slope, and a shift for two classes, to the log-probabilities.

    Args:
        codes: the class of each row.
        probs: (n, c) probabilities.
        w: how often each row counts.
    """
    logs = np.log(np.maximum(probs, MIN_PROBABILITY))
    every, codes = np.arange(len(codes)), codes.astype(int)
    two = probs.shape[1] == 2

    def loss(theta: np.ndarray) -> float:
        scaled = logs * np.exp(theta[0])
        if two:
            scaled = scaled + np.array([0.0, theta[1]])
        return float(-(w @ log_softmax(scaled, axis=1)[every, codes]))

    start = np.zeros(1 + two)
    found = minimize(loss, start, method="BFGS")
    gain = max(loss(start) - float(found.fun), 0.0)
    p = float(stats.chi2.sf(2 * gain, len(start)))
    return Recalibration(gain / float(w.sum()), p, float(np.exp(found.x[0])))


def miscalibrated(subject: Subject) -> Finding | None:
    """Whether probabilities or distributions are off."""
    rows = subject.held_out
    if rows.w.sum() < MIN_ROWS:
        raise DoesNotApply(f"there are fewer than {MIN_ROWS} rows")
    if subject.classes is None:
        return _distribution(subject)
    if not subject.has_probabilities:
        raise DoesNotApply("it has no probabilities of classes")
    found = recalibration(rows.y, rows.mean, rows.w)
    off = top_label_error(rows.y, rows.mean, rows.w, equal="weight", n_resamples=0)
    shown = found.gain >= MIN_GAIN and found.p_value < subject.level
    if not shown or off.debiased < MIN_ERROR:
        return None
    how = "too sure" if found.slope < 1 else "not sure enough"
    text = (
        f"The probabilities are {how}: they are off by {100 * off.debiased:.1f} percentage "
        f"points on average, and recalibration gains {number(found.gain)} nats per row (the "
        f"slope of the log-odds is {found.slope:.2f})."
    )
    advice = (
        "Recalibrate them on held-out rows (temperature scaling), or use a penalty."
    )
    numbers = {"error": off.debiased, "gain": found.gain, "p": found.p_value}
    return Finding("miscalibration", "warning", text, advice, numbers=numbers)


def _distribution(subject: Subject) -> Finding | None:
    rows = subject.held_out
    if rows.pit is None:
        raise DoesNotApply("it has no densities")
    found = stats.kstest(rows.pit, "uniform")
    gap, p = float(found.statistic), float(found.pvalue)
    if gap < MIN_GAP or p >= subject.level or wrong_coverage(subject):
        return None
    low = float(np.average(rows.pit < 0.5, weights=rows.w))
    bias = ""
    if abs(low - 0.5) > MIN_GAP:
        side = "below" if low > 0.5 else "above"
        bias = f" ({100 * max(low, 1 - low):.0f} % of rows are {side} the median)"
    text = (
        f"The predicted distributions are off: P(Y ≤ y) deviates from uniform by "
        f"{number(gap)}{bias}."
    )
    advice = (
        "Try another family, a transformed target, or recalibrate on held-out rows."
    )
    return Finding(
        "miscalibration", "warning", text, advice, numbers={"gap": gap, "p": p}
    )
