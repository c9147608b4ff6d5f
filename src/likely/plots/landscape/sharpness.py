"""Rises of a loss near fitted weights, as bars with errors."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, figure


def sharpness(
    found: Any, *, title: str = "Rises of the loss near the weights"
) -> Figure:
    """Draw each measured rise with two standard errors.

    Args:
        found: from `diagnostics.sharpness`.
        title: the title of the figure.
    """
    bars = {
        f"within {found.rho:g}": found.rise,
        f"one step of SAM, {found.rho:g}": found.sam_rise,
        f"adaptive, within {found.adaptive_rho:g}": found.adaptive_rise,
        f"random changes of {100 * found.noise:g} %": found.random_rise,
    }
    drawn, (ax,) = figure(6.4, 2.6, title)
    at = np.arange(len(bars))[::-1]
    values = [score.value for score in bars.values()]
    errors = [2 * score.error for score in bars.values()]
    ax.barh(
        at, values, xerr=errors, color=COLOURS[0], ecolor=INK, height=0.6, capsize=3
    )
    ax.set_yticks(at, list(bars))
    ax.set(xlabel="nats")
    return drawn
