"""Haar wavelet responses around keypoints: their main direction, and sums that describe them."""

import numpy as np
from jaxtyping import Float

from likely.vision.features.integral import sums_at
from likely.vision.features.orientation import normalised

RADIUS = 6
"""Responses within this many σ decide the direction."""
DIRECTION_WIDTH = 2.5
"""Width of the Gaussian by which they count, in σ."""
SECTOR, SECTORS = np.pi / 3, 72
"""The angle of the sector whose responses are added up, and how many are tried."""
CELLS, CELL_SAMPLES = 4, 5
"""Cells along each side of a descriptor, and samples along each cell, one for each σ."""
WINDOW = 3.3
"""Width of the Gaussian over the descriptor, in σ."""


def responses(
    S: Float[np.ndarray, "h1 w1"], x: np.ndarray, y: np.ndarray, half: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Right minus left and lower minus upper half of a square around each place.

    Args:
        S: the integral image.
        x: of the middle, of any shape.
        y: likewise.
        half: half the side of the square in pixels, a whole number.
    """
    left, top = np.rint(x).astype(int) - half, np.rint(y).astype(int) - half
    side = 2 * half
    right = sums_at(S, top, left + half, side, half)
    lower = sums_at(S, top + half, left, half, side)
    whole = sums_at(S, top, left, side, side)
    return 2 * right - whole, 2 * lower - whole


def wavelet_directions(
    S: Float[np.ndarray, "h1 w1"],
    points: Float[np.ndarray, "n 2"],
    sigma: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """The direction of the sector of 60 degrees with the longest sum of responses."""
    reach = np.arange(-RADIUS, RADIUS + 1)
    u, v = (grid.ravel() for grid in np.meshgrid(reach, reach))
    u, v = u[u**2 + v**2 < RADIUS**2], v[u**2 + v**2 < RADIUS**2]
    half = np.maximum(np.rint(2 * sigma), 1).astype(int)[:, None]
    x, y = points[:, :1] + sigma[:, None] * u, points[:, 1:] + sigma[:, None] * v
    dx, dy = responses(S, x, y, half)
    weight = np.exp(-(u**2 + v**2) / (2 * DIRECTION_WIDTH**2))
    dx, dy = dx * weight, dy * weight
    angle = np.arctan2(dy, dx) % (2 * np.pi)
    best, found = np.full(len(points), -1.0), np.zeros(len(points))
    for start in np.arange(SECTORS) * (2 * np.pi / SECTORS):
        inside = (angle - start) % (2 * np.pi) < SECTOR
        sx, sy = (dx * inside).sum(1), (dy * inside).sum(1)
        longer = sx**2 + sy**2 > best
        best = np.where(longer, sx**2 + sy**2, best)
        found = np.where(longer, np.arctan2(sy, sx), found)
    return found % (2 * np.pi)


def wavelet_descriptors(
    S: Float[np.ndarray, "h1 w1"],
    points: Float[np.ndarray, "n 2"],
    sigma: Float[np.ndarray, " n"],
    angle: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "n 64"]:
    """Sums of dx, dy, |dx| and |dy| in 4 by 4 cells, turned to the direction of each point."""
    count = CELLS * CELL_SAMPLES
    side = np.arange(count) - (count - 1) / 2
    u, v = (grid.ravel() for grid in np.meshgrid(side, side))
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    s = sigma[:, None]
    x, y = (
        points[:, :1] + s * (cos * u - sin * v),
        points[:, 1:] + s * (sin * u + cos * v),
    )
    half = np.maximum(np.rint(sigma), 1).astype(int)[:, None]
    dx, dy = responses(S, x, y, half)
    weight = np.exp(-(u**2 + v**2) / (2 * WINDOW**2))
    along, across = weight * (cos * dx + sin * dy), weight * (cos * dy - sin * dx)
    four = np.stack([along, across, np.abs(along), np.abs(across)], -1)
    cells = four.reshape(len(points), CELLS, CELL_SAMPLES, CELLS, CELL_SAMPLES, 4)
    return normalised(cells.sum((2, 4)).reshape(len(points), 4 * CELLS**2))
