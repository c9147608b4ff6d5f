r"""Line search: how far to go along a direction.

Each search takes where the solver stands, a direction d with slope $g^\top d < 0$ and a
first guess t, and returns the new point, the step size, and whether it found one:

- `backtracking` halves t until the loss falls enough (Armijo),
  $f(x+td) \le f(x) + 10^{-4}\,t\,g^\top d$;
- `wolfe` also asks for enough flattening, $g(x+td)^\top d \ge 0.9\,g^\top d$ (the weak
  Wolfe conditions), by doubling and bisection: quasi-Newton methods need it;
- `golden` brackets a minimum along the line and shrinks the bracket by the golden
  section: nearly exact, and many evaluations.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from likely.typing import State

DECREASE, FLATTENING, TRIES = 1e-4, 0.9, 40
RATIO = (5**0.5 - 1) / 2


class Point(NamedTuple):
    """Where a solver stands: parameters, loss, gradient, state."""

    x: Float[Array, " p"]
    f: Float[Array, ""]
    g: Float[Array, " p"]
    state: State


class Found(NamedTuple):
    """The result of a line search."""

    point: Point
    step: Float[Array, ""]
    ok: Bool[Array, ""]


class Trial(NamedTuple):
    """A point on the line, and whether it is low and flat enough."""

    point: Point
    low: Bool[Array, ""]
    flat: Bool[Array, ""]


def trial(evaluate: Callable, at: Point, d: Float[Array, " p"], slope, t) -> Trial:
    """Try x + t d.

    Where rounding hides the decrease, a step whose slope shows it is low enough: on a
    parabola the decrease test says that the new slope is at most (2·10⁻⁴ − 1) of the old.
    """
    x = at.x + t * d
    (f, state), g = evaluate(x, at.state)
    new_slope = g @ d
    slack = 8 * jnp.finfo(f.dtype).eps * jnp.abs(at.f)
    clearly = f <= at.f + DECREASE * t * slope
    closely = (f <= at.f + slack) & (new_slope <= (2 * DECREASE - 1) * slope)
    low = jnp.isfinite(f) & (clearly | closely)
    return Trial(Point(x, f, g, state), low, new_slope >= FLATTENING * slope)


def backtracking(evaluate: Callable, at: Point, d, slope, t) -> Found:
    """Halve the step until the loss falls enough."""

    def unfinished(c):
        _, new, tries = c
        return ~new.low & (tries < TRIES)

    def halve(c):
        t, _, tries = c
        t = jnp.where(tries == 0, t, 0.5 * t)
        return t, trial(evaluate, at, d, slope, t), tries + 1

    start = (jnp.asarray(t, at.f.dtype), _untried(at), 0)
    t, new, _ = jax.lax.while_loop(unfinished, halve, start)
    return Found(new.point, t, new.low)


def wolfe(evaluate: Callable, at: Point, d, slope, t) -> Found:
    """A step that meets the weak Wolfe conditions, by doubling and bisection."""

    def unfinished(c):
        _, _, _, new, tries = c
        return ~(new.low & new.flat) & (tries < TRIES)

    def again(c):
        t, low, high, new, tries = c
        low = jnp.where(new.low, t, low)
        high = jnp.where(new.low | (tries == 0), high, t)
        between = jnp.where(jnp.isfinite(high), 0.5 * (low + high), 2 * low)
        t = jnp.where(tries == 0, t, between)
        return t, low, high, trial(evaluate, at, d, slope, t), tries + 1

    t = jnp.asarray(t, at.f.dtype)
    start = (t, jnp.zeros_like(t), jnp.full_like(t, jnp.inf), _untried(at), 0)
    t, _, _, new, _ = jax.lax.while_loop(unfinished, again, start)
    return Found(new.point, t, new.low & (t > 0))


def _untried(at: Point) -> Trial:
    """Before the first trial: so the loop holds the only copy of the objective.

    The program of a solver is mostly copies of its objective; one less of them
    compiles sooner.
    """
    no = jnp.asarray(False)
    return Trial(at, no, no)


def golden(evaluate: Callable, at: Point, d, slope, t) -> Found:
    """The lowest point of a bracket on the line, by the golden section."""

    def along(t: Float[Array, ""]) -> Float[Array, ""]:
        return evaluate(at.x + t * d, at.state)[0][0]

    t = jnp.asarray(t, at.f.dtype)
    t, _ = golden_section(along, *bracket(along, t))
    new = trial(evaluate, at, d, slope, t)
    return Found(new.point, t, new.low & (t > 0))


def bracket(f: Callable, t: Float[Array, ""]) -> tuple[Float[Array, ""], Array]:
    """Ends 0 and b around a minimum of f over t ≥ 0: expand or shrink by factors.

    f has to fall at 0. Where it falls for ever the end is very far away.
    """
    start = f(jnp.zeros_like(t))

    def too_far(c):
        t, new, tries = c
        return ~(new < start) & (tries < TRIES)

    def shrink(c):
        t = c[0] * (1 - RATIO)
        return t, f(t), c[2] + 1

    t, new, _ = jax.lax.while_loop(too_far, shrink, (t, f(t), 0))

    def falling(c):
        _, new, _, beyond, tries = c
        return (beyond < new) & (tries < TRIES)

    def expand(c):
        _, _, end, beyond, tries = c
        return end, beyond, end / RATIO, f(end / RATIO), tries + 1

    end = t / RATIO
    *_, end, _, _ = jax.lax.while_loop(falling, expand, (t, new, end, f(end), 0))
    return jnp.zeros_like(end), end


def golden_section(
    f: Callable, low: Float[Array, ""], high: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    r"""The minimum of a unimodal f between two ends, and its value.

    Each step keeps $\frac{\sqrt5 - 1}{2} \approx 0.618$ of the bracket and costs one
    evaluation. Near a minimum f is flat to rounding within the root of the machine
    precision, so no search by values alone finds more than half of the digits.
    """

    def inner(low, high):
        width = RATIO * (high - low)
        return high - width, low + width

    def wide(c):
        low, high, a, b, _, _ = c
        small = jnp.finfo(a.dtype).eps ** 0.5 * (jnp.abs(a) + jnp.abs(b))
        return high - low > small

    def shrink(c):
        low, high, a, b, fa, fb = c
        left = fa < fb  # the minimum is in [low, b]
        low, high = jnp.where(left, low, a), jnp.where(left, b, high)
        new_a, new_b = inner(low, high)
        t = jnp.where(left, new_a, new_b)
        ft = f(t)
        a, b = jnp.where(left, t, b), jnp.where(left, a, t)
        return low, high, a, b, jnp.where(left, ft, fb), jnp.where(left, fa, ft)

    low, high = jnp.asarray(low), jnp.asarray(high)
    a, b = inner(low, high)
    *_, a, b, fa, fb = jax.lax.while_loop(wide, shrink, (low, high, a, b, f(a), f(b)))
    return jnp.where(fa < fb, a, b), jnp.minimum(fa, fb)


SEARCHES = {"backtracking": backtracking, "golden": golden, "wolfe": wolfe}
