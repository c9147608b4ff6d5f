"""Responsibilities: how sure a mixture is of the component of each row."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, figure


def responsibilities(q: Any, *, title: str = "") -> Figure:
    """Draw the probabilities of components as stacked bars, one column for each row of data.

    Rows are sorted by their most probable component, and by how probable it is.

    Args:
        q: (n, k) probabilities, such as `GaussianMixture.predict_proba` returns.
        title: the title of the figure.
    """
    q = np.asarray(q, np.float64)
    if q.ndim != 2 or not np.allclose(q.sum(1), 1, atol=1e-6):
        raise InputError(
            f"q has shape {q.shape}; give probabilities of components that sum to 1 in each row."
        )
    best = q.argmax(1)
    order = np.lexsort((-q.max(1), best))
    drawn, (ax,) = figure(7.0, 2.8, title)
    places, bottom = np.arange(len(q)), np.zeros(len(q))
    for c in range(q.shape[1]):
        top = bottom + q[order, c]
        colour = COLOURS[c % (len(COLOURS) - 1)]
        ax.fill_between(
            places, bottom, top, step="mid", color=colour, lw=0, label=str(c)
        )
        bottom = top
    ax.set(
        xlabel="rows", ylabel="probability", ylim=(0, 1), xlim=(0, max(1, len(q) - 1))
    )
    ax.legend(
        title="component", frameon=False, labelcolor=INK, fontsize="small",
        loc="center left", bbox_to_anchor=(1, 0.5),
    )  # fmt: skip
    return drawn
