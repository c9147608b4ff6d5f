"""Standardised sums beside the normal density, and how fast the distance falls."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure

MAX_PANELS = 3
MAX_POINTS = 400


def central_limit(found: Any, *, title: str = "The central limit") -> Figure:
    """Draw laws of standardised sums with the normal density, and their distances.

    Args:
        found: a result of `probability.central_limit`; up to three of its sums are drawn.
        title: the title of the figure.
    """
    sums = found.sums
    if not sums:
        raise InputError("found has no sums; give central_limit one or more n.")
    pick = np.unique(
        np.linspace(0, len(sums) - 1, min(MAX_PANELS, len(sums))).astype(int)
    )
    drawn, axes = figure(3.0 * (len(pick) + 1), 3.2, title, columns=len(pick) + 1)
    z = np.linspace(-4, 4, 161)
    normal = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    for ax, i in zip(axes[:-1], pick, strict=True):
        one = sums[i]
        if one.lattice:
            ax.vlines(one.z, 0, one.density, color=COLOURS[0], lw=2.0)
        else:
            shown = np.flatnonzero(np.abs(one.z) <= 4)
            shown = shown[:: -(-len(shown) // MAX_POINTS)]
            ax.fill_between(
                one.z[shown], one.density[shown], color=COLOURS[0], alpha=0.5, lw=0
            )
        ax.plot(z, normal, color=INK, lw=1.2)
        ax.set(xlim=(-4, 4), xlabel=f"n = {one.n}: distance {one.distance:.2g}")
        ax.set_yticks([])
    ax = axes[-1]
    ax.loglog(found.n, found.bound, color=SOFT, ls="dashed", label="Berry-Esseen")
    ax.loglog(found.n, found.distance, color=COLOURS[1], marker="o", label="measured")
    ax.set(xlabel="n", ylabel="distance of cdfs")
    ax.legend(frameon=False, fontsize="small")
    return drawn
