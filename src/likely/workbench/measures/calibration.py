"""How predicted probabilities and distributions of the best model agree with held-out rows."""

import numpy as np

from likely import evaluate
from likely.workbench import survival
from likely.workbench.held_out import HeldOutPredictions
from likely.workbench.quantiles import MIDDLE
from likely.workbench.report.measured import Calibration
from likely.workbench.table import Table

MAX_POINTS = 400
"""The largest number of held-out rows that are drawn."""
BINS = 10
"""The number of bins of confidence that are drawn, of equal weight."""


def calibration(
    table: Table, predictions: HeldOutPredictions, temperature: float
) -> Calibration:
    """The reliability of probabilities, or the distribution of F(y) of numbers.

    Args:
        table: the rows.
        predictions: of the best model, before recalibration.
        temperature: by which its probabilities are recalibrated.
    """
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    if predictions.probs is None:
        if table.target.kind == survival.KIND:
            return _times(table, *survival.residuals(y, predictions.pit, w))
        pick = np.linspace(0, len(y) - 1, min(MAX_POINTS, len(y))).round().astype(int)
        return Calibration(
            pit=tuple(evaluate.uniformity(predictions.pit, w).share),
            predicted=tuple(predictions.quantiles[pick, MIDDLE]),
            true=tuple(y[pick]),
        )
    after = evaluate.temperature_scaled(predictions.probs, temperature)
    before = evaluate.reliability(y, predictions.probs, w)
    shown = evaluate.reliability(y, after, w, equal="weight", bins=BINS)
    return Calibration(
        confidence=tuple(shown.confidence),
        frequency=tuple(shown.frequency),
        frequency_error=tuple(shown.error),
        expected_error=before.expected_error,
        expected_noise=before.noise,
        expected_error_after=evaluate.reliability(y, after, w).expected_error,
    )


def _times(table: Table, pit: np.ndarray, w: np.ndarray) -> Calibration:
    """Of times until an event: F(y), and the share of all rows without the event."""
    curve = evaluate.kaplan_meier(np.abs(table.y), table.y > 0, table.w)
    m = len(curve.times)
    pick = np.linspace(0, m - 1, min(MAX_POINTS, m)).round().astype(int)
    low, high = curve.interval()[pick].T
    return Calibration(
        pit=tuple(evaluate.uniformity(pit, w).share),
        times=tuple(curve.times[pick]),
        survival=tuple(curve.survival[pick]),
        survival_low=tuple(low),
        survival_high=tuple(high),
    )
