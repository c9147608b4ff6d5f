r"""One step of a first-order solver: evaluate, judge and, if the run goes on, move."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from likely.solvers.clipping import norm
from likely.solvers.minibatches import Minibatches
from likely.solvers.stopping import Seen
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
    """Where a run stands."""

    step: Int[Array, ""]
    params: PyTree
    memory: PyTree
    """Of the rule: velocities, moving averages."""
    state: State
    """Of the model: running statistics."""
    schedule: PyTree
    stops: tuple
    moved: Float[Array, ""]
    """Length of the last step."""
    loss: Float[Array, ""]
    """Mean over the batches of this epoch."""
    reason: Int[Array, ""]
    value: Float[Array, ""]


class Stepper(eqx.Module):
    """A solver on an objective.

    Args:
        solver: a rule (`transform`) with its schedule, clipping and stopping rules.
        objective: what is minimised.
        static: the model without its parameters.
        batches: how the rows are cut.
        key: for the noise; a step uses (key, step).
    """

    solver: Any
    objective: Any
    static: PyTree
    batches: Minibatches
    key: Key | None

    def start(self, params: PyTree, state: State, data: Batch) -> Run:
        """Before the first step."""
        solver, full = self.solver, self.batches.full
        dtype = jax.eval_shape(
            lambda params: self.loss(params, data, None, state)[0], params
        ).dtype
        nan = jnp.full((), jnp.nan, dtype)
        return Run(
            step=jnp.zeros((), jnp.int32),
            params=params,
            memory=self.rule(nan).init(params),
            state=state,
            schedule=solver.rate.init(),
            stops=tuple(stop.init() for stop in solver.stop),
            moved=jnp.full((), jnp.inf, dtype),
            loss=nan,
            reason=jnp.where(full | (solver.steps > 0), RUNNING, TRAINED),
            value=nan,
        )

    def step(self, run: Run, batch: Batch) -> tuple[Run, Trace]:
        """Evaluate, judge and, if the run goes on, move."""
        schedule = self.solver.rate
        rate = schedule.rate(run.step, run.schedule).astype(run.loss.dtype)
        noise = None if self.key is None else jax.random.fold_in(self.key, run.step)
        slope = jax.value_and_grad(
            lambda params: self.loss(params, batch, noise, run.state), has_aux=True
        )
        (loss, state), g = slope(run.params)
        seen = Seen(loss, _largest(g), run.moved)
        reason, value, stops = self.judge(run, seen)
        change, memory = self.rule(rate).update(g, run.memory, run.params)
        new = run._replace(
            step=run.step + 1,
            params=optax.apply_updates(run.params, change),
            state=state,
            moved=norm(change) if stops else run.moved,
            loss=self.mean(run, loss),
        )
        moves = (reason == RUNNING) | (reason == TRAINED)
        new = jax.tree.map(
            lambda a, b: jnp.where(moves, a, b).astype(b.dtype), new, run
        )
        new = new._replace(
            memory=jax.tree.map(lambda a, b: a.astype(b.dtype), memory, run.memory),
            schedule=schedule.observe(run.schedule, loss),
            stops=stops,
            loss=loss if self.batches.full else new.loss,
            reason=reason,
            value=value,
        )
        here = run.params if self.solver.path else None
        return new, Trace(loss, seen.gradient, rate, here)

    def judge(self, run: Run, seen: Seen) -> tuple[Array, Array, tuple]:
        """Why to stop here, or RUNNING, and the number that says so.

        A full-batch run looks at where its last step led; others stop right after it.
        """
        steps, full = self.solver.steps, self.batches.full
        last = run.step >= steps if full else run.step + 1 >= steps
        reason = jnp.where(last, STEP_LIMIT if full else TRAINED, RUNNING)
        value, memories = seen.gradient, []
        for stop, memory in zip(self.solver.stop, run.stops, strict=True):
            holds, number, memory = stop.judge(memory, seen)
            reason = jnp.where(holds, stop.reason, reason)
            value = jnp.where(holds, number, value)
            memories.append(memory)
        finite = jnp.isfinite(seen.loss)
        reason = jnp.where(finite, reason, DIVERGED)
        value = jnp.where(finite, value, seen.loss).astype(run.value.dtype)
        return reason, value, tuple(memories)

    def loss(self, params: PyTree, batch: Batch, key: Key | None, state: State):
        """The objective as a function of the parameters."""
        model = eqx.combine(params, self.static)
        return self.objective(model, batch, key=key, state=state)

    def rule(self, rate: Float[Array, ""]) -> optax.GradientTransformation:
        """Clipping, then the solver's rule at this rate."""
        clips = [clip.transform() for clip in self.solver.clip]
        return optax.chain(*clips, self.solver.transform(rate))

    def mean(self, run: Run, loss: Float[Array, ""]) -> Float[Array, ""]:
        """The mean loss of the epoch with one more batch."""
        place = run.step % self.batches.count
        return jnp.where(place == 0, loss, run.loss + (loss - run.loss) / (place + 1))


def _largest(tree: PyTree) -> Float[Array, ""]:
    """The largest absolute entry of all leaves."""
    tops = [jnp.max(jnp.abs(leaf), initial=0.0) for leaf in jax.tree.leaves(tree)]
    return jnp.max(jnp.stack(tops)) if tops else jnp.zeros(())
