r"""LK204: errors with heavier tails than a normal distribution's.

Errors are divided by their predicted standard deviation and fitted by Student's t and by a
normal distribution; the gain in nats per row says how much heavier tails are worth, and twice
the whole gain is χ² distributed (with a point mass at 0) where there are none.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import minimize

from likely.core.written_numbers import number
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject

MIN_GAIN = 0.05
"""The least gain of heavier tails, in nats per row."""
MIN_ROWS = 30
NORMAL = ("normal", "studentt")


class Tails(NamedTuple):
    """How heavy the tails of errors are."""

    df: float
    """Degrees of freedom of Student's t; large ones are normal tails."""
    gain: float
    """Nats per row that they gain over a normal distribution."""
    p_value: float
    largest: float
    """The largest error, in standard deviations of all."""


def tails(r: np.ndarray, w: np.ndarray) -> Tails:
    """Fit Student's t to errors of about the same scale.

    Args:
        r: errors.
        w: how often each row counts.
    """
    total = w.sum()
    mean = float(w @ r / total)
    s = float(np.sqrt(w @ (r - mean) ** 2 / total))
    if not s > 0:
        return Tails(np.inf, 0.0, 1.0, 0.0)
    z = (r - mean) / s

    def loss(theta: np.ndarray) -> float:
        df, scale = 1 + np.exp(theta[0]), np.exp(theta[1])
        return float(-(w @ stats.t.logpdf(z, df, theta[2], scale)))

    normal = float(total * 0.5 * (np.log(2 * np.pi) + 1))
    starts = [(np.log(df - 1), -0.5 / df, 0.0) for df in (3.0, 15.0)]
    options = {"maxiter": 600, "xatol": 1e-4, "fatol": 1e-6}
    found = [minimize(loss, x, method="Nelder-Mead", options=options) for x in starts]
    best = min(found, key=lambda f: f.fun)
    gain = max(normal - float(best.fun), 0.0)
    p = 0.5 * float(stats.chi2.sf(2 * gain, 1)) if gain > 0 else 1.0
    df = float(1 + np.exp(best.x[0]))
    return Tails(df, gain / float(total), p, float(np.abs(z).max()))


def heavy_tails(subject: Subject) -> Finding | None:
    """Whether errors of a model with normal ones have heavier tails."""
    if subject.family not in NORMAL:
        raise DoesNotApply("its errors are not taken for normal ones")
    rows = subject.held_out
    if rows.w.sum() < MIN_ROWS:
        raise DoesNotApply(f"there are fewer than {MIN_ROWS} rows")
    std = np.ones(len(rows.y)) if rows.std is None else rows.std
    std = np.where(np.isfinite(std) & (std > 0), std, np.nanmedian(std))
    found = tails((rows.y - rows.mean) / std, rows.w)
    if found.gain < MIN_GAIN or found.p_value >= subject.level:
        return None
    text = (
        "The errors have heavier tails than a normal distribution: Student's t with "
        f"{number(found.df)} degrees of freedom gains {number(found.gain)} nats per row, and "
        f"the largest error is {number(found.largest)} standard deviations."
    )
    advice = (
        "Look at the rows of the largest errors. Use a robust model (HuberRegressor, "
        "LADRegressor), another family, or the logarithm of a positive target."
    )
    numbers = {"df": found.df, "gain": found.gain, "p": found.p_value}
    return Finding("heavy tails", "warning", text, advice, numbers=numbers)
