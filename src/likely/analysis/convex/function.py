r"""Convex functions: three tests, each with the witness that refutes.

- by definition: $f(tx + (1-t)y) \le t f(x) + (1-t) f(y)$;
- by gradient: $f(y) \ge f(x) + \nabla f(x)^\top (y - x)$;
- by Hessian: $v^\top \nabla^2 f(x)\, v \ge 0$.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from likely.analysis.search import Box, box_of, evaluator, lowest, scalar
from likely.analysis.verdict import Verdict, searched
from likely.core.checks import InputError, check_choice

TESTS = ("definition", "gradient", "hessian")
ROUNDING = 256 * np.finfo(float).eps
"""Relative to the values of f: gaps below are rounding."""
MIN_APART = 0.1
"""How far apart, in widths of the box, two points are that refute strict convexity."""


def convexity(
    f: Callable,
    low: Any,
    high: Any,
    *,
    by: str = "definition",
    strict: bool = False,
    n: int = 1000,
    random_state: int = 0,
) -> Verdict:
    """Whether a function is convex on a box: a search for a counter-example.

    Args:
        f: a function of one point, a vector of d numbers; for "gradient" and "hessian" written
            in JAX.
        low: the lowest value of each coordinate.
        high: the highest value of each coordinate.
        by: "definition" (any function), "gradient" or "hessian".
        strict: whether a straight piece refutes too; not by Hessians, which cannot tell.
        n: points of each of ten rounds of the search.
        random_state: the seed.

    Returns:
        "no" with a witness: two points x and y with the weight t of x ("definition"), x and y
        ("gradient"), or the point x with the direction v of negative curvature ("hessian"); or
        "not refuted". Where f is quadratic, `definiteness` of its matrix proves it.

    Examples:
        >>> low, high = np.full(2, -1.0), np.full(2, 1.0)
        >>> print(lk.analysis.convexity(lambda x: (x**2).sum(), low, high))
        convex: not refuted. No counter-example among 10,000 trials; that is no proof.
    """
    check_choice("by", by, TESTS)
    if strict and by == "hessian":
        raise InputError(
            "curvature cannot refute strict convexity: that of x⁴ is zero at 0, and it is strictly "
            'convex; use by="definition" or by="gradient".'
        )
    box = box_of(low, high)
    search = {
        "definition": _by_definition,
        "gradient": _by_gradient,
        "hessian": _by_hessian,
    }
    claim = f"{'strictly ' if strict else ''}convex"
    found, reason, witness = search[by](f, box, strict, (n, random_state))
    return searched(claim, found, reason, witness, 10 * n)


def _apart(x: np.ndarray, y: np.ndarray, box: Box, strict: bool) -> np.ndarray:
    """Squared distances; NaN where points are too near each other to be told apart."""
    gap = np.abs(x - y) / (box.high - box.low)
    least = MIN_APART if strict else 1e-4
    return np.where(gap.max(1) >= least, ((x - y) ** 2).sum(1), np.nan)


def _by_definition(f: Callable, box: Box, strict: bool, effort: Any) -> Any:
    value, d = evaluator(f), box.dimension

    def parts(U: np.ndarray) -> tuple:
        x, y = box.point(U[:, :d]), box.point(U[:, d : 2 * d])
        t = (0.25 + 0.5 * U[:, -1]) if strict else (0.02 + 0.96 * U[:, -1])
        return x, y, t, t[:, None] * x + (1 - t[:, None]) * y

    def gaps(U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y, t, between = parts(U)
        values = [scalar(value(at)) for at in (x, y, between)]
        size = np.abs(values).sum(0) + np.finfo(float).tiny
        return t * values[0] + (1 - t) * values[1] - values[2], ROUNDING * size

    def score(U: np.ndarray) -> np.ndarray:
        x, y, t, _ = parts(U)
        gap, rounding = gaps(U)
        slack = gap - rounding if strict else gap + rounding
        return slack / (t * (1 - t) * _apart(x, y, box, strict))

    u, lowest_score = lowest(score, 2 * d + 1, *effort)
    if lowest_score < 0 and not strict:  # from the sharpest bend to the widest gap
        u, _ = lowest(lambda U: np.add(*gaps(U)), 2 * d + 1, *effort, start=u)
    x, y, t, between = (part[0] for part in parts(u[None]))
    gap = float(gaps(u[None])[0][0])
    reason = (
        f"Between x = {_short(x)} and y = {_short(y)}, at {_short(between)} (t = {t:.3g}), f is "
        f"{_above(gap)} the chord."
    )
    witness = {"x": x, "y": y, "t": float(t), "between": between, "gap": gap}
    return lowest_score < 0, reason, witness


def _by_gradient(f: Callable, box: Box, strict: bool, effort: Any) -> Any:
    value, slope, d = evaluator(f), evaluator(jax.grad(_number(f))), box.dimension

    def gaps(U: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x, y = box.point(U[:, :d]), box.point(U[:, d:])
        fx, fy = scalar(value(x)), scalar(value(y))
        rise = (slope(x) * (y - x)).sum(1)
        size = np.abs(fx) + np.abs(fy) + np.abs(rise) + np.finfo(float).tiny
        return fy - fx - rise, ROUNDING * size, _apart(x, y, box, strict)

    def score(U: np.ndarray) -> np.ndarray:
        gap, rounding, apart = gaps(U)
        return (gap - rounding if strict else gap + rounding) / apart

    u, lowest_score = lowest(score, 2 * d, *effort)
    if lowest_score < 0 and not strict:
        u, _ = lowest(lambda U: np.add(*gaps(U)[:2]), 2 * d, *effort, start=u)
    x, y, gap = box.point(u[:d]), box.point(u[d:]), float(gaps(u[None])[0][0])
    reason = (
        f"At y = {_short(y)}, f is {abs(gap):.3g} {'below' if gap < 0 else 'from'} its tangent at "
        f"x = {_short(x)}."
    )
    return lowest_score < 0, reason, {"x": x, "y": y, "gap": gap}


def _by_hessian(f: Callable, box: Box, strict: bool, effort: Any) -> Any:
    del strict  # refused
    curvature = evaluator(jax.hessian(_number(f)))
    d = box.dimension

    def score(U: np.ndarray) -> np.ndarray:
        H = curvature(box.point(U)).reshape(-1, d, d)
        values = np.linalg.eigvalsh(np.where(np.isfinite(H), H, 0.0))
        rounding = ROUNDING * np.abs(values).max(1)
        return np.where(np.isfinite(H).all((1, 2)), values[:, 0] + rounding, np.nan)

    u, lowest_score = lowest(score, d, *effort)
    x = box.point(u)
    values, vectors = np.linalg.eigh(curvature(x[None]).reshape(d, d))
    reason = (
        f"At x = {_short(x)} the curvature along v = {_short(vectors[:, 0])} is "
        f"{values[0]:.3g}."
    )
    witness = {"x": x, "v": vectors[:, 0], "curvature": float(values[0])}
    return lowest_score < 0, reason, witness


def _number(f: Callable) -> Callable:
    """f with its one value as a number, whatever axes it has."""
    return lambda x: f(x).reshape(())


def _above(gap: float) -> str:
    return f"{-gap:.3g} above" if gap < 0 else "on"


def _short(x: Any) -> str:
    return np.array2string(np.asarray(x), precision=4, separator=", ", threshold=8)
