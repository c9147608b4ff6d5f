r"""Linear functions: $f(x + y) = f(x) + f(y)$ and $f(ax) = a f(x)$, so $f(x) = w^\top x$."""

from collections.abc import Callable
from typing import Any

import numpy as np

from likely.analysis.search import evaluator
from likely.analysis.verdict import Verdict, searched
from likely.core.checks import InputError

TOLERANCE = 1e-9


def linearity(
    f: Callable,
    d: int,
    *,
    scale: float | int = 1.0,
    n: int = 500,
    random_state: int = 0,
) -> Verdict:
    r"""Whether a function of d numbers is linear: additive and homogeneous.

    A linear function is its values at the unit vectors: $f(x) = \sum_i f(e_i) x_i$, so these
    are looked at first.

    Args:
        f: a function of one point, with a number or a vector as its value.
        d: the number of coordinates.
        scale: the size of the points that are tried.
        n: how many pairs of points.
        random_state: the seed.

    Returns:
        "no" with x, y (additivity) or x, a (homogeneity), or "not refuted". The witness holds
        the `weight` (d, ...) of the only linear function that f can be; an affine one has the
        reason "f(0) is not 0".
    """
    if d < 1:
        raise InputError(f"d is {d}; give the number of coordinates, at least 1.")
    value, rng = evaluator(f), np.random.default_rng(random_state)
    x, y = scale * rng.standard_normal((2, n, d))
    a = 3 * rng.standard_normal((n, 1))
    zero = value(np.zeros((n, d))).reshape(n, -1)
    fx, fy, both, scaled = (value(at).reshape(n, -1) for at in (x, y, x + y, a * x))
    size = np.abs(np.stack([fx, fy, both, scaled])).max()
    weight = np.stack([value(np.tile(e, (n, 1)))[0] for e in np.eye(d)])
    if np.abs(zero).max() > TOLERANCE * max(size, 1e-300):
        witness: dict[str, Any] = {"x": np.zeros(d), "value": zero[0], "weight": weight}
        return searched("linear", True, f"f(0) is not 0 but {zero[0]}.", witness, 3 * n)
    gaps = {
        "additive": np.abs(both - fx - fy).max(1),
        "homogeneous": np.abs(scaled - a * fx).max(1),
    }
    for name, gap in gaps.items():
        worst = int(np.argmax(gap))
        if gap[worst] > TOLERANCE * size:
            other = {"y": y[worst]} if name == "additive" else {"a": float(a[worst, 0])}
            witness = {
                "x": x[worst],
                **other,
                "gap": float(gap[worst]),
                "weight": weight,
            }
            sides = {
                "additive": "f(x + y) and f(x) + f(y)",
                "homogeneous": "f(ax) and a f(x)",
            }
            reason = f"It is not {name}: {sides[name]} differ by {gap[worst]:.3g}."
            return searched("linear", True, reason, witness, 3 * n)
    found = searched("linear", False, "", {}, 3 * n)
    return found._replace(witness={"weight": weight})
