"""Extrema of a stack of images over place and scale, to a fraction of a pixel."""

from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

MAX_MOVES = 5
"""How often the fitted parabola may move an extremum to the next pixel."""
MAX_OFFSET = 0.6
"""Offsets beyond this, in pixels, belong to the next pixel."""


class Extrema(NamedTuple):
    """Extrema of a stack: (level, y, x) with fractions, the value there, and the curvature."""

    places: Float[np.ndarray, "n 3"]
    values: Float[np.ndarray, " n"]
    curvature: Float[np.ndarray, "n 2 2"]
    """Second derivatives along y and x."""


def local_extrema(
    stack: Float[np.ndarray, "s h w"], least: float, *, minima: bool = True
) -> Int[np.ndarray, "n 3"]:
    """Places inside the stack that exceed all of their 26 neighbours.

    Args:
        stack: images over scales.
        least: the least absolute value.
        minima: whether to look for minima too.
    """
    core = stack[1:-1, 1:-1, 1:-1]
    large = np.abs(core) > least if minima else core > least
    places = np.argwhere(large) + 1
    values = stack[tuple(places.T)]
    sign = np.sign(values)
    top = np.ones(len(places), bool)
    for step in product((-1, 0, 1), repeat=3):
        if any(step):
            beside = stack[tuple((places[top] + step).T)]
            top[top] = sign[top] * values[top] > sign[top] * beside
    return places[top]


def refined(
    stack: Float[np.ndarray, "s h w"], places: Int[np.ndarray, "n 3"]
) -> Extrema:
    """Extrema of the parabola through each place and its neighbours.

    With slope g and curvature H, the offset is −H⁻¹g and the value D + ½ g·offset. Places
    from which the parabola leads out of the stack, or on and on, are left out.
    """
    at = places.copy()
    high = np.array(stack.shape) - 2
    alive = np.ones(len(at), bool)
    for _ in range(MAX_MOVES):
        g, H = _derivatives(stack, at)
        offset = _newton(g, H)
        move = np.where(np.abs(offset) > MAX_OFFSET, np.sign(offset), 0).astype(int)
        moved = np.clip(at + move, 1, high)
        alive &= ((at + move >= 1) & (at + move <= high)).all(1)
        if (moved == at).all():
            break
        at = moved
    g, H = _derivatives(stack, at)
    offset = _newton(g, H)
    alive &= (np.abs(offset) <= 1.0).all(1)
    values = stack[tuple(at.T)] + 0.5 * (g * offset).sum(1)
    return Extrema((at + offset)[alive], values[alive], H[alive][:, 1:, 1:])


def _newton(g: np.ndarray, H: np.ndarray) -> np.ndarray:
    """−H⁻¹g, far away where H has no inverse."""
    regular = np.abs(np.linalg.det(H)) > 1e-300
    safe = np.where(regular[:, None, None], H, np.eye(3))
    offset = -np.linalg.solve(safe, g[:, :, None])[:, :, 0]
    return np.clip(np.where(regular[:, None], offset, np.inf), -1e3, 1e3)


def _derivatives(stack: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slopes (n, 3) and curvatures (n, 3, 3) by central differences."""
    unit = np.eye(3, dtype=int)

    def value(step: np.ndarray) -> np.ndarray:
        return stack[tuple((at + step).T)]

    middle = value(np.zeros(3, int))
    g, H = np.empty((len(at), 3)), np.empty((len(at), 3, 3))
    for i, a in enumerate(unit):
        after, before = value(a), value(-a)
        g[:, i], H[:, i, i] = (after - before) / 2, after + before - 2 * middle
        for j in range(i):
            b = unit[j]
            cross = value(a + b) + value(-a - b) - value(a - b) - value(b - a)
            H[:, i, j] = H[:, j, i] = cross / 4
    return g, H
