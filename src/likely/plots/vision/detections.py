"""Images side by side, each with what was detected in it and what is there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK
from likely.plots.vision.canvas import as_picture

INCHES = 2.1
"""The sides of a picture."""


def detections(
    images: Sequence[Any],
    found: Sequence[Any],
    *,
    true_boxes: Sequence[Any] | None = None,
    titles: Sequence[str] = (),
    columns: int = 4,
    min_score: float = 0.3,
    title: str = "",
) -> Figure:
    """Draw images in a grid, with boxes, labels and scores of their detections.

    Args:
        images: (h, w) or (h, w, c) each.
        found: for each image what `predict` of a detector returned: `boxes`, `labels`,
            `scores`, and where they are known `margins`, drawn dotted.
        true_boxes: for each image (k, 4) boxes that are there, drawn dashed.
        titles: a title for each image.
        columns: the number of columns of the grid.
        min_score: detections with lower scores are not drawn.
        title: the title of the figure.
    """
    if len(found) != len(images):
        raise InputError(
            f"there are {len(images)} images and detections of {len(found)}; give both for "
            "each image."
        )
    columns = min(columns, max(1, len(images)))
    rows = -(-len(images) // columns)
    size = (INCHES * columns, (INCHES + 0.2 * bool(titles)) * rows + 0.4 * bool(title))
    drawn = Figure(figsize=size, layout="constrained")
    kinds = sorted({str(label) for each in found for label in each.labels})
    for i, (image, each) in enumerate(zip(images, found, strict=True)):
        ax = drawn.add_subplot(rows, columns, i + 1)
        picture = as_picture(image)
        ax.imshow(picture, cmap="gray" if picture.ndim == 2 else None)
        ax.set_axis_off()
        if i < len(titles):
            ax.set_title(titles[i], fontsize="small", color=INK)
        for box in (
            () if true_boxes is None else np.asarray(true_boxes[i]).reshape(-1, 4)
        ):
            ax.add_patch(_rectangle(box, "white", "--"))
        for k in np.flatnonzero(np.asarray(each.scores) >= min_score):
            label = str(each.labels[k])
            colour = COLOURS[kinds.index(label) % len(COLOURS)]
            ax.add_patch(_rectangle(each.boxes[k], colour, "-"))
            if each.margins is not None:
                ax.add_patch(_rectangle(each.outer[k], colour, ":"))
            ax.text(
                each.boxes[k][0] - 0.5, each.boxes[k][1] - 0.5,
                f"{label} {each.scores[k]:.2f}", fontsize="xx-small", color="white",
                va="bottom", parse_math=False, clip_on=True,
                bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
        ax.set_xlim(-0.5, picture.shape[1] - 0.5)
        ax.set_ylim(picture.shape[0] - 0.5, -0.5)
    if title:
        drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn


def _rectangle(box: np.ndarray, colour: str, line: str) -> Rectangle:
    x0, y0, x1, y1 = np.asarray(box, float) - 0.5  # half a pixel from its middle
    return Rectangle(
        (x0, y0), x1 - x0, y1 - y0, fill=False, color=colour, ls=line, lw=1.2
    )
