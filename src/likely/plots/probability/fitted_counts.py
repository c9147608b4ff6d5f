"""Probabilities of counts beside those of the law fitted to them."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, figure


def fitted_counts(
    p: Any,
    q: Any,
    *,
    names: tuple[str, str] = ("p", "q"),
    title: str = "Counts and the law fitted to them",
) -> Figure:
    """Draw the probabilities of two distributions over 0, 1, 2, ... side by side.

    Args:
        p: (m,) the probability of each count.
        q: (m,) those of the fitted law.
        names: what the two are called.
        title: the title of the figure.
    """
    p, q = np.asarray(p, float), np.asarray(q, float)
    drawn, (ax,) = figure(6.4, 3.2, title)
    k = np.arange(len(p))
    ax.bar(k - 0.2, p, 0.4, color=COLOURS[0], label=names[0])
    ax.bar(k + 0.2, q, 0.4, color=COLOURS[1], label=names[1])
    ax.set_xticks(k)
    ax.set_xlabel("count")
    ax.set_ylabel("probability")
    ax.legend(frameon=False)
    return drawn
