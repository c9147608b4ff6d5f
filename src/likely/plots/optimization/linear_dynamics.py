"""The modes of a linear network over the time of its training."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def linear_dynamics(
    found: Any, *, title: str = "Modes of a linear network in training"
) -> Figure:
    """Draw the strength of each mode: lines by the closed form, points in training.

    The second panel is the difference of the two, beside what the modified flow predicts.

    Args:
        found: from `diagnostics.linear_dynamics`.
        title: the title of the figure.
    """
    drawn, (left, right) = figure(9.4, 3.6, title, columns=2)
    every = max(1, len(found.times) // 30)
    for i, s in enumerate(found.strengths):
        colour = COLOURS[i % len(COLOURS)]
        left.plot(
            found.times, found.closed[:, i], color=colour, lw=1.5, label=f"s = {s:.3g}"
        )
        left.plot(
            found.times[::every], found.trained[::every, i], "o", ms=3, color=colour
        )
        left.plot(found.times, found.flow[:, i], color=INK, lw=0.8, ls=":")
        right.plot(
            found.times[::every],
            (found.trained - found.closed)[::every, i],
            "o",
            ms=3,
            color=colour,
        )
        right.plot(found.times, found.predicted_gap[:, i], color=colour, lw=1)
        half = found.half_times[0, i]
        if np.isfinite(half) and half > 0:
            left.plot([half], [0.5 * s], "|", ms=9, color=INK)
    left.set(xlabel="time (η · steps)", ylabel="strength, points in training")
    left.legend(frameon=False, fontsize="x-small")
    right.axhline(0, color=SOFT, lw=0.7)
    right.set(
        xlabel="time (η · steps)", ylabel="training − closed form, lines predicted"
    )
    return drawn
