r"""Proximal gradient descent: a smooth loss and a penalty with a proximal map.

$$x_{t+1} = \operatorname{prox}_{s\,h}\bigl(y_t - s\nabla f(y_t)\bigr), \qquad
  \operatorname{prox}_{s\,h}(v) = \arg\min_x\, s\,h(x) + \tfrac12\lVert x - v\rVert^2,$$

for f + h with f smooth; for h = α‖·‖₁ the map is the soft threshold, so that entries
become exactly zero, which subgradient steps never achieve. With $y_t = x_t$ this is
ISTA. FISTA extrapolates, $y_t = x_t + \frac{θ_{t-1}-1}{θ_t}(x_t - x_{t-1})$, and restarts
its momentum when that points uphill. The step s is halved until the quadratic
model with curvature 1/s lies above f, and may grow again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.solvers.flat import empty_trace, flatten, max_abs, trace_capacity
from likely.solvers.full_batch import AbstractFullBatch, iterate, reason_to_stop
from likely.solvers.settings import Real, Whole, real, whole
from likely.typing import DIVERGED, GRADIENT, RUNNING, Batch, Key, Solution, State

GROWTH = 1.1
"""Factor of the step size after a step that needed no halving."""
MAX_HALVINGS = 60


class ProximalGradient(AbstractFullBatch):
    """ISTA, or with `accelerate` FISTA with restarts, for `Proximable` objectives.

    Args:
        max_steps: the step limit.
        tolerance: stop when no entry of the generalised gradient (y − x)/s is larger.
        accelerate: whether to extrapolate.
        path: whether the trace keeps the parameters of each step.
    """

    max_steps: Whole = whole(5000)
    tolerance: Real = real(1e-6)
    accelerate: bool = eqx.field(static=True, default=True)
    path: bool = eqx.field(static=True, default=False, kw_only=True)

    def trace_length(self) -> int:
        """The number of points of the trace."""
        return trace_capacity(self.max_steps)

    def solve(
        self, objective, model, data: Batch, *, key, state, capacity: int
    ) -> Solution:
        """Proximal steps until there is a reason to stop."""
        x, rebuild = flatten(model)
        split = _Split(objective, rebuild, data, key)

        def step(k, c: _Carry):
            f, g = jax.value_and_grad(lambda y: split.smooth(y, c.at.state)[0])(c.y)
            s, new, above = split.search(c.y, g, f, c.s, c.at.state)
            gradient = max_abs((c.y - new.x) / s)
            y, momentum = (
                _extrapolate(c, new.x) if self.accelerate else (new.x, c.momentum)
            )
            level = gradient <= self.tolerance, GRADIENT
            reason = reason_to_stop(k + 1, self.max_steps, new.loss, level)
            entry = c.at.loss, gradient, s, c.at.x
            s = jnp.where(above, GROWTH * s, s)
            return k + 1, reason, _Carry(new, y, momentum, s, gradient), entry

        at = _Trial(x, split.smooth(x, state)[0], *split.total(x, state))
        one = jnp.ones((), at.loss.dtype)
        trace = empty_trace(capacity, at.loss.dtype, x if self.path else None)
        reason = jnp.where(jnp.isfinite(at.loss), RUNNING, DIVERGED)
        run = iterate(step, _Carry(at, x, one, one, jnp.inf * one), reason, trace)
        at, gradient = run.at.at, run.at.gradient
        run = run.record(at.loss, gradient, jnp.nan, at.x)
        return run.solution(at.x, rebuild, at.state, at.loss, gradient)


class _Trial(NamedTuple):
    """A point: its smooth loss, its full loss, and the state there."""

    x: Float[Array, " p"]
    smooth: Float[Array, ""]
    loss: Float[Array, ""]
    state: State


class _Split(NamedTuple):
    """The objective as a function of flat parameters, and its smooth part."""

    objective: Any
    rebuild: Callable[[Array], Any]
    data: Batch
    key: Key | None

    def total(self, x: Float[Array, " p"], state: State):
        """The full loss, and the state there."""
        return self.objective(self.rebuild(x), self.data, key=self.key, state=state)

    def smooth(self, x: Float[Array, " p"], state: State):
        """The smooth loss, and the state there."""
        model = self.rebuild(x)
        return self.objective.smooth(model, self.data, key=self.key, state=state)

    def trial(self, y, g, s: Array, state: State) -> _Trial:
        """A step of size s from y."""
        x = flatten(self.objective.prox(self.rebuild(y - s * g), s))[0]
        return _Trial(x, self.smooth(x, state)[0], *self.total(x, state))

    def search(self, y, g, f: Array, s: Array, state: State):
        """Halve s until the quadratic model lies above f; whether it does without slack."""

        def above(new: _Trial, s: Array) -> Array:
            d = new.x - y
            return new.smooth - (f + g @ d + (d @ d) / (2 * s))

        slack = 8 * jnp.finfo(f.dtype).eps * jnp.abs(f)
        s, new, _ = jax.lax.while_loop(
            lambda c: ~(above(c[1], c[0]) <= slack) & (c[2] < MAX_HALVINGS),
            lambda c: (0.5 * c[0], self.trial(y, g, 0.5 * c[0], state), c[2] + 1),
            (s, self.trial(y, g, s, state), 0),
        )
        return s, new, above(new, s) <= 0


class _Carry(NamedTuple):
    at: _Trial
    y: Float[Array, " p"]
    momentum: Float[Array, ""]
    s: Float[Array, ""]
    gradient: Float[Array, ""]
    """The largest entry of the generalised gradient."""


def _extrapolate(c: _Carry, x: Float[Array, " p"]) -> tuple[Array, Array]:
    """The extrapolated point, and the momentum; both restart when it points uphill."""
    uphill = (c.y - x) @ (x - c.at.x) > 0
    momentum = jnp.where(uphill, 1.0, c.momentum)
    grown = 0.5 * (1 + jnp.sqrt(1 + 4 * momentum**2))
    return x + (momentum - 1) / grown * (x - c.at.x), grown
