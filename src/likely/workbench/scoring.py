"""Scores of held-out predictions: familiar scores, calibration, coverage."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from likely import evaluate
from likely.workbench import levels, survival
from likely.workbench.fitted import FittedMixture
from likely.workbench.held_out import HeldOutPredictions
from likely.workbench.model import intervals
from likely.workbench.quantiles import HIGH, LOW, MIDDLE, inner_ends, quantile_table
from likely.workbench.table import Table

MIN_ATOM = 0.05
"""A value that so large a share of the rows has is an atom of the target."""
MEDIAN_NOISE = 1.2
"""The standard error of the logarithm of a median score of one row, divided by √n for n."""
MAX_ROWS_FOR_WIDTH, MAX_WIDTH_RATIO = 500, 1.4
"""The rows by which widths of models are compared, and the ratio that is left as it is."""
ATOM_MARGIN = 0.05
"""What is added to the conformal scores of atoms, in units of the interval."""


class Calibrated(NamedTuple):
    """The recalibration of the best model, and the conformal scores of held-out rows."""

    temperature: float
    stretch: float
    scores: np.ndarray
    weights: np.ndarray
    scale: str = "width"
    """What the scores of numbers measure: "width" or "level" (see `model.intervals`)."""


def standard_scores(table: Table, predictions: HeldOutPredictions) -> dict[str, float]:
    """Familiar scores, such as the accuracy or the root mean squared error."""
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    if predictions.probs is None:
        median = predictions.quantiles[:, MIDDLE]
        if table.target.kind == survival.KIND:
            fold = table.folds.numbers[predictions.rows]
            return survival.survival_scores(y, median, w, fold)
        if table.target.kind == "count":
            median = np.round(median)
        mse = evaluate.squared_error(y, predictions.mean, w).value
        return {
            "rmse": float(np.sqrt(mse)),
            "mae": evaluate.absolute_error(y, median, w).value,
            "r2": evaluate.r_squared(y, predictions.mean, w),
        }
    binary = predictions.probs.shape[1] == 2
    scores = {
        "accuracy": 1 - evaluate.error_rate(y, predictions.probs, w).value,
        # of two classes scikit-learn counts one
        "brier": evaluate.brier(y, predictions.probs, w).value / (1 + binary),
        "ece": evaluate.reliability(y, predictions.probs, w).expected_error,
    }
    if binary and len(np.unique(y)) == 2:
        scores["auc"] = evaluate.operating_points(y, predictions.probs[:, 1], w).area
    if table.target.kind == "ordinal":
        middle = evaluate.median_levels(predictions.probs)
        scores["mae"] = evaluate.absolute_error(y, middle, w).value
        scores["rps"] = evaluate.ranked_probability(y, predictions.probs, w).value
    return scores


def calibrate(table: Table, predictions: HeldOutPredictions) -> Calibrated:
    """The temperature or stretch that fits held-out rows, and their conformal scores."""
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    if predictions.probs is not None:
        T = evaluate.temperature(y, predictions.probs, w)
        probs = evaluate.temperature_scaled(predictions.probs, T)
        return Calibrated(T, 1.0, evaluate.class_scores(y, probs), w)
    kind = table.target.kind
    if kind == survival.KIND:
        u, mass = survival.residuals(y, predictions.pit, w)
        scores = np.minimum(np.abs(ndtri(u)), levels.MAX_SCORE)
        return Calibrated(1.0, 1.0, scores, mass, "level")
    s = _stretch(predictions, w) if kind == "real" else 1.0
    if kind in levels.KINDS:
        shown = predictions.quantiles, predictions.zero
        nested = levels.NestedIntervals.of_kind(*shown, kind)
        scores, scale = nested.scores(y), "level"
    else:
        ends = inner_ends(predictions.quantiles, s)
        scores, scale = evaluate.interval_scores(y, *ends), "width"
        scores = scores / fold_scales(scores, table.folds.numbers[predictions.rows], w)
    return Calibrated(1.0, s, scores + ATOM_MARGIN * atoms(y, w), w, scale)


def fold_scales(scores: np.ndarray, fold: np.ndarray, w: np.ndarray) -> np.ndarray:
    """How large the scores of each row's fold are, beside those of a typical fold.

    With heavy tails one outlying row decides how wide a model's own intervals are: they
    are wide in all folds but the one that holds it out, and in the final model. So folds
    are compared by their median scores, as far as these differ by more than chance.
    """
    numbers, place = np.unique(fold, return_inverse=True)
    logs, noise = np.zeros(len(numbers)), np.zeros(len(numbers))
    for k in range(len(numbers)):
        own = place == k
        logs[k] = np.log(max(_median(scores[own], w[own]), 1e-300))
        noise[k] = MEDIAN_NOISE**2 / w[own].sum()
    gaps = logs - np.median(logs)
    variance = float(gaps @ gaps) / max(len(gaps) - 1, 1)
    chance = 4 * float(noise.mean())
    share = max(0.0, 1 - chance / variance) if variance > 0 else 0.0
    return np.exp(share * gaps)[place]


def for_final(
    calibrated: Calibrated,
    table: Table,
    predictions: HeldOutPredictions,
    final: FittedMixture,
) -> Calibrated:
    """The scores in units of the final model's own intervals.

    A model that is fitted again to all rows may judge its own error quite differently from
    those that were held out, where a few outlying rows decide about it. If its intervals
    are much wider or narrower than theirs, the scores make up for it.
    """
    if calibrated.scale != "width" or predictions.probs is not None:
        return calibrated
    step = max(1, len(table) // MAX_ROWS_FOR_WIDTH)
    rows = np.arange(0, len(table), step)
    own = quantile_table(final.predict_dist(table.frame.take(pa.array(rows))))
    fold = table.folds.numbers[predictions.rows]
    width = predictions.quantiles[:, HIGH] - predictions.quantiles[:, LOW]
    typical = np.median([np.median(width[fold == k]) for k in np.unique(fold)])
    ratio = typical / max(np.median(own[:, HIGH] - own[:, LOW]), 1e-300)
    if 1 / MAX_WIDTH_RATIO < ratio < MAX_WIDTH_RATIO or not np.isfinite(ratio):
        return calibrated
    return calibrated._replace(scores=calibrated.scores * ratio)


def _median(values: np.ndarray, w: np.ndarray) -> float:
    order = np.argsort(values, kind="stable")
    below = np.cumsum(w[order])
    return float(values[order[np.searchsorted(below, 0.5 * below[-1])]])


def atoms(y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Which rows have a value that many rows have.

    Their scores lie at one place. If the radius were there, a small change of the model
    would move all of them to the other side, so it is kept away from there.
    """
    _, place = np.unique(y, return_inverse=True)
    return (np.bincount(place, w) >= MIN_ATOM * w.sum())[place]


def _stretch(predictions: HeldOutPredictions, w: np.ndarray) -> float:
    """The factor that gives normal scores of F(y) variance 1, if it is significant."""
    from scipy.stats import norm

    z = norm.ppf(np.clip(predictions.pit, 1e-4, 1 - 1e-4))
    s = float(np.sqrt(w @ z**2 / w.sum()))
    noise = 1 / np.sqrt(2 * w.sum())
    return s if abs(np.log(s)) > 3 * noise else 1.0


def out_of_fold(
    table: Table,
    predictions: HeldOutPredictions,
    coverage: float,
    whole: Calibrated,
) -> dict[str, Any]:
    """Intervals or sets of each row by the scores of other folds, and their coverage."""
    fold = table.folds.numbers[predictions.rows]
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    q = np.zeros(len(y))
    for number in np.unique(fold):
        others = fold != number
        if not others.any():
            others[:] = True
        weights = whole.weights[others]
        if not weights.any():
            weights = w[others]
        q[fold == number] = evaluate.radius(whole.scores[others], coverage, weights)
    if predictions.probs is not None:
        probs = evaluate.temperature_scaled(predictions.probs, whole.temperature)
        sets = 1 - probs <= q[:, None]
        share, size = evaluate.coverage_of_sets(y, sets, w)
        return {"probs": probs, "sets": sets, "coverage": share, "size": size}
    kind, shown = table.target.kind, (predictions.quantiles, predictions.zero)
    low, high = intervals(*shown, q, kind, whole.stretch, whole.scale)
    width = float(w @ (high - low) / w.sum())
    inside = (low <= y) & (y <= high)
    possible = inside
    if kind == survival.KIND:
        inside, w = whole.scores <= q, whole.weights
        possible = survival.possible(y, low, high)
    share = float(w @ inside / w.sum())
    error = coverage_error(inside, fold, w)
    found = {"low": low, "high": high, "coverage": share, "size": width}
    found["inside"] = possible
    return {**found, "coverage_error": error}


def coverage_error(inside: np.ndarray, fold: np.ndarray, w: np.ndarray) -> float:
    """The standard error of a coverage: of single rows, or of folds where it is larger."""
    total = w.sum()
    share = float(w @ inside / total)
    alone = np.sqrt(share * (1 - share) * float(w @ w) / total**2)
    _, place = np.unique(fold, return_inverse=True)
    sums, covered = np.bincount(place, w), np.bincount(place, w * inside)
    k = len(sums)
    if k < 2:
        return float(alone)
    gaps = covered - share * sums
    return float(max(alone, np.sqrt(k / (k - 1) * (gaps @ gaps)) / total))
