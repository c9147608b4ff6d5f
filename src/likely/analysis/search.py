"""A search for the lowest score in a box: random points, then ever closer to the best."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.core.precision import float64

ROUNDS = 10
KEPT = 16
"""Best candidates around which the next round looks."""


class Box(NamedTuple):
    """A box of points, each coordinate between its lowest and highest value."""

    low: Float[np.ndarray, " d"]
    high: Float[np.ndarray, " d"]

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.low)

    def point(self, u: Any) -> Any:
        """The points of the box at coordinates from 0 to 1."""
        low, width = self.low, self.high - self.low
        return low.reshape((1,) * (u.ndim - 1) + (-1,)) + u * width.reshape(
            (1,) * (u.ndim - 1) + (-1,)
        )


def box_of(low: Any, high: Any) -> Box:
    """A checked box; numbers are a box of one coordinate."""
    low, high = (np.atleast_1d(np.asarray(v, np.float64)) for v in (low, high))
    if low.shape != high.shape or low.ndim != 1 or not low.size:
        raise InputError(
            f"low and high have shapes {low.shape} and {high.shape}; give one number each for "
            "every coordinate."
        )
    if not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
        raise InputError("low and high must be finite, and low below high everywhere.")
    return Box(low, high)


def evaluator(f: Callable) -> Callable[[np.ndarray], np.ndarray]:
    """A function of one point as a function of rows of points, in float64.

    Functions written in JAX are compiled once; others are called for each row.
    """

    def many(X: Any) -> Any:
        return jax.vmap(lambda x: jnp.asarray(f(x), X.dtype))(X)

    compiled = jax.jit(many)
    by_rows = False

    def values(X: np.ndarray) -> np.ndarray:
        nonlocal by_rows
        if not by_rows:
            try:
                with float64():
                    return np.asarray(compiled(jnp.asarray(X)))
            except Exception:  # whatever a function raises that JAX cannot trace
                by_rows = True
        return np.stack([np.asarray(f(x), np.float64) for x in X])

    return values


def scalar(values: np.ndarray) -> np.ndarray:
    """One number for each row: a function of one value may return it with an axis."""
    flat = values.reshape(len(values), -1)
    if flat.shape[1] != 1:
        raise InputError(
            f"f returns {flat.shape[1]} numbers at a point; it has to be one."
        )
    return flat[:, 0]


def lowest(
    score: Callable[[np.ndarray], np.ndarray],
    size: int,
    n: int,
    random_state: Any,
    *,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """The coordinates in the unit cube with the lowest score that was found, and the score.

    The first round has n random points (corners among them), each later one n points around
    the best so far, ever closer. Scores that are NaN do not count.

    Args:
        score: a function of (n, size) coordinates from 0 to 1.
        size: the number of coordinates.
        n: points of each round.
        random_state: the seed.
        start: coordinates to begin with, beside the random ones.
    """
    rng = np.random.default_rng(random_state)
    U = rng.random((n, size))
    corners = min(n // 4, 2 ** min(size, 10))
    U[:corners] = (np.arange(corners)[:, None] >> np.arange(size)) & 1
    if start is not None:
        U[-1] = start
    best, scores = np.empty((0, size)), np.empty(0)
    for i in range(ROUNDS):
        found = score(U)
        found = np.where(np.isnan(found), np.inf, found)
        best, scores = np.concatenate([best, U]), np.concatenate([scores, found])
        order = np.argsort(scores, kind="stable")[:KEPT]
        best, scores = best[order], scores[order]
        steps = rng.standard_normal((n, size)) * 0.3 * 0.5**i
        U = np.clip(best[rng.integers(len(best), size=n)] + steps, 0.0, 1.0)
    return best[0], float(scores[0])
