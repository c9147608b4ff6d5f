"""Gradients around keypoints: their main directions, and histograms that describe them."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.ndimage import map_coordinates

ANGLE_BINS = 36
ANGLE_REACH, ANGLE_STEP = 4.5, 0.5
"""Gradients within this many σ vote for the direction, sampled at this step."""
ANGLE_WINDOW = 1.5
"""Width of the Gaussian by which they count, in σ."""
MIN_PEAK = 0.8
"""Further directions are those with this share of the votes of the largest."""
CELLS, SAMPLES, BINS = 4, 16, 8
"""Cells along each side of a descriptor, samples along it, directions in each cell."""
CELL_WIDTH = 3.0
"""The width of a cell in σ."""
MAX_ENTRY = 0.2
"""Entries are cut at this, so that no single edge decides."""


class Level(NamedTuple):
    """Gradients of one level of an octave."""

    dx: Float[np.ndarray, "h w"]
    dy: Float[np.ndarray, "h w"]

    @classmethod
    def of(cls, image: Float[np.ndarray, "h w"]) -> "Level":
        """The gradients of an image by central differences."""
        dy, dx = np.gradient(image)
        return cls(dx, dy)

    def at(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients between pixels, by bilinear interpolation; 0 outside of the image."""
        where = np.stack([y, x])
        read = [map_coordinates(d, where, order=1, mode="constant") for d in self]
        return read[0], read[1]


def directions(
    level: Level, points: Float[np.ndarray, "n 2"], sigma: Float[np.ndarray, " n"]
) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The main directions: numbers of the points (some several times), and angles.

    Args:
        level: gradients of the level that the points were found at.
        points: (x, y) in pixels of the octave.
        sigma: the scale of each point, likewise.
    """
    reach = np.arange(-ANGLE_REACH, ANGLE_REACH + ANGLE_STEP / 2, ANGLE_STEP)
    u, v = (grid.ravel() for grid in np.meshgrid(reach, reach))
    x, y = (points[:, i, None] + sigma[:, None] * w for i, w in enumerate((u, v)))
    dx, dy = level.at(x, y)
    votes = np.hypot(dx, dy) * np.exp(-(u**2 + v**2) / (2 * ANGLE_WINDOW**2))
    turn = np.arctan2(dy, dx) / (2 * np.pi) * ANGLE_BINS
    H = _histogram(np.floor(turn + 0.5).astype(int) % ANGLE_BINS, votes, ANGLE_BINS)
    for _ in range(2):
        H = (np.roll(H, 1, 1) + H + np.roll(H, -1, 1)) / 3
    before, after = np.roll(H, 1, 1), np.roll(H, -1, 1)
    least = MIN_PEAK * H.max(1, keepdims=True)
    peak = (before < H) & (after <= H) & (least <= H)
    rows, bins = np.nonzero(peak)
    b, h, a = before[rows, bins], H[rows, bins], after[rows, bins]
    shift = 0.5 * (b - a) / np.minimum(b - 2 * h + a, -1e-300)
    return rows, (bins + shift) * (2 * np.pi / ANGLE_BINS) % (2 * np.pi)


def _histogram(bins: np.ndarray, votes: np.ndarray, count: int) -> np.ndarray:
    """(n, count) sums of votes (n, m) by bin (n, m)."""
    n = len(bins)
    flat = np.arange(n)[:, None] * count + bins
    return np.bincount(flat.ravel(), votes.ravel(), n * count).reshape(n, count)


def descriptors(
    level: Level,
    points: Float[np.ndarray, "n 2"],
    sigma: Float[np.ndarray, " n"],
    angle: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "n 128"]:
    """Histograms of gradient directions in 4 by 4 cells, turned to the direction of each point.

    Each sample is shared between the cells and directions next to it, in proportion; the
    vector is brought to length 1, cut at 0.2 and brought to length 1 again.
    """
    side = (np.arange(SAMPLES) + 0.5) / SAMPLES * CELLS - CELLS / 2  # in cells
    u, v = (grid.ravel() for grid in np.meshgrid(side, side))
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    width = CELL_WIDTH * sigma[:, None]
    x = points[:, :1] + width * (cos * u - sin * v)
    y = points[:, 1:] + width * (sin * u + cos * v)
    dx, dy = level.at(x, y)
    size = np.hypot(dx, dy) * np.exp(-(u**2 + v**2) / (2 * (CELLS / 2) ** 2))
    turn = (np.arctan2(dy, dx) - angle[:, None]) / (2 * np.pi) * BINS
    low = np.floor(turn)
    share = turn - low
    n = len(points)
    found = np.zeros((n, CELLS, CELLS, BINS))
    across = _cell_shares(side)  # (samples, cells)
    for bins, part in ((low, 1 - share), (low + 1, share)):
        chosen = np.asarray(bins, int) % BINS
        for k in range(BINS):
            votes = np.where(chosen == k, size * part, 0.0).reshape(n, SAMPLES, SAMPLES)
            found[..., k] += across.T @ votes @ across
    return normalised(found.reshape(n, BINS * CELLS**2))


def _cell_shares(side: np.ndarray) -> np.ndarray:
    """(samples, cells) how a sample is shared between the cells along an axis."""
    middle = np.arange(CELLS) - (CELLS - 1) / 2
    return np.maximum(1 - np.abs(side[:, None] - middle), 0)


def normalised(rows: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Rows of length 1 whose entries were cut; rows of zeros stay."""
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    cut = np.clip(unit, -MAX_ENTRY, MAX_ENTRY)
    return cut / np.maximum(np.linalg.norm(cut, axis=1, keepdims=True), 1e-12)
