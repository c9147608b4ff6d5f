"""Keypoints on an image: where, how large, and which way they point."""

from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from likely.core.checks import InputError
from likely.plots.style import COLOURS
from likely.plots.vision.canvas import canvas


def keypoints(
    image: Any, points: Any, *, scales: Any = None, angles: Any = None, title: str = ""
) -> Figure:
    """Draw keypoints as circles with a hand.

    Args:
        image: (h, w) or (h, w, c).
        points: (n, 2) x and y.
        scales: (n,) sizes σ; circles have twice this radius. Dots where None.
        angles: (n,) directions in radians, from x towards y.
        title: the title of the figure.
    """
    P = np.asarray(points, np.float64).reshape(-1, 2)
    drawn, ax = canvas(image, title)
    if scales is None:
        ax.scatter(*P.T, s=8, color=COLOURS[1], lw=0)
        return drawn
    r = 2 * np.asarray(scales, np.float64)
    if r.shape != (len(P),) or (angles is not None and len(angles) != len(P)):
        raise InputError(
            f"give one scale and one angle for each of the {len(P)} points."
        )
    rings = [
        Circle((float(x), float(y)), float(s)) for (x, y), s in zip(P, r, strict=True)
    ]
    style = {"edgecolor": COLOURS[1], "facecolor": "none", "linewidth": 0.9}
    ax.add_collection(PatchCollection(rings, **style))
    if angles is not None:
        a = np.asarray(angles, np.float64)
        ends = P + r[:, None] * np.stack([np.cos(a), np.sin(a)], 1)
        ax.add_collection(
            LineCollection(list(np.stack([P, ends], 1)), colors=COLOURS[4], lw=0.9)
        )
    return drawn
