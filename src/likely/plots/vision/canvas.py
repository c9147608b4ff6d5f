"""An image as the background of a picture."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import INK

INCHES = 4.5
"""The longer side of a picture."""


def as_picture(image: Any) -> np.ndarray:
    """An image (h, w), (h, w, 1), (h, w, 3) or (h, w, 4) as Matplotlib shows it."""
    array = np.asarray(image)
    if array.ndim not in (2, 3) or (
        array.ndim == 3 and array.shape[2] not in (1, 3, 4)
    ):
        raise InputError(
            f"the image has shape {array.shape}; give (h, w), or (h, w, c) with 1, 3 or 4 "
            "channels."
        )
    return array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array


def canvas(image: Any, title: str = "") -> tuple[Figure, Axes]:
    """A figure that shows an image without axes; pixel (0, 0) is centred at the origin."""
    picture = as_picture(image)
    h, w = picture.shape[:2]
    scale = INCHES / max(h, w)
    drawn = Figure(
        figsize=(w * scale, h * scale + 0.3 * bool(title)), layout="constrained"
    )
    ax = drawn.add_subplot()
    ax.imshow(picture, cmap="gray", interpolation="nearest")
    ax.set(xlim=(-0.5, w - 0.5), ylim=(h - 0.5, -0.5))
    ax.set_axis_off()
    if title:
        ax.set_title(title, loc="left", color=INK)
    return drawn, ax
