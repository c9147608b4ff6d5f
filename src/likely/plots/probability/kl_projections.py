"""A density and the Gaussians nearest to it in both directions of the divergence."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def kl_projections(
    found: Any, *, title: str = "Two directions of the divergence"
) -> Figure:
    """Draw p with the minimiser of KL(p, q), which covers, and of KL(q, p), which seeks.

    Args:
        found: from `information.kl_projections`.
        title: the title of the figure.
    """
    drawn, axes = figure(9.0, 3.2, columns=2)
    sides = (
        ("KL(p, q): covers p", [found.covering]),
        ("KL(q, p): seeks a mode", found.local),
    )
    for ax, (name, gaussians), colour in zip(axes, sides, COLOURS[:2], strict=True):
        ax.fill_between(found.y, found.density, color=SOFT, alpha=0.25, lw=0, label="p")
        for i, one in enumerate(gaussians):
            z = (found.y - one.mean) / one.std
            q = np.exp(-0.5 * z**2) / (one.std * np.sqrt(2 * np.pi))
            words = (
                f"q: mean {one.mean:.2f}, deviation {one.std:.2f}, {one.kl:.3f} nats"
            )
            style = "-" if i == 0 else ":"
            ax.plot(
                found.y, q, style, color=colour, lw=2 if i == 0 else 1.5, label=words
            )
        ax.set_title(name, loc="left", color=INK, fontsize="medium")
        ax.set_ylim(0, 1.55 * ax.get_ylim()[1])  # room for the legend
        ax.set_xlabel("y")
        ax.legend(frameon=False, fontsize="small", loc="upper left")
    axes[0].set_ylabel("density")
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
