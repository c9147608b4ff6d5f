r"""Histograms of oriented gradients (HOG): where edges run, cell by cell.

The gradient at each pixel votes, with its length, for its direction (0 to 180 degrees) in the
histogram of its cell. Histograms h of neighbouring cells make a block, which is normalised so
that light and contrast do not matter:

    L1       h/(Σ|h| + ε)
    L1-sqrt  √(h/(Σ|h| + ε))
    L2       h/√(Σh² + ε²)
    L2-Hys   L2, then cut at 0.2, then L2 again,        ε = 10⁻⁵
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError, check_choice
from likely.vision.features.grey import checked_image

NORMS = ("L1", "L1-sqrt", "L2", "L2-Hys")
EPSILON = 1e-5
MAX_ENTRY = 0.2

Pair = int | tuple[int, int]


def hog(
    image: Any,
    *,
    orientations: int = 9,
    pixels_per_cell: Pair = 8,
    cells_per_block: Pair = 3,
    block_norm: str = "L2-Hys",
    feature_vector: bool = True,
) -> np.ndarray:
    """The histograms of oriented gradients of an image.

    Args:
        image: (h, w), or (h, w, c) of which each pixel uses its channel of longest gradient.
        orientations: directions in a histogram.
        pixels_per_cell: (rows, columns), or one number for both.
        cells_per_block: likewise.
        block_norm: "L1", "L1-sqrt", "L2" or "L2-Hys".
        feature_vector: whether to return one long vector; if not, an array (rows of
            blocks, columns of blocks, rows of cells, columns of cells, orientations).

    Examples:
        >>> lk.hog(np.random.default_rng(0).random((32, 32))).ndim
        1
    """
    check_choice("block_norm", block_norm, NORMS)
    cells = hog_cells(image, orientations=orientations, pixels_per_cell=pixels_per_cell)
    b = _pair("cells_per_block", cells_per_block)
    if cells.shape[0] < b[0] or cells.shape[1] < b[1]:
        raise InputError(
            f"the image has {cells.shape[0]} by {cells.shape[1]} cells, too few for a block "
            f"of {b[0]} by {b[1]}; give a larger image, or smaller cells or blocks."
        )
    blocks = np.lib.stride_tricks.sliding_window_view(cells, b, axis=(0, 1))
    blocks = _normalised(blocks.transpose(0, 1, 3, 4, 2), block_norm)
    return blocks.ravel() if feature_vector else blocks


def hog_cells(
    image: Any, *, orientations: int = 9, pixels_per_cell: Pair = 8
) -> Float[np.ndarray, "rows columns bins"]:
    """The histogram of each cell, before blocks: mean length of gradients by direction.

    Args:
        image: as in `hog`.
        orientations: directions in a histogram; the first is centred at 90/orientations
            degrees from a gradient along x.
        pixels_per_cell: (rows, columns), or one number for both.
    """
    array = checked_image(image).astype(np.float64)
    if orientations < 1:
        raise InputError(f"orientations is {orientations}; give at least 1.")
    rows, columns = _pair("pixels_per_cell", pixels_per_cell)
    n, m = array.shape[0] // rows, array.shape[1] // columns
    if not n or not m:
        raise InputError(
            f"the image has {array.shape[0]} by {array.shape[1]} pixels, less than a cell of "
            f"{rows} by {columns}; give a larger image, or smaller cells."
        )
    dy, dx = (_longest(array)[..., : n * rows, : m * columns]).astype(np.float64)
    degrees = np.rad2deg(np.arctan2(dy, dx)) % 180.0
    bins = (degrees / (180.0 / orientations)).astype(int) % orientations
    cell = (np.arange(n * rows) // rows)[:, None] * m + np.arange(
        m * columns
    ) // columns
    flat = (cell * orientations + bins).ravel()
    sums = np.bincount(flat, np.hypot(dx, dy).ravel(), n * m * orientations)
    return sums.reshape(n, m, orientations) / (rows * columns)


def _longest(image: np.ndarray) -> np.ndarray:
    """Gradients (2, h, w) along y and x; of the channel where they are longest."""
    image = image[..., None] if image.ndim == 2 else image
    slopes = np.zeros((2, *image.shape))
    slopes[0, 1:-1] = image[2:] - image[:-2]
    slopes[1, :, 1:-1] = image[:, 2:] - image[:, :-2]
    if image.shape[2] == 1:
        return slopes[..., 0]
    best = np.hypot(slopes[0], slopes[1]).argmax(2)
    return np.take_along_axis(slopes, best[None, :, :, None], 3)[..., 0]


def _normalised(blocks: np.ndarray, norm: str) -> np.ndarray:
    """Each block, the last three axes, divided by its norm."""
    axes = (-3, -2, -1)
    if norm.startswith("L1"):
        scaled = blocks / (np.abs(blocks).sum(axes, keepdims=True) + EPSILON)
        return np.sqrt(scaled) if norm == "L1-sqrt" else scaled

    def unit(b: np.ndarray) -> np.ndarray:
        return b / np.sqrt((b**2).sum(axes, keepdims=True) + EPSILON**2)

    return (
        unit(np.minimum(unit(blocks), MAX_ENTRY)) if norm == "L2-Hys" else unit(blocks)
    )


def _pair(name: str, value: Pair) -> tuple[int, int]:
    a, b = (value, value) if isinstance(value, int) else value
    if min(a, b) < 1:
        raise InputError(f"{name} is {value}; give whole numbers of at least 1.")
    return a, b
