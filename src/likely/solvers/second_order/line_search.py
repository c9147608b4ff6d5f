r"""Line search: the step size along a direction.

Each search takes the current point, a direction d with slope $g^\top d < 0$ and an
initial step size t, and returns the new point, its step size, and whether it succeeded:

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

ARMIJO, WOLFE = 1e-4, 0.9
"""The constants of the conditions on decrease and slope."""
MAX_TRIES = 40
GOLDEN_RATIO = (5**0.5 - 1) / 2


class Point(NamedTuple):
    """The current point of a solver: parameters, loss, gradient, state."""

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
    """A point on the line, and whether it meets the two Wolfe conditions."""

    point: Point
    low: Bool[Array, ""]
    flat: Bool[Array, ""]


def trial(evaluate: Callable, at: Point, d: Float[Array, " p"], slope, t) -> Trial:
    """Evaluate x + t d.

    Where rounding hides the decrease, the slope decides: on a parabola the decrease
    test says that the new slope is at most (2·10⁻⁴ − 1) of the old.
    """
    x = at.x + t * d
    (f, state), g = evaluate(x, at.state)
    new_slope = g @ d
    slack = 8 * jnp.finfo(f.dtype).eps * jnp.abs(at.f)
    decreased = f <= at.f + ARMIJO * t * slope
    by_slope = (f <= at.f + slack) & (new_slope <= (2 * ARMIJO - 1) * slope)
    low = jnp.isfinite(f) & (decreased | by_slope)
    return Trial(Point(x, f, g, state), low, new_slope >= WOLFE * slope)


def backtracking(evaluate: Callable, at: Point, d, slope, t) -> Found:
    """Halve the step until the loss falls enough."""

    def unfinished(c):
        _, new, tries = c
        return ~new.low & (tries < MAX_TRIES)

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
        return ~(new.low & new.flat) & (tries < MAX_TRIES)

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
    """A failed trial to start the loop with, which then holds the only objective.

    The program of a solver is mostly copies of its objective; one copy less
    compiles sooner.
    """
    false = jnp.asarray(False)
    return Trial(at, false, false)


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

    f has to decrease at 0. If it decreases without end, b is very large.
    """
    start = f(jnp.zeros_like(t))

    def too_high(c):
        t, new, tries = c
        return ~(new < start) & (tries < MAX_TRIES)

    def shrink(c):
        t = c[0] * (1 - GOLDEN_RATIO)
        return t, f(t), c[2] + 1

    t, new, _ = jax.lax.while_loop(too_high, shrink, (t, f(t), 0))

    def falling(c):
        _, new, _, beyond, tries = c
        return (beyond < new) & (tries < MAX_TRIES)

    def expand(c):
        _, _, end, beyond, tries = c
        return end, beyond, end / GOLDEN_RATIO, f(end / GOLDEN_RATIO), tries + 1

    end = t / GOLDEN_RATIO
    *_, end, _, _ = jax.lax.while_loop(falling, expand, (t, new, end, f(end), 0))
    return jnp.zeros_like(end), end


def golden_section(
    f: Callable, low: Float[Array, ""], high: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    r"""The minimum of a unimodal f between two ends, and its value.

    Each step keeps $\frac{\sqrt5 - 1}{2} \approx 0.618$ of the bracket and costs one
    evaluation. Near a minimum f is flat to rounding within the root of the machine
    precision, so no search by values alone finds more than half of the digits.

    Examples:
        >>> import jax.numpy as jnp
        >>> low, high = jnp.array(0.0), jnp.array(3.0)
        >>> t, value = lk.solvers.golden_section(lambda t: (t - 1.0) ** 2, low, high)
        >>> round(float(t), 2)
        1.0
    """

    def inner(low, high):
        width = GOLDEN_RATIO * (high - low)
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
