"""Scores and softmax of attention over the size of a head, with and without 1/√d."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import INK, SOFT, figure, series

PANELS = {
    "variance": "variance of the scores",
    "entropy": "entropy, nats",
    "largest": "largest probability",
    "gradient": "norm of the softmax's Jacobian",
}


def scaling_study(
    study: Any, *, title: str = "Attention with and without 1/√d"
) -> Figure:
    """Draw the four quantities over the size d of a head.

    Args:
        study: from `diagnostics.scaling_study`.
        title: the title of the figure.
    """
    drawn, axes = figure(12.0, 3.1, columns=len(PANELS))
    lines = (("q·k", study.plain), ("q·k/√d", study.scaled))
    for ax, (field, label) in zip(axes, PANELS.items(), strict=True):
        for i, (name, found) in enumerate(lines):
            ax.plot(study.sizes, getattr(found, field), label=name, ms=4, **series(i))
        ax.set_xscale("log", base=2)
        ax.set(xlabel="d", ylabel=label)
    axes[0].set_yscale("log", base=2)
    for law in (study.law, np.ones(len(study.sizes))):
        axes[0].plot(study.sizes, law, color=SOFT, ls="--", lw=1, zorder=0)
    axes[1].axhline(np.log(study.n_keys), color=SOFT, ls="--", lw=1)
    axes[1].set_ylim(bottom=0)
    axes[2].set_ylim(0, 1.02)
    axes[3].set_ylim(bottom=0)
    axes[0].legend(frameon=False, fontsize="small")
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
