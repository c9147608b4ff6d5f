"""Two images side by side, with lines between points that were matched."""

from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, SOFT
from likely.plots.vision.canvas import as_picture, canvas

GAP = 8
"""Pixels between the two images."""


def keypoint_matches(
    images: tuple[Any, Any],
    source: Any,
    target: Any,
    *,
    inliers: Any = None,
    outline: Any = None,
    title: str = "",
) -> Figure:
    """Draw two images side by side and lines between points of one and of the other.

    Args:
        images: both, (h, w) or (h, w, c), with the same kind of pixels.
        source: (n, 2) points of the first.
        target: (n, 2) points of the second that they were matched with.
        inliers: (n,) whether a match agrees with the map that was found; others are grey.
        outline: (m, 2) a polygon to draw in the second image, such as the border of the
            first under that map.
        title: the title of the figure.
    """
    a, b = (as_picture(image) for image in images)
    P, Q = (np.asarray(p, np.float64).reshape(-1, 2) for p in (source, target))
    if P.shape != Q.shape or a.shape[2:] != b.shape[2:]:
        raise InputError("give as many points of both images, and images of one kind.")
    shift = a.shape[1] + GAP
    height = max(a.shape[0], b.shape[0])
    both = np.full((height, shift + b.shape[1], *a.shape[2:]), a.max(), a.dtype)
    both[: a.shape[0], : a.shape[1]], both[: b.shape[0], shift:] = a, b
    drawn, ax = canvas(both, title)
    mask = np.ones(len(P), bool) if inliers is None else np.asarray(inliers, bool)
    lines = np.stack([P, Q + [shift, 0]], 1)
    for part, colour, width in ((~mask, SOFT, 0.5), (mask, COLOURS[2], 0.6)):
        style = {"colors": colour, "linewidths": width, "alpha": 0.8}
        ax.add_collection(LineCollection(list(lines[part]), **style))
    if outline is not None:
        ring = np.asarray(outline, np.float64) + [shift, 0]
        ax.plot(*np.concatenate([ring, ring[:1]]).T, color=COLOURS[1], lw=1.5)
        drawn.axes[0].set(xlim=(-0.5, both.shape[1] - 0.5), ylim=(height - 0.5, -0.5))
    return drawn
