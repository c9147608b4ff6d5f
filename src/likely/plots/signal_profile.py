"""Variances of signals and gradients over the depth of networks."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import INK, figure, series


def signal_profile(
    profiles: Mapping[str, Any], *, title: str = "Signals through depth"
) -> Figure:
    """Draw the variances over the layers, in two panels with logarithmic axes.

    Args:
        profiles: results of `diagnostics.signal_profile` by name, each with `values` and
            `gradients`.
        title: the title of the figure.
    """
    drawn, axes = figure(8.0, 3.2, columns=2)
    panels = (("values", "variance of outputs"), ("gradients", "of gradients"))
    for ax, (field, label) in zip(axes, panels, strict=True):
        for i, (name, profile) in enumerate(profiles.items()):
            numbers = np.asarray(getattr(profile, field), np.float64)
            every = max(1, len(numbers) // 8)
            ax.plot(numbers, label=name, lw=1.6, ms=4, markevery=every, **series(i))
        ax.set_yscale("log")
        ax.set(xlabel="layer", ylabel=label)
    axes[0].legend(frameon=False, fontsize="small")
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
