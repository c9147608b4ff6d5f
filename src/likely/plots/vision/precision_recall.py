"""Precision over recall of detections, class by class."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, figure


def precision_recall(
    recalls: Any, curves: Any, *, names: Any = None, title: str = ""
) -> Figure:
    """Draw precision, made to fall, over recall.

    Args:
        recalls: (r,) rising, such as `MeanAveragePrecision.recalls`.
        curves: (c, r) precision of each class, such as `MeanAveragePrecision.curves[0]`.
        names: (c,) of the classes.
        title: the title of the figure.
    """
    x, table = np.asarray(recalls, np.float64), np.asarray(curves, np.float64)
    if table.ndim != 2 or table.shape[1:] != x.shape or not x.size:
        raise InputError(
            f"recalls and curves have shapes {x.shape} and {table.shape}; give (r,) and "
            "(c, r). The protocol 'voc' reads no curve."
        )
    drawn, (ax,) = figure(4.5, 3.5, title)
    for i, row in enumerate(table):
        name = f"class {i}" if names is None else str(names[i])
        label = f"{name}: {row.mean():.3f}"
        ax.plot(x, row, color=COLOURS[i % len(COLOURS)], label=label)
    ax.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02))
    ax.legend(frameon=False, fontsize="small")
    return drawn
