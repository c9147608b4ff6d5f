"""A mixture in one dimension: its density is the sum of those of its components."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure


def mixture_density(
    x: Any, log_joint: Any, *, observations: Any = None, title: str = ""
) -> Figure:
    """Draw p(x) = Σ p(x | z) p(z), its parts, and below them the probability of each z.

    Args:
        x: (n,) places, from left to right.
        log_joint: (n, k) log p(x, z) of each place and each component.
        observations: numbers whose histogram is drawn behind.
        title: the title of the figure.
    """
    x, joint = np.asarray(x, np.float64), np.exp(np.asarray(log_joint, np.float64))
    if x.ndim != 1 or joint.ndim != 2 or len(joint) != len(x):
        raise InputError(
            f"x has shape {x.shape} and log_joint {joint.shape}; give n places, and a row "
            "for each of them."
        )
    drawn, (left, right) = figure(8.0, 3.2, title, columns=2)
    if observations is not None:
        left.hist(np.ravel(observations), "auto", density=True, color=SOFT, alpha=0.35)
    total = joint.sum(1)
    left.plot(x, total, color=INK, lw=1.8, label="p(x)")
    for z in range(joint.shape[1]):
        colour = COLOURS[z % (len(COLOURS) - 1)]
        left.plot(x, joint[:, z], color=colour, lw=1.2, label=f"p(x | z={z}) p(z={z})")
        share = joint[:, z] / np.where(total > 0, total, 1.0)
        right.plot(x, share, color=colour, lw=1.4)
    left.legend(frameon=False, labelcolor=INK, fontsize="small")
    left.set(xlabel="x", ylabel="density")
    right.set(xlabel="x", ylabel="p(z | x)", ylim=(-0.03, 1.03))
    return drawn
