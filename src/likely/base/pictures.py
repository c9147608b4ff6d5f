"""Rows that are images: their shape, their channels, bytes as numbers from 0 to 1."""

from typing import Any

import numpy as np

from likely.core.checks import InputError

MAX_CHANNELS = 4
"""Channels that a picture may have: grey, with opacity, colours, with opacity."""


def shape_of(X: Any) -> tuple[int, ...]:
    """The shape of an array, a frame, a sparse table or lists."""
    shape = getattr(X, "shape", None)
    return np.asarray(X).shape if shape is None else tuple(shape)


def is_pictures(X: Any) -> bool:
    """Whether there is a shape to ask for; scikit-learn has words for all else."""
    shape = shape_of(X)
    return len(shape) > 1 and all(shape[1:])


def image_shape(X: Any, given: Any) -> tuple[int, int, int]:
    """(h, w, c) of the rows of a fit.

    Args:
        X: (n, h, w) or (n, h, w, c), or flat, (n, h·w·c).
        given: (h, w) or (h, w, c) with at most one -1, or None.
    """
    rows = shape_of(X)[1:]
    if given is None:
        if len(rows) == 1:
            raise InputError(
                f"X has rows of {rows[0]} numbers; say what images they are: "
                "image_shape=(h, w) or (h, w, c), where one that follows may be -1."
            )
        if len(rows) == 3 and rows[0] <= MAX_CHANNELS < min(rows[1:]):
            raise InputError(
                f"X has shape {shape_of(X)}, whose channels seem to come first; they "
                "come last here: np.moveaxis(X, 1, -1). Where they do, say so: "
                f"image_shape={rows}."
            )
        return _with_channels(rows)
    shape = _known(given, int(np.prod(rows)))
    if len(rows) > 1 and _with_channels(rows) != shape:
        raise InputError(
            f"X has images of shape {rows} but image_shape is {tuple(given)}; "
            "give image_shape=None to take them as they are."
        )
    return shape


def flat_images(X: Any, shape: tuple[int, int, int]) -> Any:
    """Rows of h·w·c numbers; bytes become numbers from 0 to 1.

    Args:
        X: images of this shape, or flat rows.
        shape: (h, w, c) of the fit.
    """
    rows = shape_of(X)[1:]
    if len(rows) > 1:
        if _with_channels(rows) != shape:
            first = len(rows) == 3 and (*rows[1:], rows[0]) == shape
            hint = "; channels come last: np.moveaxis(X, 1, -1)" if first else ""
            raise InputError(
                f"X has images of shape {rows} but the fit had {shape}{hint}."
            )
        X = np.asarray(X).reshape(len(X), -1)
    return X / 255 if _bytes(X) else X


def _with_channels(rows: tuple[int, ...]) -> tuple[int, int, int]:
    if len(rows) not in (2, 3):
        raise InputError(
            f"X has rows of shape {rows}; give images as (n, h, w) or (n, h, w, c), or "
            "flat with image_shape=."
        )
    h, w, c = (*rows, 1)[:3]
    return h, w, c


def _known(given: Any, size: int) -> tuple[int, int, int]:
    """The shape with the number that follows from the size filled in."""
    shape = [int(s) for s in given]
    free, rest = shape.count(-1), abs(int(np.prod(shape)))
    valid = len(shape) in (2, 3) and free <= 1 and all(s > 0 or s == -1 for s in shape)
    if not valid:
        raise InputError(
            f"image_shape is {tuple(given)}; give (h, w) or (h, w, c), where one that "
            "follows may be -1."
        )
    if size % rest or (not free and size != rest):
        raise InputError(
            f"X has rows of {size} numbers, which are no images of shape "
            f"{tuple(given)}; give the image_shape they have."
        )
    return _with_channels(tuple(size // rest if s == -1 else s for s in shape))


def _bytes(X: Any) -> bool:
    kind = getattr(X, "dtype", None)
    if kind is None and hasattr(X, "__dataframe__"):
        kind = np.asarray(X).dtype
    return kind == np.uint8
