r"""One step of a first-order solver: gradient, stopping rules and update.

A run that has stopped is frozen: its parameters stay, whatever the batch. That costs
nothing (XLA fuses the selection with the update), so many runs can share one loop.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from likely.solvers.first_order.accumulation import split_rows
from likely.solvers.first_order.clipping import max_abs, norm
from likely.solvers.first_order.minibatches import Minibatches
from likely.solvers.stopping import Observation
from likely.typing import (
    DIVERGED,
    RUNNING,
    STEP_LIMIT,
    TRAINED,
    Batch,
    Key,
    State,
    Trace,
)


class Run(NamedTuple):
    """The state of a run between two steps."""

    step: Int[Array, ""]
    params: PyTree
    memory: PyTree
    """The state of the update rule: velocities, moving averages."""
    average: PyTree
    """The average of the parameters, where one is asked for."""
    state: State
    """The state of the model: running statistics."""
    schedule: PyTree
    """The state of the learning-rate schedule."""
    stops: tuple
    """The state of each stopping rule."""
    moved: Float[Array, ""]
    """Length of the last step."""
    loss: Float[Array, ""]
    """Mean over the batches of this epoch."""
    gradient: Float[Array, ""]
    """Largest absolute entry of the last gradient."""
    rate: Float[Array, ""]
    """Learning rate of the last step."""
    reason: Int[Array, ""]
    """Why the run has stopped, or RUNNING."""
    value: Float[Array, ""]
    """The number that belongs to the reason."""


class Move(NamedTuple):
    """What a solver computes in one step."""

    loss: Float[Array, ""]
    state: State
    gradient: Float[Array, ""]
    """Largest absolute entry."""
    change: PyTree
    """Of the parameters."""
    memory: PyTree
    """The state of the update rule after the step."""


@runtime_checkable
class OwnMoves(Protocol):
    """A solver whose step is more than one gradient and one update."""

    def moves(
        self, stepper: Any, run: Run, batch: Batch, key: Key | None, rate: Array
    ) -> Move:
        """One step on a batch, at the rate of the schedule."""
        ...


class Stepper(eqx.Module):
    """The steps of a solver on an objective.

    Args:
        solver: an update rule (`transform`) with schedule, clipping and stopping rules.
        objective: what is minimised.
        static: the model without its parameters.
        batches: how the rows are split into batches.
        key: for the noise; a step uses (key, step).
    """

    solver: Any
    objective: Any
    static: PyTree
    batches: Minibatches
    key: Key | None

    def start(self, params: PyTree, state: State, data: Batch) -> Run:
        """The state before the first step."""
        solver, full = self.solver, self.batches.full
        dtype = jax.eval_shape(
            lambda params: self.loss(params, data, None, state)[0], params
        ).dtype
        nan = jnp.full((), jnp.nan, dtype)
        return Run(
            step=jnp.zeros((), jnp.int32),
            params=params,
            memory=self.rule(nan).init(params),
            average=None if solver.average is None else params,
            state=state,
            schedule=solver.rate.init(),
            stops=tuple(stop.init() for stop in solver.stop),
            moved=jnp.full((), jnp.inf, dtype),
            loss=nan,
            gradient=nan,
            rate=nan,
            reason=jnp.where(full | (solver.steps > 0), RUNNING, TRAINED),
            value=nan,
        )

    def step(self, run: Run, batch: Batch, at: Int[Array, ""]) -> tuple[Run, Trace]:
        """Compute the gradient, check the stopping rules, and update if none holds.

        Args:
            run: the state before this step.
            batch: the rows of this step.
            at: the number of this step, the same for all runs in one loop.
        """
        schedule, average = self.solver.rate, self.solver.average
        rate = schedule.rate(at, run.schedule).astype(run.loss.dtype)
        noise = None if self.key is None else jax.random.fold_in(self.key, at)
        now, own = self.at(at), isinstance(self.solver, OwnMoves)
        if own:
            found = self.solver.moves(now, run, batch, noise, rate)
        else:
            found = now.moves(run, batch, noise, rate)
        loss, state, largest, change, memory = found
        seen = Observation(loss, largest, run.moved)
        reason, value, stops = self.check(run, seen)
        runs = run.reason == RUNNING
        moves = runs & ((reason == RUNNING) | (reason == TRAINED))
        params = _where(moves, optax.apply_updates(run.params, change), run.params)
        mean = run.average
        if average is not None:
            mean = _where(moves, average.move(mean, params, at + 1), mean)
        full = self.batches.full
        new = Run(
            step=run.step + moves,
            params=params,
            memory=jax.tree.map(lambda a, b: a.astype(b.dtype), memory, run.memory),
            average=mean,
            state=_where(moves, state, run.state),
            schedule=schedule.observe(run.schedule, loss),
            stops=stops,
            moved=norm(change).astype(run.moved.dtype) if stops else run.moved,
            loss=_where(
                runs if full else moves,
                loss if full else self.mean(run, loss, at),
                run.loss,
            ),
            gradient=_where(runs, seen.gradient, run.gradient),
            rate=_where(runs, rate, run.rate),
            reason=jnp.where(runs, reason, run.reason),
            value=_where(runs, value, run.value),
        )
        here = run.params if self.solver.path else None
        return new, Trace(loss, seen.gradient, rate, here)

    def at(self, step: Int[Array, ""]) -> "Stepper":
        """The stepper with the objective of a step, where that changes."""
        path = self.solver.continuation
        if path is None:
            return self
        objective = path(self.objective, step)
        return Stepper(self.solver, objective, self.static, self.batches, self.key)

    def moves(self, run: Run, batch: Batch, key: Key | None, rate: Array) -> Move:
        """One gradient and one update."""
        (loss, state), g = self.gradient(run.params, batch, key, run.state)
        change, memory = self.rule(rate).update(g, run.memory, run.params)
        return Move(loss, state, max_abs(g), change, memory)

    def gradient(self, params: PyTree, batch: Batch, key: Key | None, state: State):
        """((loss, state), gradient) of a batch, accumulated over parts if asked for."""

        def noisy_loss(params, batch, key, state):
            if self.solver.noise is not None and key is not None:
                key, k = jax.random.split(key)
                params, batch = self.solver.noise(params, batch, k)
            return self.loss(params, batch, key, state)

        evaluate = jax.value_and_grad(noisy_loss, has_aux=True)
        parts = self.solver.accumulate
        if parts == 1:
            return evaluate(params, batch, key, state)

        def add(carry, part):
            (total, state), g = carry
            i, rows = part
            k = None if key is None else jax.random.fold_in(key, i)
            (loss, state), h = evaluate(params, rows, k, state)
            g = jax.tree.map(lambda a, b: a + b / parts, g, h)
            return ((total + loss / parts, state), g), None

        rows = split_rows(batch, parts)
        first = jax.tree.map(lambda a: a[0], rows)
        loss = jax.eval_shape(lambda p: self.loss(p, first, None, state)[0], params)
        zero = jnp.zeros((), loss.dtype), state
        start = zero, jax.tree.map(jnp.zeros_like, params)
        return jax.lax.scan(add, start, (jnp.arange(parts), rows))[0]

    def check(self, run: Run, seen: Observation) -> tuple[Array, Array, tuple]:
        """Why to stop here, or RUNNING; the number that belongs to it; rule states.

        A full-batch run evaluates the loss after its last step; others stop before.
        """
        steps, full = self.solver.steps, self.batches.full
        last = run.step >= steps if full else run.step + 1 >= steps
        reason = jnp.where(last, STEP_LIMIT if full else TRAINED, RUNNING)
        value, memories = seen.gradient, []
        for stop, memory in zip(self.solver.stop, run.stops, strict=True):
            holds, number, memory = stop.check(memory, seen)
            reason = jnp.where(holds, stop.reason, reason)
            value = jnp.where(holds, number, value)
            memories.append(memory)
        bad = jnp.where(jnp.isfinite(seen.loss), seen.gradient, seen.loss)
        finite = jnp.isfinite(bad)
        reason = jnp.where(finite, reason, DIVERGED)
        value = jnp.where(finite, value, bad).astype(run.value.dtype)
        return reason, value, tuple(memories)

    def loss(self, params: PyTree, batch: Batch, key: Key | None, state: State):
        """The objective as a function of the parameters."""
        model = eqx.combine(params, self.static)
        return self.objective(model, batch, key=key, state=state)

    def rule(self, rate: Float[Array, ""]) -> optax.GradientTransformation:
        """Clipping, then the solver's rule at this rate."""
        clips = [clip.transform() for clip in self.solver.clip]
        return optax.chain(*clips, self.solver.transform(rate))

    def mean(self, run: Run, loss: Float[Array, ""], at: Int[Array, ""]) -> Array:
        """The mean loss of the epoch with one more batch."""
        i = at % self.batches.count
        return jnp.where(i == 0, loss, run.loss + (loss - run.loss) / (i + 1))


def _where(condition: Array, new: PyTree, old: PyTree) -> PyTree:
    """The new tree if the condition holds, else the old one, in the old precision."""
    return jax.tree.map(
        lambda a, b: jnp.where(condition, a, b).astype(b.dtype), new, old
    )
