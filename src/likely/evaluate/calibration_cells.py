"""Bins of predicted probabilities, and the calibration error of the rows in them.

`calibration_error` has the formulas, and the events that are binned.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from likely.core.checks import InputError
from likely.evaluate.assignment import generator_of
from likely.evaluate.calibration import bin_numbers

BLOCK_ENTRIES = 4_000_000
"""The most counts of rows that are held in memory at once."""


class CalibrationEstimate(NamedTuple):
    """A calibration error, what of it is not noise, and an interval."""

    name: str
    """What was measured, and in which bins."""
    value: float
    """The expected calibration error (ECE) as it is commonly computed."""
    debiased: float
    """The error without the part that is noise; zero on average for a perfect model."""
    squared: float
    """The weighted mean of squared errors over bins, without bias."""
    interval: tuple[float, float]
    """An interval for the true error, by the bootstrap; NaN where it was not asked for."""
    coverage: float
    """The probability that the interval holds the true error."""

    def __str__(self) -> str:
        low, high = self.interval
        between = f", {self.coverage:.0%} interval {low:.4f} to {high:.4f}"
        return (
            f"{self.name}: {self.value:.4f}, debiased {self.debiased:.4f}"
            f"{'' if np.isnan(low) else between}"
        )


class Cells(NamedTuple):
    """The bins of every event, numbered through, and the residual of each row in its own."""

    name: str
    cell: Int[np.ndarray, "e n"]
    residual: Float[np.ndarray, "e n"]
    noise: Float[np.ndarray, "e n"]
    """p(1 − p), the variance of a residual if p is right."""
    w: Float[np.ndarray, " n"]

    @classmethod
    def of(
        cls,
        kind: str,
        happened: Float[np.ndarray, "e n"],
        p: Float[np.ndarray, "e n"],
        w: Float[np.ndarray, " n"],
        *,
        bins: int,
        equal: str,
    ) -> "Cells":
        if np.isnan(p).any() or p.min() < 0 or p.max() > 1 + 1e-9:
            raise InputError("probabilities have to be numbers from 0 to 1.")
        numbers = np.stack([bin_numbers(column, w, bins, equal) for column in p])
        cell = np.unique(
            numbers + bins * np.arange(len(p))[:, None], return_inverse=True
        )[1]
        name = f"{kind} calibration error, {bins} bins of equal {equal}"
        return cls(name, cell.reshape(p.shape), happened - p, p * (1 - p), w)

    def error(
        self, n_resamples: int, coverage: float, random_state: Any
    ) -> CalibrationEstimate:
        """The error of these rows, with its interval."""
        if not 0 < coverage < 1:
            raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
        share, gap, variance = self._gaps(self.w[None])
        value, debiased = _means(share, np.abs(gap), _halved(gap, variance))
        (squared,) = _means(share, gap**2 - variance)
        low = high = float("nan")
        if n_resamples > 0:
            found, noise = self._resampled(n_resamples, generator_of(random_state))
            tail = 0.5 * (1 - coverage)
            # what debiased − truth is, debiased* − value is in the resamples
            a, b = np.quantile(found, [1 - tail, tail]) - value
            low, high = (max(0.0, float((debiased - q)[0])) for q in (a, b))
            low = low if value > np.quantile(noise, 1 - tail) else 0.0
        a, b, c = (float(v[0]) for v in (value, debiased, squared))
        return CalibrationEstimate(self.name, a, b, c, (low, high), coverage)

    def _gaps(self, w: Float[np.ndarray, "r n"]) -> tuple[np.ndarray, ...]:
        """Share, mean residual and its variance in each cell, for r weights of the rows."""
        weight, total, square, noise = (
            self._sums(w, values)
            for values in (None, self.residual, self.residual**2, self.noise)
        )
        share = weight / weight.sum(1, keepdims=True)
        n = np.where(weight > 0, weight, 1.0)
        gap = total / n
        spread = np.maximum(square - total * gap, 0.0) / np.maximum(n - 1, 1e-12)
        variance = np.where(weight > 1, spread, noise / n) / n
        return share, gap, variance

    def _sums(self, w: Float[np.ndarray, "r n"], values: np.ndarray | None):
        """(r, cells) the sums of weighted values in each cell."""
        found = np.zeros((len(w), int(self.cell.max()) + 1))
        for e, cell in enumerate(self.cell):
            order = np.argsort(cell, kind="stable")
            starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
            weighted = w[:, order] if values is None else w[:, order] * values[e][order]
            found[:, cell[order][starts]] += np.add.reduceat(weighted, starts, axis=1)
        return found

    def _resampled(self, n_resamples: int, rng: np.random.Generator):
        """The debiased error of rows drawn again, and the error that is noise alone."""
        total, found, noise = max(1, round(float(self.w.sum()))), [], []
        gap = self._gaps(self.w[None])[1]
        at_once = max(1, BLOCK_ENTRIES // len(self.w))
        for start in range(0, n_resamples, at_once):
            size = min(at_once, n_resamples - start)
            draws = rng.multinomial(total, self.w / self.w.sum(), size=size)
            share, again, variance = self._gaps(draws.astype(np.float64))
            each = _halved(again, variance), np.abs(again - gap)
            for values, mean in zip((found, noise), _means(share, *each), strict=True):
                values.append(mean)
        return np.concatenate(found), np.concatenate(noise)


def _halved(gap: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The size of each gap with the sign of the other half of its rows."""
    s = np.sqrt(np.maximum(variance, 1e-300))
    z = gap / s
    bell = np.exp(-0.5 * np.minimum(z**2, 1e3)) / np.sqrt(2 * np.pi)
    return gap * (2 * ndtr(z) - 1) - 2 * s * bell


def _means(share: np.ndarray, *values: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple((share * v).sum(1) for v in values)
