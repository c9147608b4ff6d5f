"""Scores of the compared models: nats, gains, familiar scores, calibration, coverage."""

from typing import Any, NamedTuple

import numpy as np

from likely import evaluate
from likely.workbench.candidates import STACK
from likely.workbench.held_out import HeldOutPredictions
from likely.workbench.ladder import Ladder
from likely.workbench.model import possible_ends
from likely.workbench.quantiles import MIDDLE, inner_ends
from likely.workbench.table import Table


class Calibrated(NamedTuple):
    """The recalibration of the best model, and the conformal scores of held-out rows."""

    temperature: float
    stretch: float
    scores: np.ndarray
    weights: np.ndarray


def score_rows(ladder: Ladder) -> list[dict[str, Any]]:
    """One row for each model: held-out nats, the gain over the row before, scores."""
    table, rows, before, null = ladder.table, [], None, None
    for name, predictions in ladder.held_out.items():
        w = table.w[predictions.rows]
        nats = evaluate.mean_score(predictions.loss, w)
        gain = _gain(before, predictions, w)
        over_null = _gain(null, predictions, w)
        label = "stacked mixture" if name == STACK else ladder.candidates[name].label
        row = {
            "name": name,
            "label": label,
            "nats": nats.value,
            "error": nats.error,
            "gain": gain.value,
            "gain_error": gain.error,
            "gain_over_null": over_null.value,
            "gain_over_null_error": over_null.error,
            "scores": standard_scores(table, predictions),
        }
        if name == STACK:
            row["weights"] = ladder.stack_weights
        rows.append(row)
        before, null = predictions, null or predictions
    return rows


def _gain(
    before: HeldOutPredictions | None, predictions: HeldOutPredictions, w: np.ndarray
) -> evaluate.Score:
    if before is None:
        return evaluate.Score(0.0, 0.0)
    return evaluate.paired_difference(before.loss, predictions.loss, w)


def standard_scores(table: Table, predictions: HeldOutPredictions) -> dict[str, float]:
    """Familiar scores, such as the accuracy or the root mean squared error."""
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    if predictions.probs is None:
        median = predictions.quantiles[:, MIDDLE]
        if table.target.kind == "count":
            median = np.round(median)
        mse = evaluate.squared_error(y, predictions.mean, w).value
        return {
            "rmse": float(np.sqrt(mse)),
            "mae": evaluate.absolute_error(y, median, w).value,
            "r2": evaluate.r_squared(y, predictions.mean, w),
        }
    scores = {
        "accuracy": 1 - evaluate.error_rate(y, predictions.probs, w).value,
        "brier": evaluate.brier(y, predictions.probs, w).value,
        "ece": evaluate.reliability(y, predictions.probs, w).expected_error,
    }
    if predictions.probs.shape[1] == 2:
        scores["auc"] = evaluate.operating_points(y, predictions.probs[:, 1], w).area
    return scores


def calibrate(table: Table, predictions: HeldOutPredictions) -> Calibrated:
    """The temperature or stretch that fits held-out rows, and their conformal scores."""
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    if predictions.probs is not None:
        T = evaluate.temperature(y, predictions.probs, w)
        probs = evaluate.temperature_scaled(predictions.probs, T)
        return Calibrated(T, 1.0, evaluate.class_scores(y, probs), w)
    s = _stretch(predictions, w) if table.target.kind != "count" else 1.0
    ends = inner_ends(predictions.quantiles, s)
    return Calibrated(1.0, s, evaluate.interval_scores(y, *ends), w)


def _stretch(predictions: HeldOutPredictions, w: np.ndarray) -> float:
    """The factor that gives normal scores of F(y) variance 1, if it is significant."""
    from scipy.stats import norm

    z = norm.ppf(np.clip(predictions.pit, 1e-4, 1 - 1e-4))
    s = float(np.sqrt(w @ z**2 / w.sum()))
    noise = 1 / np.sqrt(2 * w.sum())
    return s if abs(np.log(s)) > 3 * noise else 1.0


def out_of_fold(
    table: Table, predictions: HeldOutPredictions, coverage: float
) -> dict[str, Any]:
    """Intervals or sets of each row by the scores of other folds, and their coverage."""
    fold = table.folds.numbers[predictions.rows]
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    whole = calibrate(table, predictions)
    q = np.zeros(len(y))
    for number in np.unique(fold):
        others = fold != number
        if not others.any():
            others[:] = True
        q[fold == number] = evaluate.radius(whole.scores[others], coverage, w[others])
    if predictions.probs is not None:
        probs = evaluate.temperature_scaled(predictions.probs, whole.temperature)
        sets = 1 - probs <= q[:, None]
        share, size = evaluate.coverage_of_sets(y, sets, w)
        return {"probs": probs, "sets": sets, "coverage": share, "size": size}
    low, high = evaluate.stretched(*inner_ends(predictions.quantiles, whole.stretch), q)
    low, high = possible_ends(low, high, table.target.kind)
    share = evaluate.coverage_of_intervals(y, low, high, w)
    width = float(w @ (high - low) / w.sum())
    return {"low": low, "high": high, "coverage": share, "size": width}
