"""Errors of approximation: at single points, and the largest one (sup-norm)."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.analysis.search import box_of, evaluator

GRID = 2001
REFINED = 5
"""Highest points of the grid beside which the maximum is looked for."""
ZOOMS, ZOOM_POINTS = 5, 41


class UniformError(NamedTuple):
    """The result of `uniform_error`.

    Attributes:
        value: the largest |f(x) − g(x)| that was found.
        x: where it is.
        mean: the mean of |f − g| over the interval.
    """

    value: float
    x: float
    mean: float


class Convergence(NamedTuple):
    """The result of `convergence`: errors of a sequence of functions.

    Attributes:
        n: (m,) the members of the sequence.
        pointwise: (m, p) the errors at fixed points.
        uniform: (m,) the largest errors on the interval.
        x: (m,) where these are.
    """

    n: np.ndarray
    pointwise: Float[np.ndarray, "m p"]
    uniform: Float[np.ndarray, " m"]
    x: Float[np.ndarray, " m"]


def uniform_error(
    f: Callable, g: Callable, low: float | int = 0.0, high: float | int = 1.0
) -> UniformError:
    """The sup-norm distance max |f(x) − g(x)| of two functions of a number on an interval.

    A grid of 2,001 points finds the highest places, and a search beside the best five of them the
    maxima. It is a bound from below for functions that oscillate faster.

    Args:
        f: a function of a number.
        g: another.
        low: the lower end.
        high: the upper end.
    """
    box = box_of(low, high)
    x = np.linspace(box.low[0], box.high[0], GRID)
    first, second = (_on_grid(h) for h in (f, g))

    def gap(at: np.ndarray) -> np.ndarray:
        return np.abs(first(at) - second(at))

    errors = gap(x)
    top = np.argsort(-errors, kind="stable")[:REFINED]
    low_ends, high_ends = x[np.maximum(top - 1, 0)], x[np.minimum(top + 1, GRID - 1)]
    best, value = float(x[top[0]]), float(errors[top[0]])
    for _ in range(ZOOMS):  # into the neighbourhood of the highest point of each
        finer = np.linspace(low_ends, high_ends, ZOOM_POINTS, axis=1)
        found = gap(finer.ravel()).reshape(finer.shape)
        peak = found.argmax(1)
        i = int(found.max(1).argmax())
        if found[i, peak[i]] > value:
            best, value = float(finer[i, peak[i]]), float(found[i, peak[i]])
        rows = np.arange(len(peak))
        low_ends = finer[rows, np.maximum(peak - 1, 0)]
        high_ends = finer[rows, np.minimum(peak + 1, ZOOM_POINTS - 1)]
    mean = float(np.trapezoid(errors, x) / (x[-1] - x[0]))
    return UniformError(value, best, mean)


def convergence(
    sequence: Callable[[int], Callable],
    limit: Callable,
    n: Sequence[int],
    points: Any,
    *,
    low: float | int = 0.0,
    high: float | int = 1.0,
) -> Convergence:
    """Pointwise against uniform convergence of a sequence of functions.

    x^n on [0, 1) goes to 0 at every point, while its largest error stays 1.

    Args:
        sequence: a function from n to the n-th function of a number.
        limit: the limit, a function of a number.
        n: the members that are looked at.
        points: the points at which errors are followed.
        low: the lower end of the interval.
        high: the upper end.
    """
    at = np.atleast_1d(np.asarray(points, float))
    known = _on_grid(limit)(at)
    pointwise, uniform = [], []
    for k in n:
        member = sequence(k)
        pointwise.append(np.abs(_on_grid(member)(at) - known))
        uniform.append(uniform_error(member, limit, low, high))
    return Convergence(
        np.asarray(list(n)),
        np.stack(pointwise),
        np.array([u.value for u in uniform]),
        np.array([u.x for u in uniform]),
    )


def _on_grid(f: Callable) -> Callable[[np.ndarray], np.ndarray]:
    """A function of a number as a function of many; polynomials take them as they are."""
    if getattr(f, "coefficients", None) is not None:
        return lambda x: np.asarray(f(x))
    value = evaluator(lambda x: f(x[0]))
    return lambda x: value(np.asarray(x, float)[:, None]).reshape(-1)
