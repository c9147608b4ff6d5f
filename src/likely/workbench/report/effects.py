"""The chart of the effect of one column on the predictions."""

from typing import Any

import numpy as np

from likely.core.written_numbers import yes_no
from likely.workbench.report.charts import Axes, rows_chart, shortened
from likely.workbench.report.contents import Report
from likely.workbench.report.markup import figure
from likely.workbench.report.measured import EffectFacts


def effect(report: Report, found: EffectFacts) -> str:
    """The mean prediction along a column: a curve, or a dot for each category."""
    means, errors = np.array(found.means, float), np.array(found.errors, float)
    if not (np.isfinite(means).all() and np.isfinite(errors).all()):
        return ""  # numbers so large that their means are not
    which = means.shape[1] - 1
    if which > 1:
        which = int(np.argmax(np.ptp(means, axis=0)))
    target = report.target
    label = f"predicted {target.name}"
    if report.is_class:
        label = f"P({target.classes[which]})"
    mean, error = means[:, which], 2 * errors[:, which]
    low, high = mean - error, mean + error
    if report.is_class:
        low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    elif target.kind not in ("real", "classes", "binary") and (mean >= 0).all():
        low = np.maximum(low, 0)
    caption = f"{found.column}: mean over rows, ± 2 standard deviations over folds."
    title = f"Effect of {found.column}"
    if found.kind not in ("number", "date"):
        names = [shown(value, found.kind) for value in found.values]
        rows = [*zip(names, mean, low, high, strict=True)]
        picture = rows_chart(
            rows, title=title, label=label, zero=False, size=360,
            ends=_ends(low, high, report),
        )  # fmt: skip
        return figure(picture, caption)
    dates = found.kind == "date"
    x = np.array([_time(v) for v in found.values]) if dates else found.values
    labels = shortened(found.column, 40), label
    axes = Axes((x[0], x[-1]), _ends(low, high, report), labels=labels, dates=dates)
    axes.band(x, low, high)
    axes.line(x, mean)
    return figure(axes.svg(title), caption)


def _ends(low: np.ndarray, high: np.ndarray, report: Report) -> tuple[float, float]:
    """The ends of the axis of predictions; probabilities stay between 0 and 1."""
    pad = 0.05 * max(float(high.max() - low.min()), 1e-9)
    ends = float(low.min()) - pad, float(high.max()) + pad
    if report.is_class:
        return max(ends[0], 0.0), min(ends[1], 1.0)
    if low.min() >= 0 and report.target.kind != "real":
        return max(ends[0], 0.0), ends[1]
    return ends


def shown(value: Any, kind: str) -> str:
    """A category, or a truth value as yes or no."""
    return yes_no(value) if kind == "boolean" else str(value)


def _time(value: Any) -> float:
    """A date in microseconds since 1970."""
    if isinstance(value, int | float):
        return float(value)
    return float(np.datetime64(value, "us").astype(np.int64))
