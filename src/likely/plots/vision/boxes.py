"""Boxes on an image: what was detected, and what is there."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from likely.core.checks import InputError
from likely.plots.style import COLOURS
from likely.plots.vision.canvas import canvas


def boxes(
    image: Any,
    found: Any,
    *,
    labels: Any = None,
    scores: Any = None,
    true_boxes: Any = (),
    title: str = "",
) -> Figure:
    """Draw boxes on an image, each with its label and score.

    Args:
        image: (h, w) or (h, w, c).
        found: (n, 4) corners x1, y1, x2, y2; pixel (i, j) covers i..i+1 and j..j+1.
        labels: (n,) what they are; each has its colour.
        scores: (n,) how sure they are.
        true_boxes: (m, 4) boxes that are there, drawn dashed.
        title: the title of the figure.
    """
    table = np.asarray(found, np.float64).reshape(-1, 4)
    for name, given in (("labels", labels), ("scores", scores)):
        if given is not None and len(given) != len(table):
            raise InputError(f"{name} has {len(given)} entries for {len(table)} boxes.")
    kinds = [] if labels is None else list(dict.fromkeys(np.asarray(labels).tolist()))
    drawn, ax = canvas(image, title)
    for box in np.asarray(true_boxes, np.float64).reshape(-1, 4):
        ax.add_patch(_rectangle(box, "white", "--"))
    for i, box in enumerate(table):
        own = 0 if labels is None else kinds.index(np.asarray(labels).tolist()[i])
        colour = COLOURS[own % len(COLOURS)]
        ax.add_patch(_rectangle(box, colour, "-"))
        words = [] if labels is None else [str(labels[i])]
        words += [] if scores is None else [f"{float(scores[i]):.2f}"]
        if words:
            style = {"facecolor": colour, "edgecolor": "none", "pad": 1}
            ax.text(
                box[0] - 0.5, box[1] - 0.5, " ".join(words), fontsize="x-small", color="white",
                va="bottom", bbox=style, parse_math=False, clip_on=True,
            )  # fmt: skip
    return drawn


def _rectangle(box: np.ndarray, colour: str, line: str) -> Rectangle:
    x1, y1, x2, y2 = box - 0.5  # the corner of a pixel is half a pixel from its middle
    return Rectangle(
        (x1, y1), x2 - x1, y2 - y1, fill=False, color=colour, ls=line, lw=1.3
    )
