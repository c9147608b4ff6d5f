r"""What more rows would bring: a power law fitted to a learning curve and continued.

The law holds for many rows, if at all. It is fitted to the largest four sizes, five, ..., all, and
every fit that the points do not contradict (by a χ² test) counts the same: the forecast is their
mean, and the band is of all their refits to resampled curves. The forecast is not to be trusted,
and says why, where sizes are few or close together, where no law fits, where the loss does not
fall or rises in between, where a law fitted without the largest size misses it, or where the
exponent is close to zero.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import chi2

from likely.diagnostics.generalization.learning.power_law import (
    EXPONENTS,
    PowerLaw,
    fit_power_law,
)

MIN_SIZES, MIN_RANGE = 4, 3.0
"""Sizes, and the ratio of the largest to the smallest, that a law needs."""
MIN_P_VALUE = 0.05
"""The p-value below which a law contradicts the points."""
MAX_MISS = 3.0
"""Standard errors by which the largest size may be missed by a law fitted to the others."""
MAX_AT_EDGE = 0.4
"""The share of resamples whose exponent may be the smallest that is tried."""
MIN_FALLING = 0.025
"""The share of resamples in which the loss may stay where it is."""
BAND = (0.05, 0.95)


class Forecast(NamedTuple):
    """The held-out loss with more rows, by a power law."""

    rows: Float[np.ndarray, " f"]
    """From the smallest size that the law was fitted to, to twice the table."""
    loss: Float[np.ndarray, " f"]
    low: Float[np.ndarray, " f"]
    """The lower end of a band that holds 90 % of resampled forecasts."""
    high: Float[np.ndarray, " f"]
    law: PowerLaw
    trustworthy: bool
    reason: str
    """Why it is not to be trusted; empty where it is."""
    gain: tuple[float, float, float]
    """How much lower the loss is with twice the rows: the forecast, and the ends of its band."""


def forecast(
    sizes: Float[np.ndarray, " s"],
    curve: Float[np.ndarray, " s"],
    draws: Float[np.ndarray, "m s"],
    *,
    n: int,
    lowest: float,
) -> Forecast | None:
    """The loss with up to 2n rows; None where there is no curve.

    Args:
        sizes: rows of each training set, rising.
        curve: the held-out loss.
        draws: resampled curves.
        n: rows of the table.
        lowest: the least possible loss.
    """
    if len(sizes) < 3 or not np.isfinite(draws).all():
        return None
    starts, p_value = _first_sizes(sizes, curve, draws, lowest)
    fits = [_laws(sizes[k:], curve[k:], draws[:, k:], lowest) for k in starts]
    sizes, curve, draws = (a[..., starts[0] :] for a in (sizes, curve, draws))
    rows = np.geomspace(sizes[0], 2 * n, 60)
    ahead = np.concatenate([laws(rows) for _, laws in fits])
    low, high = np.quantile(ahead, BAND, axis=0)
    ends = np.array([n, 2 * n], float)
    gains = np.concatenate([-np.diff(laws(ends), axis=1)[:, 0] for _, laws in fits])
    gain = np.mean([-np.diff(law(ends)[0])[0] for law, _ in fits])
    loss = np.mean([law(rows)[0] for law, _ in fits], axis=0)
    reason = _doubt(sizes, curve, draws, fits[0][1], p_value) or _missed(
        sizes, curve, draws, lowest
    )
    one = PowerLaw(*(np.asarray(part[0]) for part in fits[0][0]))
    least, most = (float(bound) for bound in np.quantile(gains, BAND))
    band = (float(gain), least, most)
    return Forecast(rows, loss, low, high, one, not reason, reason, band)


def _laws(
    sizes: np.ndarray, curve: np.ndarray, draws: np.ndarray, lowest: float
) -> tuple[PowerLaw, PowerLaw]:
    """The law of a curve, and those of the resampled curves."""
    covariance = np.cov(draws.T)
    law, _ = fit_power_law(sizes, curve[None], covariance, lowest=lowest)
    return law, fit_power_law(sizes, draws, covariance, lowest=lowest)[0]


def _first_sizes(
    sizes: np.ndarray, curve: np.ndarray, draws: np.ndarray, lowest: float
) -> tuple[list[int], float]:
    """The positions of sizes from which on a law is not contradicted.

    And the p-value of the first of these laws; all sizes where every law is contradicted.
    """
    p_values = []
    for start in range(max(1, len(sizes) - MIN_SIZES + 1)):
        part = sizes[start:], curve[None, start:], np.cov(draws[:, start:].T)
        _, squares = fit_power_law(*part, lowest=lowest)
        freedom = max(1, len(sizes) - start - 3)
        p_values.append(float(chi2.sf(squares[0], freedom)))
    good = [k for k, p in enumerate(p_values) if p > MIN_P_VALUE]
    return (good, p_values[good[0]]) if good else ([0], p_values[0])


def _doubt(
    sizes: np.ndarray,
    curve: np.ndarray,
    draws: np.ndarray,
    laws: PowerLaw,
    p_value: float,
) -> str:
    """Why the law should not be believed; empty where nothing speaks against it."""
    if len(sizes) < MIN_SIZES or sizes[-1] < MIN_RANGE * sizes[0]:
        return (
            f"there are {len(sizes)} sizes from {sizes[0]:.0f} to {sizes[-1]:.0f} rows for a "
            "power law, which say little"
        )
    steps, spread = np.diff(curve), np.diff(draws, axis=1).std(0)
    rising = np.flatnonzero(steps > MAX_MISS * np.maximum(spread, 1e-300))
    if rising.size:
        at = sizes[rising[0] + 1]
        return f"the held-out loss rises up to {at:.0f} rows, which no power law does"
    if p_value < MIN_P_VALUE:
        return "no power law fits the losses"
    ends = laws(sizes[[0, -1]])
    if not np.quantile(ends[:, 0] - ends[:, 1], MIN_FALLING) > 0:
        return "that the held-out loss falls over these sizes is not shown"
    if (laws.c == EXPONENTS[0]).mean() > MAX_AT_EDGE:
        return "the loss falls too slowly to tell where it would end"
    return ""


def _missed(
    sizes: np.ndarray, curve: np.ndarray, draws: np.ndarray, lowest: float
) -> str:
    """Whether a law fitted without the largest size misses it."""
    fewer, covariance = sizes[:-1], np.cov(draws[:, :-1].T)
    guess, _ = fit_power_law(fewer, curve[None, :-1], covariance, lowest=lowest)
    guesses, _ = fit_power_law(fewer, draws[:, :-1], covariance, lowest=lowest)
    off = float(guess(sizes[-1:])[0, 0]) - curve[-1]
    spread = (guesses(sizes[-1:])[:, 0] - draws[:, -1]).std()
    if abs(off) > MAX_MISS * max(spread, 1e-300):
        return "a law fitted without the largest size misses the loss there"
    return ""
