"""Quantiles from a cdf: the smallest y with cdf(y) ≥ q, where there is no closed form.

Families have cdfs that JAX compiles. Their searches start at a guess, move away from it in
growing steps until the answer lies between two points, and then close in; it is one loop,
so the cdf is compiled once. Distributions made of other distributions have cdfs that are
NumPy functions, and known bounds, between which SciPy's version of the same search is used.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, Int
from scipy.optimize.elementwise import find_root

Cdf = Callable[[Array], Array]
HALF_WIDTH_ULPS = 32.0
"""Half of the width, in floating-point numbers, at which a search ends."""
SEARCH_TOLERANCE = 1e-15
"""The width, relative to the ends, at which the search in NumPy ends."""


def searched_quantile(
    cdf: Callable[[np.ndarray], np.ndarray],
    q: Float[np.ndarray, "*n"],
    low: Float[np.ndarray, "*n"],
    high: Float[np.ndarray, "*n"],
) -> Float[np.ndarray, "*n"]:
    """The quantiles of a continuous NumPy cdf, which lie between `low` and `high`."""
    q = np.clip(q, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
    between = (low < high) & np.isfinite(low) & np.isfinite(high)
    found = np.where(q < 0.5, low, high)
    if not between.any():
        return found

    def excess(y: np.ndarray, place: np.ndarray) -> np.ndarray:
        """The log of the smaller tail at y over that at q; y for some of the entries."""
        everywhere = found.copy()
        everywhere.flat[place] = y
        p, goal = np.asarray(cdf(everywhere)).flat[place], q.flat[place]
        with np.errstate(divide="ignore"):
            upper = np.log1p(-goal) - np.log1p(-np.minimum(p, 1.0))
            lower = np.log(p) - np.log(goal)
        return np.clip(np.where(goal > 0.5, upper, lower), -1e3, 1e3)

    place = np.flatnonzero(between)
    ends = low.flat[place], high.flat[place]
    near = SEARCH_TOLERANCE * float((ends[1] - ends[0]).min())  # a jump may be at 0
    tolerances = {"xrtol": SEARCH_TOLERANCE, "xatol": near, "fatol": 0.0, "frtol": 0.0}
    root = find_root(excess, ends, args=(place,), tolerances=tolerances)
    # rounding may leave no change of sign where an end is the answer
    end = np.where(excess(ends[0], place) >= 0, *ends)
    found.flat[place] = np.where(root.success, root.x, end)
    return found


def searched_count(
    cdf: Callable[[np.ndarray], np.ndarray],
    q: Float[np.ndarray, "*n"],
    low: Float[np.ndarray, "*n"],
    high: Float[np.ndarray, "*n"],
) -> Float[np.ndarray, "*n"]:
    """The smallest whole y in [low, high] with cdf(y) ≥ q, by bisection."""
    goal = q * (1 - 4 * np.finfo(float).eps)
    low = np.where(np.isfinite(high), low - 1, high)
    middle = np.floor(0.5 * (low + high))
    while ((low < middle) & (middle < high)).any():
        enough = cdf(middle) >= goal
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        middle = np.floor(0.5 * (low + high))
    return high


class _Bracket(NamedTuple):
    """The newest point a, b on the other side of the root, c the point before."""

    a: Int[Array, "*n"]
    b: Int[Array, "*n"]
    c: Int[Array, "*n"]
    fa: Float[Array, "*n"]
    fb: Float[Array, "*n"]
    fc: Float[Array, "*n"]


def continuous_quantile(
    cdf: Cdf,
    q: Float[Array, "*n"],
    guess: Float[Array, "*n"],
    low: Float[Array, "*n"],
    high: Float[Array, "*n"],
) -> Float[Array, "*n"]:
    """The y in [low, high] with cdf(y) = q, to about the last bits that the cdf resolves.

    Chandrupatla's method (inverse quadratic interpolation; a step or bisection where
    that is not safe) for the log of the smaller tail, as a function of the *rank* of
    y among the floating-point numbers, so that no scale is out of reach.
    """
    finfo = jnp.finfo(q.dtype)
    q = jnp.clip(q, finfo.tiny, 1 - finfo.epsneg)

    def excess(rank: Int[Array, "*n"]) -> Float[Array, "*n"]:
        p = cdf(_number(rank, q.dtype))
        return jnp.where(
            q > 0.5, jnp.log1p(-q) - jnp.log1p(-p), jnp.log(p) - jnp.log(q)
        )

    def unfinished(carry) -> Array:
        s, _, _, steps = carry
        return jnp.any(_gap(s.a, s.b, q.dtype) > 2 * HALF_WIDTH_ULPS) & (
            steps < 2 * finfo.bits
        )

    def advance(carry):
        s, x, width, steps = carry
        f = excess(x)
        same = (f < 0) == (s.fa < 0)
        c, fc = jnp.where(same, s.a, s.b), jnp.where(same, s.fa, s.fb)
        b, fb = jnp.where(same, s.b, s.a), jnp.where(same, s.fb, s.fa)
        s = _Bracket(x, b, c, f, fb, fc)
        return s, _next(s, width), jnp.minimum(8 * width, limit >> 3), steps + 1

    a, b, limit = _rank(low), _rank(high), _rank(jnp.asarray(finfo.max, q.dtype))
    f = jnp.full_like(q, jnp.inf)
    start = (_Bracket(a, b, b, -f, f, f), _rank(guess), limit >> 20, jnp.asarray(0))
    end = jax.lax.while_loop(unfinished, advance, start)[0]
    return _number(jnp.where(end.fa < 0, end.b, end.a), q.dtype)


def _next(s: _Bracket, width: Int[Array, ""]) -> Int[Array, "*n"]:
    """The next point to evaluate: the interpolated root, else a step inwards from a."""
    a, b, c = (rank.astype(s.fa.dtype) for rank in (s.a, s.b, s.c))
    x, f = (a - b) / (c - b), (s.fa - s.fb) / (s.fc - s.fb)
    safe = (f**2 < x) & ((1 - f) ** 2 < 1 - x)
    first = s.fa / (s.fb - s.fa) * (s.fc / (s.fb - s.fc))
    second = (c - a) / (b - a) * (s.fa / (s.fc - s.fa)) * (s.fb / (s.fc - s.fb))
    gap = _gap(s.a, s.b, s.fa.dtype)
    least = HALF_WIDTH_ULPS / jnp.maximum(gap, 2 * HALF_WIDTH_ULPS)
    step = jnp.round(jnp.clip(first + second, least, 1 - least) * gap).astype(s.a.dtype)
    middle = (s.a & s.b) + ((s.a ^ s.b) >> 1)  # without overflow
    inwards = jnp.where(safe, step, jnp.minimum(width, jnp.abs(middle - s.a)))
    return jnp.where(s.b > s.a, s.a + inwards, s.a - inwards)


def discrete_quantile(
    cdf: Cdf,
    q: Float[Array, "*n"],
    guess: Float[Array, "*n"],
    width: Float[Array, "*n"],
) -> Float[Array, "*n"]:
    """The smallest whole y ≥ 0 with cdf(y) ≥ q, up to rounding of the cdf; ∞ at q = 1.

    `width` is about how far off the guess may be.
    """
    finfo = jnp.finfo(q.dtype)
    goal, largest = q * (1 - 4 * finfo.eps), finfo.max / 4

    def middle(low: Array, high: Array) -> Array:
        """The whole number in the middle; one of the ends where there is none between."""
        return jnp.floor(low + 0.5 * (high - low))

    def unfinished(carry) -> Array:
        low, high = carry[:2]
        return jnp.any((middle(low, high) > low) & (middle(low, high) < high))

    def advance(carry):
        low, high, y, width = carry
        enough = cdf(y) >= goal
        low, high = jnp.where(enough, low, y), jnp.where(enough, y, high)
        centre = middle(low, high)
        down, up = jnp.maximum(centre, high - width), jnp.minimum(centre, low + width)
        return low, high, jnp.where(enough, down, up), 8 * width

    guess = jnp.clip(
        jnp.where(jnp.isfinite(guess), jnp.floor(guess), 0.0), 0.0, largest
    )
    width = jnp.where(jnp.isfinite(width), jnp.ceil(width), 1.0)
    start = (jnp.full_like(q, -1.0), jnp.full_like(q, largest), guess, width)
    y = jax.lax.while_loop(unfinished, advance, start)[1]
    return jnp.where(q < 1, jnp.maximum(y, 0.0), jnp.inf)


def normal_guess(q: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    """The quantile of the normal with these moments, and how far off it may be."""
    std = jnp.sqrt(variance)
    return mean + std * ndtri(q), 1 + 0.1 * std


def _rank(x: Float[Array, "*n"]) -> Int[Array, "*n"]:
    """The rank of x among the floating-point numbers, counted from zero."""
    whole = jnp.int64 if x.dtype == jnp.float64 else jnp.int32
    return _flip_negative(jax.lax.bitcast_convert_type(x, whole))


def _number(rank: Int[Array, "*n"], dtype) -> Float[Array, "*n"]:
    """The floating-point number of a rank; the inverse of `_rank`."""
    return jax.lax.bitcast_convert_type(_flip_negative(rank), dtype)


def _flip_negative(bits: Int[Array, "*n"]) -> Int[Array, "*n"]:
    """The bits with those of negative numbers flipped: sorted as the numbers are."""
    info = jnp.iinfo(bits.dtype)
    return bits ^ ((bits >> (info.bits - 1)) & info.max)


def _gap(a: Int[Array, "*n"], b: Int[Array, "*n"], dtype) -> Float[Array, "*n"]:
    """The distance of two ranks, which may be more than an integer can hold."""
    near = jnp.abs(a - b).astype(dtype)
    far = jnp.abs(a.astype(dtype) - b.astype(dtype))
    return jnp.where((a < 0) == (b < 0), near, far)
