"""The highest point of a density of each row, by a search between known points."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

GRID_SIZE, MAX_SECTIONS = 32, 30
"""Points added between the lowest and the highest candidate, and steps of the search."""
GOLDEN = 0.6180339887498949


def highest(
    log_prob: Callable[[np.ndarray], np.ndarray],
    candidates: Float[np.ndarray, "m n"],
    *,
    whole: bool = False,
) -> Float[np.ndarray, " n"]:
    """The y of each row with the largest log p, between its candidates.

    The best of the candidates and of a grid between them is refined between its
    neighbours by golden sections.

    Args:
        log_prob: log p of one y for each row.
        candidates: (m, n) points between which the highest one lies, such as the modes of
            the parts of a mixture.
        whole: whether y is a whole number.
    """
    low, high = candidates.min(0), candidates.max(0)
    grid = low + np.linspace(0, 1, GRID_SIZE)[:, None] * (high - low)
    points = np.sort(np.vstack([candidates, np.round(grid) if whole else grid]), axis=0)
    heights = np.stack([log_prob(row) for row in points])
    best = heights.argmax(0)[None]

    def at(place: np.ndarray) -> np.ndarray:
        inside = np.clip(place, 0, len(points) - 1)
        return np.take_along_axis(points, inside, axis=0)[0]

    found, height = at(best), heights.max(0)
    left, right = at(best - 1), at(best + 1)
    for _ in range(MAX_SECTIONS):
        if not (right - left > (2 if whole else 0)).any():
            break
        a, b = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
        a, b = (np.floor(a), np.ceil(b)) if whole else (a, b)
        at_a, at_b = log_prob(a), log_prob(b)
        for y, value in ((a, at_a), (b, at_b)):
            found = np.where(value > height, y, found)
            height = np.maximum(height, value)
        left, right = np.where(at_a < at_b, a, left), np.where(at_a < at_b, right, b)
    return found
