"""Backgrounds full of things that are no objects: shades, strokes, fragments and noise."""

import numpy as np

SHADE, NOISE = 0.25, 0.05
"""The largest brightness of smooth shades, and the standard deviation of pixel noise."""
COARSE = 5
"""Random values on each side of which a shade is interpolated."""


def clutter(
    rng: np.random.Generator, size: int, pieces: np.ndarray | None = None
) -> np.ndarray:
    """(size, size) brightness from 0 to 1.

    Args:
        rng: of the draws.
        size: of each side.
        pieces: (n, h, w) images of objects, of which small fragments are strewn about.
    """
    image = _shade(rng, size)
    for _ in range(rng.poisson(size / 10)):
        image = np.maximum(image, _stroke(rng, size))
    if pieces is not None and len(pieces):
        for _ in range(rng.poisson(size / 12)):
            _strew(image, rng, pieces)
    return np.clip(image + NOISE * rng.standard_normal((size, size)), 0.0, 1.0)


def _shade(rng: np.random.Generator, size: int) -> np.ndarray:
    """A smooth background: random values on a coarse grid, interpolated."""
    coarse = rng.uniform(0, SHADE, (COARSE, COARSE))
    at = np.linspace(0, COARSE - 1, size)
    low = np.minimum(at.astype(int), COARSE - 2)
    M = np.zeros((size, COARSE))
    M[np.arange(size), low], M[np.arange(size), low + 1] = 1 - (at - low), at - low
    return M @ coarse @ M.T


def _stroke(rng: np.random.Generator, size: int) -> np.ndarray:
    """A short straight stroke of random width and brightness."""
    start, angle = rng.uniform(0, size, 2), rng.uniform(0, 2 * np.pi)
    reach = rng.uniform(4, 14)
    along = np.array([np.cos(angle), np.sin(angle)])
    grid = np.stack(np.meshgrid(*[np.arange(size) + 0.5] * 2, indexing="xy"), -1)
    offset = grid - start
    t = np.clip(offset @ along, 0, reach)
    distance = np.linalg.norm(offset - t[..., None] * along, axis=-1)
    return rng.uniform(0.2, 0.7) * np.clip(rng.uniform(0.8, 1.8) - distance, 0, 1)


def _strew(image: np.ndarray, rng: np.random.Generator, pieces: np.ndarray) -> None:
    """Put a small fragment of an object somewhere."""
    piece = pieces[rng.integers(len(pieces))]
    side = min(int(rng.integers(3, 6)), *piece.shape)
    top, left = (rng.integers(0, s - side + 1) for s in piece.shape)
    y, x = rng.integers(0, len(image) - side + 1, 2)
    part = rng.uniform(0.3, 0.8) * piece[top : top + side, left : left + side]
    place = image[y : y + side, x : x + side]
    np.maximum(place, part, out=place)
