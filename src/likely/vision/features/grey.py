"""Images as planes of brightness, checked."""

from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError, check_finite

LUMINANCE = np.array([0.2125, 0.7154, 0.0721])
"""How bright red, green and blue look, as television has it (ITU-R BT.709)."""


def checked_image(image: Any, name: str = "image") -> np.ndarray:
    """An image (h, w) or (h, w, c) of finite numbers or bytes."""
    array = np.asarray(image)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} contains {array.dtype} values; give numbers.")
    if array.ndim not in (2, 3) or not all(array.shape):
        raise InputError(
            f"{name} has shape {array.shape}; give one image, (h, w) or (h, w, channels)."
        )
    if array.ndim == 3 and array.shape[2] not in (1, 3, 4):
        raise InputError(
            f"{name} has shape {array.shape}; the last axis has 1 channel (grey), 3 "
            "(colours) or 4 (with opacity). Give several images one by one."
        )
    check_finite(name, array.reshape(len(array), -1))
    return array


def grey(image: Any, name: str = "image") -> Float[np.ndarray, "h w"]:
    """The brightness of an image, float64; bytes become numbers from 0 to 1.

    Args:
        image: (h, w), or (h, w, c) with 1, 3 or 4 channels; opacity is not looked at.
        name: what it is called in a message.
    """
    array = checked_image(image, name)
    scale = 255.0 if array.dtype == np.uint8 else 1.0
    plane = array.astype(np.float64) / scale
    if plane.ndim == 2:
        return plane
    return plane[..., 0] if plane.shape[2] == 1 else plane[..., :3] @ LUMINANCE
