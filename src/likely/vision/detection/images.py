"""Images of any size on a canvas of one size, with their boxes in shares of its sides.

An image that is larger than the canvas shrinks until it fits, one that is smaller grows where a
size was asked for; proportions stay. It lies in the upper left corner, and the rest of the canvas
has its mean brightness.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.data.detection.pictures import resized

MAX_CHANNELS = 4
"""Channels that a picture may have: grey, with opacity, colours, with opacity."""


class ImageCanvas(NamedTuple):
    """Where images lie: their shape for the network."""

    height: int
    width: int
    channels: int
    fixed: bool
    """Whether images are resized; if not, all have one size."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """(h, w, c)."""
        return self.height, self.width, self.channels

    @classmethod
    def of(cls, images: Sequence[np.ndarray], size: Any, stride: int) -> "ImageCanvas":
        """The canvas of the images of a fit.

        Args:
            images: checked images.
            size: one number or (h, w), or None where all images have one size.
            stride: sides become a multiple of this.
        """
        channels = max(image.shape[2] for image in images)
        if size is None:
            shapes = {image.shape[:2] for image in images}
            if len(shapes) > 1:
                first, second, *_ = sorted(shapes)
                raise InputError(
                    f"images have different sizes, such as {first} and {second}; give "
                    "image_size=(h, w), to which they are resized, or one number for both."
                )
            h, w = shapes.pop()
        else:
            h, w = (size, size) if np.ndim(size) == 0 else size
        if int(h) < 1 or int(w) < 1:
            raise InputError(f"image_size is {size}; give a size of at least 1 pixel.")
        h, w = (stride * -(-int(side) // stride) for side in (h, w))
        return cls(h, w, channels, size is not None)

    def zoom(self, image: np.ndarray) -> float:
        """Pixels of the canvas for each pixel of an image."""
        h, w = image.shape[:2]
        return min(self.height / h, self.width / w) if self.fixed else 1.0

    def place(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """(n, h, w, c) the images on the canvas, in float32."""
        out = np.empty((len(images), *self.shape), np.float32)
        for number, (row, image) in enumerate(zip(out, images, strict=True)):
            h, w, c = image.shape
            if c not in (1, self.channels) or (self.channels < c):
                raise InputError(
                    f"image {number} has {c} channels, but those of the fit had "
                    f"{self.channels}."
                )
            zoom = self.zoom(image)
            if not self.fixed and (h > self.height or w > self.width):
                raise InputError(
                    f"image {number} has {h} by {w} pixels, more than the images of the fit; "
                    "fit with image_size= to have images resized."
                )
            if zoom != 1.0:
                h, w = max(1, round(zoom * h)), max(1, round(zoom * w))
                image = resized(image, (h, w))
            row[:] = image.mean((0, 1))
            row[:h, :w] = image
        return out

    def shares(self, boxes: np.ndarray, image: np.ndarray) -> np.ndarray:
        """Boxes in pixels of an image as shares of the sides of the canvas."""
        return boxes * self.zoom(image) / ([self.width, self.height] * 2)

    def pixels(self, shares: np.ndarray, image: np.ndarray) -> np.ndarray:
        """Boxes in shares of the canvas as pixels of an image, inside of it."""
        h, w = image.shape[:2]
        boxes = shares * ([self.width, self.height] * 2) / self.zoom(image)
        return np.clip(boxes, 0.0, [w, h, w, h])


def checked_images(images: Any) -> list[np.ndarray]:
    """A list of images (h, w, c) of numbers; bytes become numbers from 0 to 1.

    Args:
        images: (n, h, w), (n, h, w, c), or a list of images.
    """
    if isinstance(images, np.ndarray) and images.ndim not in (3, 4):
        raise InputError(
            f"images have shape {images.shape}; give (n, h, w), (n, h, w, c), or a list of "
            "images."
        )
    found = [_checked(image, number) for number, image in enumerate(images)]
    if not found:
        raise InputError("there are no images; give at least one.")
    return found


def _checked(image: Any, number: int) -> np.ndarray:
    pixels = np.asarray(image)
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or not pixels.size or pixels.shape[2] > MAX_CHANNELS:
        raise InputError(
            f"image {number} has shape {np.shape(image)}; give (h, w) or (h, w, c) with at "
            f"least one pixel and up to {MAX_CHANNELS} channels, which come last."
        )
    if pixels.dtype.kind not in "buif":
        raise InputError(f"image {number} holds {pixels.dtype} values; give numbers.")
    values = pixels.astype(np.float32)
    if not np.isfinite(values).all():
        raise InputError(
            f"image {number} has pixels that are NaN or infinite; remove it or mend it."
        )
    return values / 255 if pixels.dtype == np.uint8 else values
