"""Loss, gradient and step size over the steps of solvers."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from likely.plots.runs import named
from likely.plots.style import INK, figure, series
from likely.typing import Solution, Trace

PANELS = (
    ("loss", "loss"),
    ("gradient", "largest gradient entry"),
    ("step", "step size"),
)
MAX_MARKERS = 8


def trace(
    runs: Solution | Trace | Mapping[str, Solution | Trace],
    *,
    title: str = "Progress of the solvers",
) -> Figure:
    """Draw three panels over the steps, logarithmic where all values are positive.

    The gradient may grow while the loss falls.

    Args:
        runs: a solution, or several by name.
        title: the title of the figure.
    """
    drawn, axes = figure(9.6, 3.2, columns=len(PANELS))
    for ax, (field, label) in zip(axes, PANELS, strict=True):
        lowest = np.inf
        for i, (name, run) in enumerate(named(runs).items()):
            values = np.asarray(getattr(run, field), np.float64)
            steps = np.flatnonzero(np.isfinite(values))
            if not len(steps):
                continue
            lowest = min(lowest, values[steps].min())
            every = max(1, len(steps) // MAX_MARKERS)
            style = {"lw": 1.6, "ms": 4, "mec": "white", "mew": 0.5, "markevery": every}
            ax.plot(steps, values[steps], label=name or None, **style, **series(i))
        if 0 < lowest < np.inf:
            ax.set_yscale("log")
        ax.set(xlabel="step", ylabel=label)
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    if axes[0].get_legend_handles_labels()[1]:
        axes[0].legend(frameon=False, fontsize="small")
    return drawn
