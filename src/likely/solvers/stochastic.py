r"""The loop of all first-order solvers: full-batch or over minibatches, Optax inside.

Step t evaluates loss and gradient at $θ_t$ on batch t and asks whether to stop; if not,
it clips, asks the schedule for $η_t$ and moves by the solver's rule. Batch order and
noise are functions of (key, step); everything a run needs to go on is its `Progress`.

The steps run in chunks, the chunks in blocks of whole epochs, all in `while_loop`s: so
the number of steps is data and not program, an epoch is shuffled once, and under `vmap`
the trace is touched once a chunk. `Loop.start`, `Loop.advance` (a block) and
`Loop.finish` are the pieces for those who want to look in between.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from likely.core.rows import fill_absent
from likely.solvers.clipping import norm
from likely.solvers.minibatches import Minibatches
from likely.solvers.stopping import Best, Seen
from likely.typing import (
    DIVERGED,
    RUNNING,
    STEP_LIMIT,
    TRAINED,
    Batch,
    Key,
    Solution,
    State,
    Status,
    Trace,
)

CHUNK = 64


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


class Progress(NamedTuple):
    """A run, its best on the validation rows, and its trace: all that it needs to go on."""

    run: Run
    best: Best | None
    trace: Trace


class Loop(eqx.Module):
    """A first-order solver on an objective, a model and data.

    Args:
        solver: a rule (`transform`) with its schedule, clipping and stopping rules.
        objective: what is minimised.
        static: the model without its parameters.
        data: all the rows, absent ones made harmless.
        keys: for the batch order and for the noise.
        batches: how the rows are cut.
        capacity: how many steps the trace keeps; a longer run is thinned evenly.
    """

    solver: Any
    objective: Any
    static: PyTree
    data: Batch
    keys: tuple[Key, Key] | None
    batches: Minibatches
    capacity: int = eqx.field(static=True)

    def start(self, params: PyTree, state: State) -> Progress:
        """Before the first step."""
        solver = self.solver
        dtype = jax.eval_shape(
            lambda p: self.loss(p, self.data, None, state)[0], params
        ).dtype
        nan = jnp.full((), jnp.nan, dtype)
        run = Run(
            step=jnp.zeros((), jnp.int32),
            params=params,
            memory=self.rule(nan).init(params),
            state=state,
            schedule=solver.rate.init(),
            stops=tuple(stop.init() for stop in solver.stop),
            moved=jnp.full((), jnp.inf, dtype),
            loss=nan,
            reason=jnp.asarray(RUNNING),
            value=nan,
        )
        watch = solver.validation
        best = None if watch is None else watch.init(nan, params, state)
        return Progress(run, best, self.blank(self.capacity, params, dtype))

    def advance(self, progress: Progress) -> Progress:
        """A block of steps, and a look at the validation rows if there are any."""
        run, best, trace = progress
        end = run.step + self.block
        order = self.order(run.step)
        run, trace = jax.lax.while_loop(
            lambda c: (c[0].reason == RUNNING) & (c[0].step < end),
            lambda c: self.chunk(*c, order, end),
            (run, trace),
        )
        if best is not None:
            run, best = self.look(run, best)
        return Progress(run, best, trace)

    def chunk(self, run: Run, trace: Trace, order, end: Array) -> tuple[Run, Trace]:
        """Some steps, then their entries in the trace."""
        first, length = run.step, min(self.block, CHUNK)
        last = jnp.minimum(end, first + length)

        def one(c: tuple[Run, Trace]) -> tuple[Run, Trace]:
            at = c[0].step
            new, entry = self.step(c[0], self.batch(order, at))
            return new, jax.tree.map(lambda a, e: a.at[at - first].set(e), c[1], entry)

        run, entries = jax.lax.while_loop(
            lambda c: (c[0].reason == RUNNING) & (c[0].step < last),
            one,
            (run, self.blank(length, run.params, run.loss.dtype)),
        )
        at = first + jnp.arange(length)
        stride = 1 + (self.solver.steps - 1) // (self.capacity - 1)
        slot = jnp.where((at < last) & (at % stride == 0), at // stride, self.capacity)
        return run, jax.tree.map(
            lambda t, e: t.at[slot].set(e, mode="drop"), trace, entries
        )

    def step(self, run: Run, batch: Batch) -> tuple[Run, Trace]:
        """Evaluate, judge and, if the run goes on, move."""
        schedule = self.solver.rate
        rate = schedule.rate(run.step, run.schedule).astype(run.loss.dtype)
        noise = (
            None if self.keys is None else jax.random.fold_in(self.keys[1], run.step)
        )
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
            memory=memory,
            state=state,
            schedule=schedule.observe(run.schedule, loss),
            moved=norm(change) if stops else run.moved,
            loss=self.mean(run, loss),
        )
        going = reason == RUNNING
        new = jax.tree.map(
            lambda a, b: jnp.where(going, a.astype(b.dtype), b), new, run
        )
        if self.batches.full:  # the loss where it stopped
            new = new._replace(loss=loss)
        here = run.params if self.solver.path else None
        entry = Trace(loss, seen.gradient, rate, here)
        return new._replace(stops=stops, reason=reason, value=value), entry

    def judge(self, run: Run, seen: Seen) -> tuple[Array, Array, tuple]:
        """Why to stop here, or RUNNING, and the number that says so."""
        limit = STEP_LIMIT if self.batches.full else TRAINED
        reason = jnp.where(run.step >= self.solver.steps, limit, RUNNING)
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

    def look(self, run: Run, best: Best) -> tuple[Run, Best]:
        """Judge by the validation rows."""
        watch = self.solver.validation
        data = fill_absent(watch.data)
        # an objective divides by the mean weight of the rows it was made for
        share = len(data.w) * self.data.w.mean() / data.w.sum()
        data = data._replace(w=data.w * share)
        loss, _ = self.loss(run.params, data, None, run.state)
        best = watch.look(best, loss, run)
        stop = (best.waited >= watch.patience) & (run.reason == RUNNING)
        reason = jnp.where(stop, watch.reason, run.reason)
        value = jnp.where(stop, best.loss, run.value)
        return run._replace(reason=reason, value=value), best

    def finish(self, progress: Progress) -> Solution:
        """The solution: the best on the validation rows, or without them the last."""
        run, end = progress.run, progress.best or progress.run
        model = eqx.combine(end.params, self.static)
        loss = run.loss if progress.best is None else progress.best.training
        status = Status(run.reason, run.step, run.value)
        return Solution(model, end.state, loss, progress.trace, status)

    # What the pieces share ------------------------------------------------------------

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

    @property
    def block(self) -> int:
        """Steps shuffled at once: one epoch, or several short ones."""
        count, watch = self.batches.count, self.solver.validation
        return count * (max(1, CHUNK // count) if watch is None else watch.every)

    def order(self, step: Int[Array, ""]) -> Int[Array, "steps r"] | None:
        """The rows of each step of the block that starts here."""
        if self.batches.full:
            return None
        count = self.batches.count
        epochs = step // count + jnp.arange(self.block // count)
        rows = jax.vmap(lambda epoch: self.batches.order(self.keys[0], epoch))(epochs)
        return rows.reshape(self.block, self.batches.size)

    def batch(self, order: Int[Array, "steps r"] | None, step: Int[Array, ""]) -> Batch:
        """The rows of a step."""
        if order is None:
            return self.data
        return self.batches.take(self.data, order[step % self.block])

    def blank(self, length: int, params: PyTree, dtype) -> Trace:
        """A trace with nothing in it yet."""
        nan = jnp.full(length, jnp.nan, dtype)
        if not self.solver.path:
            return Trace(nan, nan, nan)

        def rows(p: Array) -> Array:
            return jnp.full((length, *p.shape), jnp.nan, p.dtype)

        return Trace(nan, nan, nan, jax.tree.map(rows, params))


@eqx.filter_jit
def descend(solver, objective, model, data: Batch, *, key, state, capacity) -> Solution:
    """Run the loop to its end."""
    params, static = eqx.partition(model, eqx.is_inexact_array)
    data, keys = (
        fill_absent(data),
        None if key is None else tuple(jax.random.split(key)),
    )
    batches = Minibatches.of(len(data.w), solver.batch_size)
    loop = Loop(solver, objective, static, data, keys, batches, capacity)
    progress = jax.lax.while_loop(
        lambda p: p.run.reason == RUNNING,
        lambda p: loop.advance(p),  # a bound method would be hashed, and holds arrays
        loop.start(params, state),
    )
    return loop.finish(progress)


def _largest(tree: PyTree) -> Float[Array, ""]:
    """The largest absolute entry of all leaves."""
    tops = [jnp.max(jnp.abs(leaf), initial=0.0) for leaf in jax.tree.leaves(tree)]
    return jnp.max(jnp.stack(tops)) if tops else jnp.zeros(())
