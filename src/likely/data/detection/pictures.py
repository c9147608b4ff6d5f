"""Image files as arrays, and arrays in another size."""

from os import PathLike
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from likely.data.errors import table_error

DEEP = {"I": 65535.0, "F": 1.0}
"""The whitest level of the modes of grey images with more than 256 levels, by their letter."""


def read_image(path: str | PathLike) -> np.ndarray:
    """The pixels of an image file, (h, w) for grey levels or (h, w, 3) for colours.

    They are bytes; grey images of more than 256 levels are shares of the whitest one, so
    that none of their levels is lost.

    Raises:
        TableError: when the file is no image, or damaged.
    """
    try:
        with Image.open(path) as file:
            deep = DEEP.get(file.mode[0])
            if deep is None:
                colours = file.mode not in ("1", "L", "LA")
                pixels = np.asarray(file.convert("RGB" if colours else "L"))
            else:
                pixels = (np.asarray(file) / deep).astype(np.float32)
    except FileNotFoundError as error:
        raise table_error(path, "does not exist.") from error
    except UnidentifiedImageError as error:
        raise table_error(path, "is no image that can be read; remove it.") from error
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise table_error(path, f"is damaged ({error}); remove it.") from error
    if not pixels.size:
        raise table_error(path, "is an image without pixels; remove it.")
    if deep is not None and not ((pixels >= 0) & (pixels <= 1)).all():
        raise table_error(
            path, f"has levels outside of 0 to {deep:g}; save it with levels of a byte."
        )
    return pixels


def resized(image: Any, shape: tuple[int, int]) -> np.ndarray:
    """An image of (h, w) pixels, interpolated; where it shrinks, pixels are averaged.

    Args:
        image: (h, w) or (h, w, c) numbers.
        shape: (h, w) of the result.
    """
    image = np.asarray(image, np.float32)
    size = (int(shape[1]), int(shape[0]))
    layers = image[..., None] if image.ndim == 2 else image
    done = [
        np.asarray(Image.fromarray(layer).resize(size, Image.Resampling.BILINEAR))
        for layer in np.moveaxis(layers, -1, 0)
    ]
    found = np.stack(done, -1)
    return found[..., 0] if image.ndim == 2 else found
