r"""Lipschitz constants, estimated: $|f(x) - f(y)| \le L |x - y|$."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from likely.analysis.search import box_of, evaluator, lowest


class LipschitzEstimate(NamedTuple):
    """The result of `lipschitz_estimate`.

    Attributes:
        value: the steepest quotient that was found: the true constant is at least this.
        x: one of the two points.
        y: the other one.
    """

    value: float
    x: np.ndarray
    y: np.ndarray


def lipschitz_estimate(
    f: Callable, low: Any, high: Any, *, n: int = 1000, random_state: int = 0
) -> LipschitzEstimate:
    """The steepest quotient |f(x) − f(y)| / |x − y| on a box that a search finds.

    It is a bound from below. Bounds from above need more than values of f: see
    `lipschitz_bound` for networks, `curvature_bounds` for the gradient of a quadratic.

    Args:
        f: a function of one point, with a number or a vector as its value.
        low: the lowest value of each coordinate.
        high: the highest value of each coordinate.
        n: pairs of points of each of ten rounds of the search.
        random_state: the seed.
    """
    box, value = box_of(low, high), evaluator(f)
    d = box.dimension

    def ends(U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two points, at all distances: y = x + s·(direction), s from 1e-6 to 1."""
        steps = 10.0 ** (-6 * U[:, -1:]) * (2 * U[:, d : 2 * d] - 1)
        return box.point(U[:, :d]), box.point(np.clip(U[:, :d] + steps, 0, 1))

    def score(U: np.ndarray) -> np.ndarray:
        x, y = ends(U)
        rise = (value(x) - value(y)).reshape(len(U), -1)
        run = np.sqrt(((x - y) ** 2).sum(1))
        near = run < 1e-9 * np.linalg.norm(box.high - box.low)
        return np.where(near, np.nan, -np.linalg.norm(rise, axis=1) / (run + near))

    u, found = lowest(score, 2 * d + 1, n, random_state)
    x, y = (part[0] for part in ends(u[None]))
    return LipschitzEstimate(-found, x, y)
