"""The verdict on a climbed ladder, as plain numbers: scores, gains, calibration, coverage."""

from typing import Any, NamedTuple

import numpy as np

from likely import evaluate
from likely.workbench.held import Held
from likely.workbench.ladder import Ladder
from likely.workbench.model import fitting
from likely.workbench.quantiles import MIDDLE, inner_ends
from likely.workbench.rungs import STACK
from likely.workbench.table import Table


class Calibrated(NamedTuple):
    """What makes the winner honest: one number, and the scores of held-out rows."""

    temperature: float
    stretch: float
    scores: np.ndarray
    weights: np.ndarray


def ladder_rows(ladder: Ladder) -> list[dict[str, Any]]:
    """One row a rung: held-out nats, the gain over the rung before, familiar scores."""
    table, rows, before, null = ladder.table, [], None, None
    for name, held in ladder.held.items():
        w = table.w[held.rows]
        nats = evaluate.mean_score(held.loss, w)
        gain = _gain(before, held, w)
        over_null = _gain(null, held, w)
        label = "stacked mixture" if name == STACK else ladder.rungs[name].label
        row = {
            "name": name,
            "label": label,
            "nats": nats.value,
            "error": nats.error,
            "gain": gain.value,
            "gain_error": gain.error,
            "gain_over_null": over_null.value,
            "gain_over_null_error": over_null.error,
            "scores": familiar(table, held),
        }
        if name == STACK:
            row["weights"] = ladder.stack_weights
        rows.append(row)
        before, null = held, null or held
    return rows


def _gain(before: Held | None, held: Held, w: np.ndarray) -> evaluate.Score:
    if before is None:
        return evaluate.Score(0.0, 0.0)
    return evaluate.paired_difference(before.loss, held.loss, w)


def familiar(table: Table, held: Held) -> dict[str, float]:
    """The scores that people know."""
    y, w = table.y[held.rows], table.w[held.rows]
    if held.probs is None:
        median = held.quantiles[:, MIDDLE]
        if table.target.kind == "count":
            median = np.round(median)
        return {
            "rmse": float(np.sqrt(evaluate.squared_error(y, held.mean, w).value)),
            "mae": evaluate.absolute_error(y, median, w).value,
            "r2": evaluate.r_squared(y, held.mean, w),
        }
    found = {
        "accuracy": 1 - evaluate.error_rate(y, held.probs, w).value,
        "brier": evaluate.brier(y, held.probs, w).value,
        "ece": evaluate.reliability(y, held.probs, w).expected_error,
    }
    if held.probs.shape[1] == 2:
        found["auc"] = evaluate.operating_points(y, held.probs[:, 1], w).area
    return found


def best(rows: list[dict[str, Any]]) -> str:
    """The rung with the lowest held-out nats."""
    return min(rows, key=lambda row: row["nats"])["name"]


def calibrate(table: Table, held: Held) -> Calibrated:
    """Temperature or stretch from held-out rows, and the scores that follow."""
    y, w = table.y[held.rows], table.w[held.rows]
    if held.probs is not None:
        T = evaluate.temperature(y, held.probs, w)
        probs = evaluate.heated(held.probs, T)
        return Calibrated(T, 1.0, evaluate.class_scores(y, probs), w)
    s = _stretch(held, w) if table.target.kind != "count" else 1.0
    return Calibrated(
        1.0, s, evaluate.interval_scores(y, *inner_ends(held.quantiles, s)), w
    )


def _stretch(held: Held, w: np.ndarray) -> float:
    """The factor that makes normal scores of F(y) have variance 1, if that is due."""
    from scipy.stats import norm

    z = norm.ppf(np.clip(held.pit, 1e-4, 1 - 1e-4))
    s = float(np.sqrt(w @ z**2 / w.sum()))
    noise = 1 / np.sqrt(2 * w.sum())
    return s if abs(np.log(s)) > 3 * noise else 1.0


def out_of_fold(table: Table, held: Held, coverage: float) -> dict[str, Any]:
    """Intervals or sets of each row by the other folds' scores, and how they cover."""
    fold_of = np.full(len(table), -1)
    for number, weights in enumerate(table.folds.held_out):
        fold_of[weights > 0] = number
    fold = fold_of[held.rows]
    y, w = table.y[held.rows], table.w[held.rows]
    whole = calibrate(table, held)
    q = np.zeros(len(y))
    for number in np.unique(fold):
        others = fold != number
        few = not others.any()
        scores, weights = (
            (whole.scores, w) if few else (whole.scores[others], w[others])
        )
        q[fold == number] = evaluate.radius(scores, coverage, weights)
    if held.probs is not None:
        probs = evaluate.heated(held.probs, whole.temperature)
        sets = 1 - probs <= q[:, None]
        share, size = evaluate.coverage_of_sets(y, sets, w)
        return {"probs": probs, "sets": sets, "coverage": share, "size": size}
    low, high = evaluate.stretched(*inner_ends(held.quantiles, whole.stretch), q)
    low, high = fitting(low, high, table.target.kind)
    share = evaluate.coverage_of_intervals(y, low, high, w)
    width = float(w @ (high - low) / w.sum())
    return {"low": low, "high": high, "coverage": share, "size": width}
