"""Silhouettes of rows, cluster by cluster."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, figure


def silhouette(found: Any, *, title: str = "") -> Figure:
    """Draw the silhouette of each row as a bar, sorted within its cluster.

    Args:
        found: what `likely.latent.silhouette` returns.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(5.0, 4.2, title)
    first, ticks, names = 0, [], list(found.of_clusters)
    for number, name in enumerate(names):
        own = np.sort(found.values[(found.labels == name) & ~np.isnan(found.values)])
        places = first + np.arange(len(own))
        colour = COLOURS[number % (len(COLOURS) - 1)]
        ax.fill_betweenx(places, 0, own, step="mid", color=colour, lw=0)
        ticks.append(first + len(own) / 2)
        first += len(own) + max(1, len(found.values) // 50)
    ax.axvline(found.mean, color=INK, lw=0.9, ls="--")
    ax.set(xlabel=f"silhouette (mean {found.mean:.2f})", ylabel="cluster")
    ax.set_yticks(ticks, [str(name) for name in names])
    return drawn
