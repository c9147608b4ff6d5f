r"""Convex sets: $t x + (1 - t) y$ is in the set with x and y."""

from collections.abc import Callable
from typing import Any

import numpy as np

from likely.analysis.search import box_of
from likely.analysis.verdict import Verdict, searched
from likely.core.checks import InputError

STEPS = 9
"""Points between two members that are looked at."""


def set_convexity(
    contains: Callable, low: Any, high: Any, *, n: int = 4000, random_state: int = 0
) -> Verdict:
    """Whether a set is convex: a search for two members with a gap between them.

    Args:
        contains: a function of one point (a vector of d numbers) that says whether it is in the
            set.
        low: the lowest value of each coordinate of a box that holds the set.
        high: the highest value of each coordinate.
        n: how many pairs of members are looked at.
        random_state: the seed.

    Returns:
        "no" with members x and y and a point `between` that is none, or "not refuted".
    """
    box, rng = box_of(low, high), np.random.default_rng(random_state)

    def inside(X: np.ndarray) -> np.ndarray:
        return np.array([bool(np.all(contains(x))) for x in X])

    draws = box.point(rng.random((n, box.dimension)))
    members = draws[inside(draws)]
    if len(members) < 2:
        raise InputError(
            f"{len(members)} of {n:,} random points are in the set; give low and high closer "
            "around it."
        )
    pairs = rng.integers(len(members), size=(max(n // STEPS, 1), 2))
    x, y = members[pairs[:, 0]], members[pairs[:, 1]]
    t = np.arange(1, STEPS + 1) / (STEPS + 1)
    between = t[:, None, None] * x + (1 - t[:, None, None]) * y
    out = ~inside(between.reshape(-1, box.dimension)).reshape(STEPS, -1)
    if not out.any():
        return searched("a convex set", False, "", {}, out.size)
    step, pair = (int(i) for i in np.argwhere(out)[0])
    witness = {
        "x": x[pair],
        "y": y[pair],
        "t": float(t[step]),
        "between": between[step, pair],
    }
    shown = [np.round(witness[name], 4).tolist() for name in ("x", "y", "between")]
    reason = (
        f"x = {shown[0]} and y = {shown[1]} are in it, {shown[2]} between them is not."
    )
    return searched("a convex set", True, reason, witness, out.size)
