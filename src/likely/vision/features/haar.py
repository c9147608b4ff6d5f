"""Haar-like features: differences of the sums over two, three or four adjacent rectangles.

Each is written as the sum over the whole minus multiples of the sums over some of its parts,
so that a constant image gives 0:

    two      whole − 2·half             edges
    three    whole − 3·middle third     lines
    four     whole − 2·(two quarters)   diagonals

and is divided by the area of the window and by the standard deviation of its pixels, so that
light and contrast do not matter.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from likely.core.checks import InputError
from likely.vision.features.integral import integral_image

MIN_CONTRAST = 0.01
"""The least standard deviation that a window is divided by, for pixels from 0 to 1."""
PATTERNS = {(1, 2): 2, (2, 1): 2, (1, 3): 3, (3, 1): 3, (2, 2): 2}
"""(rows, columns) of equal parts -> the weight of the black ones."""


class HaarFeatures(NamedTuple):
    """Haar-like features of windows of one shape.

    Attributes:
        shape: (h, w) of the windows.
        rectangles: (f, 3, 4) y1, x1, y2, x2 in pixels; the first is the whole.
        weights: (f, 3) by which sums are multiplied; 0 where there is no third rectangle.
    """

    shape: tuple[int, int]
    rectangles: Int[np.ndarray, "f 3 4"]
    weights: Float[np.ndarray, "f 3"]

    def __len__(self) -> int:
        return len(self.weights)

    def some(self, rows: Any) -> "HaarFeatures":
        """Some of the features, by their numbers."""
        return HaarFeatures(self.shape, self.rectangles[rows], self.weights[rows])

    def values(self, windows: Any) -> Float[np.ndarray, "n f"]:
        """The features of each window (n, h, w)."""
        W = checked_windows(windows, self.shape)
        S = integral_image(W).reshape(len(W), -1)
        scale = 1.0 / (np.prod(self.shape) * contrast(W))
        return np.ascontiguousarray((self._matrix() @ S.T).T) * scale[:, None]

    def _matrix(self) -> csr_array:
        """(f, (h + 1)·(w + 1)) from integral images to features before normalisation."""
        h, w = self.shape
        y1, x1, y2, x2 = np.moveaxis(self.rectangles, -1, 0)
        columns = np.stack([y2 * (w + 1) + x2, y1 * (w + 1) + x1], -1)
        minus = np.stack([y1 * (w + 1) + x2, y2 * (w + 1) + x1], -1)
        entries = np.repeat(self.weights[..., None], 2, -1)
        f = len(self)
        data = np.concatenate([entries, -entries], -1).reshape(f, -1)
        where = np.concatenate([columns, minus], -1).reshape(f, -1)
        rows = np.repeat(np.arange(f), data.shape[1])
        size = (f, (h + 1) * (w + 1))
        return csr_array((data.ravel(), (rows, where.ravel())), shape=size)


def haar_features(
    shape: tuple[int, int], *, max_features: int | None = None, random_state: Any = 0
) -> HaarFeatures:
    """All Haar-like features of a window, of every size at every place, or some at random.

    Args:
        shape: (h, w) of the window, at least 2 by 2.
        max_features: how many to draw; None for all (there are 162,336 in 24 by 24).
        random_state: seed of the draw.
    """
    h, w = (int(s) for s in shape)
    if min(h, w) < 2:
        raise InputError(
            f"shape is {tuple(shape)}; give windows of at least 2 by 2 pixels."
        )
    parts = [_pattern((h, w), *p, black) for p, black in PATTERNS.items()]
    rectangles = np.concatenate([p[0] for p in parts])
    every = HaarFeatures((h, w), rectangles, np.concatenate([p[1] for p in parts]))
    if max_features is None or max_features >= len(every):
        return every
    rng = np.random.default_rng(random_state)
    return every.some(np.sort(rng.choice(len(every), max_features, replace=False)))


def _pattern(shape: tuple[int, int], rows: int, columns: int, black: int) -> tuple:
    """Rectangles (f, 3, 4) and weights (f, 3) of one pattern, at all sizes and places."""
    boxes = [
        (y, x, y + height, x + width)
        for height in range(rows, shape[0] + 1, rows)
        for width in range(columns, shape[1] + 1, columns)
        for y in range(shape[0] - height + 1)
        for x in range(shape[1] - width + 1)
    ]
    whole = np.array(boxes, np.int64).reshape(-1, 4)
    corner, part = whole[:, :2], (whole[:, 2:] - whole[:, :2]) // [rows, columns]
    diagonal = rows == columns == 2
    places = [(0, 1), (1, 0)] if diagonal else [(rows // 2, columns // 2), (0, 0)]
    found = [whole]
    for place in places:
        start = corner + np.array(place) * part
        found.append(np.concatenate([start, start + part], 1))
    weights = np.tile([1.0, -black, -black if diagonal else 0.0], (len(whole), 1))
    return np.stack(found, 1), weights


def checked_windows(windows: Any, shape: tuple[int, int] | None = None) -> np.ndarray:
    """Windows (n, h, w) as float64; bytes become numbers from 0 to 1."""
    W = np.asarray(windows)
    if W.ndim != 3 or W.dtype.kind not in "biuf":
        raise InputError(
            f"windows have shape {W.shape} and type {W.dtype}; give numbers, (n, h, w)."
        )
    if shape is not None and W.shape[1:] != tuple(shape):
        raise InputError(
            f"windows have {W.shape[1]} by {W.shape[2]} pixels, but {shape[0]} by {shape[1]} "
            "are expected; resize them, or use `detect` on a whole image."
        )
    return W / 255.0 if W.dtype == np.uint8 else W.astype(np.float64)


def contrast(W: Float[np.ndarray, "n h w"]) -> Float[np.ndarray, " n"]:
    """The standard deviation of the pixels of each window, at least `MIN_CONTRAST`."""
    mean = W.mean((1, 2))
    return np.sqrt(np.maximum((W**2).mean((1, 2)) - mean**2, MIN_CONTRAST**2))
