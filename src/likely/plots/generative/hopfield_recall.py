"""Patterns as images: stored, disturbed, and recalled by a Hopfield network."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import INK


def hopfield_recall(
    stored: Any, given: Any, recalled: Any, shape: tuple[int, int], *, title: str = ""
) -> Figure:
    """Draw three rows of images, one column for each pattern.

    Args:
        stored: (k, height · width) patterns.
        given: the same number of disturbed ones, NaN where unknown.
        recalled: where the network came to rest, such as `recall(given).states`.
        shape: height and width of an image.
        title: the title of the figure.
    """
    rows = [np.asarray(a, np.float64) for a in (stored, given, recalled)]
    k = len(rows[0])
    size = int(np.prod(shape))
    if any(a.shape != (k, size) for a in rows):
        raise InputError(
            f"the patterns have shapes {', '.join(str(a.shape) for a in rows)}; give "
            f"three arrays of shape ({k}, {size})."
        )
    drawn = Figure(figsize=(0.8 * k + 0.9, 2.9), layout="constrained")
    low, high = np.nanmin(rows[0]), np.nanmax(rows[0])
    for i, (name, images) in enumerate(
        zip(("stored", "given", "recalled"), rows, strict=True)
    ):
        for j, image in enumerate(images):
            ax = drawn.add_subplot(3, k, i * k + j + 1)
            ax.imshow(image.reshape(shape), cmap="gray_r", vmin=low, vmax=high)
            ax.set(xticks=[], yticks=[])
            if not j:
                ax.set_ylabel(name, color=INK, fontsize=9)
    drawn.suptitle(title, color=INK, x=0.02, ha="left", fontsize=11)
    return drawn
