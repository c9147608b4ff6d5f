"""Images as whole numbers: the levels of pixels, read from the images of a fit."""

import dataclasses
from typing import Any

import numpy as np

from likely.base.pictures import image_shape, shape_of
from likely.base.rows import weights_of
from likely.core.checks import InputError

MAX_LEVELS = 256
"""Levels that are recognised by themselves."""


@dataclasses.dataclass(frozen=True)
class PixelCode:
    """How pixels become whole numbers from 0 on, and back."""

    shape: tuple[int, int, int]
    """(h, w, c)."""
    row: tuple[int, ...]
    """The shape of an image as it came."""
    levels: int
    """How many values a pixel may have; 0 where it is any number."""
    step: float
    """The distance of neighbouring values."""
    dtype: str

    @property
    def size(self) -> int:
        """How many pixels an image has, over all channels."""
        return int(np.prod(self.shape))

    @classmethod
    def learn(cls, X: Any, shape: Any, levels: Any) -> "PixelCode":
        """The code of the images of a fit.

        Args:
            X: (n, h, w), (n, h, w, c), or flat rows.
            shape: (h, w) or (h, w, c) of flat rows, or None.
            levels: how many values a pixel may have, or "auto".
        """
        found = image_shape(X, shape)
        values = np.asarray(X)
        known, step = _levels(values)
        if not (isinstance(levels, str) and levels == "auto"):
            known = int(levels)
            step = 1.0 if _whole(values) else 1.0 / max(known - 1, 1)
        row = tuple(shape_of(X)[1:])
        return cls(found, row, known, step, str(values.dtype))

    def encode(self, X: Any) -> np.ndarray:
        """(n, h, w, c) whole numbers, NaN where a pixel is missing; or any numbers."""
        values = np.asarray(X)
        if values.dtype.kind not in "biuf":
            raise InputError(f"X contains {values.dtype} values; give numbers.")
        if int(np.prod(values.shape[1:])) != self.size:
            raise InputError(
                f"X has images of shape {values.shape[1:]}; the fit had {self.row}."
            )
        values = values.astype(np.float64).reshape(-1, *self.shape)
        if np.isinf(values).any():
            raise InputError("X contains infinity; give finite pixels.")
        if not self.levels:
            return values
        codes = values / self.step
        whole = np.round(codes)
        with np.errstate(invalid="ignore"):
            bad = (abs(codes - whole) > 1e-3) | (whole < 0) | (whole >= self.levels)
        if bad.any():
            value = values[bad][0]
            raise InputError(
                f"a pixel is {value:g}, which is none of the {self.levels} values from 0 to "
                f"{(self.levels - 1) * self.step:g} that pixels had in the fit; give such "
                "images, or fit with levels=."
            )
        return whole

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Images of the kind that the code was learned from."""
        codes = np.asarray(codes, np.float64)
        if self.levels:
            codes = np.clip(np.round(codes), 0, self.levels - 1) * self.step
        values = codes.reshape(-1, *self.row)
        if np.isnan(values).any() or np.dtype(self.dtype).kind == "f":
            kind = self.dtype if np.dtype(self.dtype).kind == "f" else np.float64
            return values.astype(kind)
        return np.round(values).astype(self.dtype)


def is_images(X: Any, shape: Any) -> bool:
    """Whether rows are images: they have two or three axes, or it was said."""
    return shape is not None or len(shape_of(X)) in (3, 4)


def image_rows(sample_weight: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights of n images that count, and which they are."""
    w = weights_of(sample_weight, n)
    if (w > 0).sum() < 2:
        raise InputError(
            f"there is {int((w > 0).sum())} image of positive weight; give two or more."
        )
    return w[w > 0], w > 0


def whole_images(codes: np.ndarray) -> np.ndarray:
    """Images without missing pixels."""
    if np.isnan(codes).any():
        row = int(np.argmax(np.isnan(codes).reshape(len(codes), -1).any(1)))
        raise InputError(
            f"image {row} has a missing pixel (NaN); give whole images, or complete them "
            "with `AutoregressiveDensity.impute`."
        )
    return codes


def _whole(values: np.ndarray) -> bool:
    present = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return bool((present == np.round(present)).all())


def _levels(values: np.ndarray) -> tuple[int, float]:
    """How many levels there are, and the distance of two; 0 where they are not a few."""
    if values.dtype == np.uint8:
        return 256, 1.0
    if values.dtype == bool:
        return 2, 1.0
    present = (
        values[np.isfinite(values)] if values.dtype.kind == "f" else values.ravel()
    )
    if not len(present) or present.min() < 0:
        return 0, 1.0
    high = present.max()
    if _whole(present) and high < MAX_LEVELS:
        return max(int(high) + 1, 2), 1.0
    codes = present * 255
    if high <= 1 and np.allclose(codes, np.round(codes), atol=1e-3):
        return 256, 1 / 255
    return 0, 1.0
