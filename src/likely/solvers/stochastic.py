r"""The loop of all first-order solvers: full-batch or over minibatches, Optax inside.

Step t evaluates loss and gradient at $θ_t$ on batch t and asks whether to stop; if not,
it clips, asks the schedule for $η_t$ and moves by the solver's rule (`Stepper`). Batch
order and noise are functions of (key, step); all that a run needs to go on is its
`Progress`.

The steps run in chunks, the chunks in blocks of whole epochs, all in `while_loop`s: so
the number of steps is data and not program, an epoch is shuffled once, and under `vmap`
the trace is touched once a chunk. `Loop.start`, `Loop.advance` (a block) and
`Loop.finish` are the pieces for those who want to look in between.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from likely.core.rows import fill_absent
from likely.solvers.minibatches import Minibatches
from likely.solvers.stepper import Run, Stepper
from likely.solvers.stopping import Best
from likely.typing import RUNNING, Batch, Key, Solution, State, Status, Trace

CHUNK = 64


class Progress(NamedTuple):
    """A run, its best on the validation rows, and its trace."""

    run: Run
    best: Best | None
    trace: Trace


class Loop(eqx.Module):
    """A first-order solver on an objective, a model and data.

    Args:
        stepper: the solver on the objective.
        data: all the rows, absent ones made harmless.
        key: for the batch order, a function of (key, epoch).
        capacity: how many steps the trace keeps; a longer run is thinned evenly.
    """

    stepper: Stepper
    data: Batch
    key: Key | None
    capacity: int = eqx.field(static=True)

    @classmethod
    def of(
        cls, solver: Any, objective: Any, model: Any, data: Batch, **options: Any
    ) -> "Loop":
        """Put together; the options are `key` and `capacity`."""
        order, noise = (None, None)
        if options["key"] is not None:
            order, noise = jax.random.split(options["key"])
        batches = Minibatches.of(len(data.w), solver.batch_size)
        static = eqx.filter(model, eqx.is_inexact_array, inverse=True)
        stepper = Stepper(solver, objective, static, batches, noise)
        return cls(stepper, fill_absent(data), order, options["capacity"])

    def start(self, model: Any, state: State) -> Progress:
        """Before the first step."""
        params, watch = eqx.filter(model, eqx.is_inexact_array), self.solver.validation
        run = self.stepper.start(params, state, self.data)
        best = None if watch is None else watch.init(run.loss, params, state)
        return Progress(run, best, self.blank(self.capacity, run))

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
            new, entry = self.stepper.step(c[0], self.batch(order, at))
            return new, jax.tree.map(lambda a, e: a.at[at - first].set(e), c[1], entry)

        run, entries = jax.lax.while_loop(
            lambda c: (c[0].reason == RUNNING) & (c[0].step < last),
            one,
            (run, self.blank(length, run)),
        )
        at = first + jnp.arange(length)
        stride = 1 + jnp.maximum(self.solver.steps - 1, 0) // (self.capacity - 1)
        slot = jnp.where((at < last) & (at % stride == 0), at // stride, self.capacity)
        return run, jax.tree.map(
            lambda t, e: t.at[slot].set(e, mode="drop"), trace, entries
        )

    def look(self, run: Run, best: Best) -> tuple[Run, Best]:
        """Judge by the validation rows."""
        watch = self.solver.validation
        data = fill_absent(watch.data)
        # an objective divides by the mean weight of the rows it was made for
        share = len(data.w) * self.data.w.mean() / data.w.sum()
        data = data._replace(w=data.w * share)
        loss, _ = self.stepper.loss(run.params, data, None, run.state)
        best = watch.look(best, loss, run)
        stop = (best.waited >= watch.patience) & (run.reason == RUNNING)
        reason = jnp.where(stop, watch.reason, run.reason)
        value = jnp.where(stop, best.loss, run.value)
        return run._replace(reason=reason, value=value), best

    def finish(self, progress: Progress) -> Solution:
        """The solution: the best on the validation rows, or without them the last."""
        run, end = progress.run, progress.best or progress.run
        model = eqx.combine(end.params, self.stepper.static)
        loss = run.loss if progress.best is None else progress.best.training
        status = Status(run.reason, run.step, run.value)
        return Solution(model, end.state, loss, progress.trace, status)

    # What the pieces share ------------------------------------------------------------

    @property
    def solver(self) -> Any:
        """The settings."""
        return self.stepper.solver

    @property
    def block(self) -> int:
        """Steps shuffled at once: one epoch, or several short ones."""
        count, watch = self.stepper.batches.count, self.solver.validation
        return count * (max(1, CHUNK // count) if watch is None else watch.every)

    def order(self, step: Int[Array, ""]) -> Int[Array, "steps r"] | None:
        """The rows of each step of the block that starts here."""
        batches, key = self.stepper.batches, self.key
        if batches.full or key is None:
            return None
        epochs = step // batches.count + jnp.arange(self.block // batches.count)
        rows = jax.vmap(lambda epoch: batches.order(key, epoch))(epochs)
        return rows.reshape(self.block, batches.size)

    def batch(self, order: Int[Array, "steps r"] | None, step: Int[Array, ""]) -> Batch:
        """The rows of a step."""
        if order is None:
            return self.data
        return self.stepper.batches.take(self.data, order[step % self.block])

    def blank(self, length: int, run: Run) -> Trace:
        """A trace with nothing in it yet."""

        def rows(p: Array) -> PyTree:
            return jnp.full((length, *p.shape), jnp.nan, p.dtype)

        path = jax.tree.map(rows, run.params) if self.solver.path else None
        return Trace(rows(run.loss), rows(run.loss), rows(run.loss), path)


@eqx.filter_jit
def descend(solver, objective, model, data: Batch, *, key, state, capacity) -> Solution:
    """Run the loop to its end."""
    loop = Loop.of(solver, objective, model, data, key=key, capacity=capacity)
    progress = jax.lax.while_loop(
        lambda p: p.run.reason == RUNNING,
        lambda p: loop.advance(p),  # a bound method would be hashed, and holds arrays
        loop.start(model, state),
    )
    return loop.finish(progress)
