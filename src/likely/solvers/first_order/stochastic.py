r"""The loop of all first-order solvers, on all rows or on minibatches.

Step t evaluates loss and gradient at $θ_t$ on batch t and checks the stopping rules; if
none holds, it clips, takes $η_t$ from the schedule and updates by the solver's rule
(`Stepper`). Batch order and noise are functions of (key, step); the `Progress` of a run
is all that is needed to continue it.

The steps run in blocks of whole epochs, so that an epoch is shuffled once. Both loops
are `while_loop`s: the number of steps is an argument of the program, and where the
steps are interrupted changes no bit. Under `vmap` all runs go in step (`lockstep`), with
those that have stopped frozen. `solvers.training` calls `Loop.start`, `Loop.advance` and
`Loop.finish` by itself, to notify callbacks in between.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PyTree

from likely.core.rows import fill_absent
from likely.solvers.first_order.minibatches import Minibatches
from likely.solvers.first_order.sampling import RowSampler
from likely.solvers.first_order.stepper import Run, Stepper
from likely.solvers.lockstep import any_running
from likely.solvers.stopping import Best
from likely.typing import RUNNING, Batch, Key, Solution, State, Status, Trace

MIN_BLOCK_STEPS = 64
"""Steps whose order is drawn together where epochs are short."""
NO_LIMIT = np.iinfo(np.int32).max


class Progress(NamedTuple):
    """The state of a run, its best state by the validation loss, and its trace."""

    run: Run
    best: Best | None
    trace: Trace


class Loop(eqx.Module):
    """A first-order solver on an objective, a model and data.

    Args:
        stepper: the steps of the solver on the objective.
        data: all the rows, absent ones made harmless; of a stream, one batch.
        mean_weight: the mean weight of all the rows.
        key: for the batch order, a function of (key, epoch).
        stride: the trace keeps every `stride`-th step.
        n_present: number of present rows, if only the first are; see `Minibatches`.
        capacity: number of steps that the trace keeps; a longer run is thinned evenly.
        layout: sharding over several devices; see `training.Layout`.
        sampler: which rows a step learns from, where that is not all of them alike.
    """

    stepper: Stepper
    data: Batch
    mean_weight: Array
    key: Key | None
    stride: Int[Array, ""]
    n_present: Int[Array, ""] | None
    capacity: int = eqx.field(static=True)
    layout: Any = eqx.field(static=True, default=None)
    sampler: RowSampler | None = None

    @classmethod
    def of(
        cls, solver: Any, objective: Any, model: Any, data: Batch, **options: Any
    ) -> "Loop":
        """The loop of a solver on an objective, a model and data.

        The options are `key`, `capacity`, `layout`; for a stream the number of its
        rows `n` and their `mean_weight`; for members the largest number of `steps` of
        any, and `n_present`.
        """
        order, noise = None, None
        if options["key"] is not None:
            order, noise = jax.random.split(options["key"])
        batches = Minibatches.of(options.get("n") or len(data.w), solver.batch_size)
        static = eqx.filter(model, eqx.is_inexact_array, inverse=True)
        stepper = Stepper(solver, objective, static, batches, noise)
        mean = options.get("mean_weight")
        mean = jnp.asarray(data.w).mean() if mean is None else mean
        capacity, layout = options["capacity"], options.get("layout")
        stride = stride_of(options.get("steps", solver.steps), capacity)
        data, n_present = fill_absent(data), options.get("n_present")
        sampler = None
        if solver.sampling is not None:
            sizes = {"full": batches.full, "padded": layout is not None}
            sampler = RowSampler.of(solver.sampling, data, **sizes)
        rows = data, mean, order, stride, n_present, capacity, layout, sampler
        return cls(stepper, *rows)

    def start(self, model: Any, state: State) -> Progress:
        """The progress before the first step."""
        params = eqx.filter(model, eqx.is_inexact_array)
        run, best = self.stepper.start(params, state, self.data), None
        if self.solver.validation is not None:
            best = self.solver.validation.init(run.loss, params, state, self.capacity)
        return Progress(run, best, self.empty_trace(self.capacity + 1, run))

    def advance(
        self, progress: Progress, first: Any, until: Any = NO_LIMIT
    ) -> Progress:
        """Steps `first`, ..., `until` − 1, with the validation loss where it is due.

        Args:
            progress: after the steps before `first`.
            first: the number of the next step: `progress.run.step`, but as one number
                for all members of a `vmap`.
            until: the step to stop before.
        """

        def block(c: tuple[Array, Progress]) -> tuple[Array, Progress]:
            at, progress = c
            start = at - at % self.block
            order = self.order(start)
            end = jnp.minimum(start + self.block, until)
            at, progress = self.steps(
                progress, at, end, lambda t: self.batch(order, t - start, t)
            )
            return at, self.validate(progress, at == start + self.block)

        at = jnp.asarray(first, jnp.int32)
        return jax.lax.while_loop(
            lambda c: (c[0] < until) & any_running(c[1].run.reason),
            block,
            (at, progress),
        )[1]

    def steps(self, progress: Progress, at, end, batch) -> tuple[Array, Progress]:
        """Steps `at`, ..., `end` − 1 on the batches `batch(t)`: the next step, and progress."""

        def one(c: tuple[Array, Run, Trace]) -> tuple[Array, Run, Trace]:
            at, run, trace = c
            new, entry = self.stepper.step(run, batch(at), at)
            if self.layout is not None:
                new = self.layout.shard_run(new)
            return at + 1, new, self.record(trace, entry, at, run.reason == RUNNING)

        at, run, trace = jax.lax.while_loop(
            lambda c: (c[0] < end) & any_running(c[1].reason),
            one,
            (at, progress.run, progress.trace),
        )
        return at, progress._replace(run=run, trace=trace)

    def record(self, trace: Trace, entry: Trace, at: Array, runs: Array) -> Trace:
        """The trace with one more step, if it is one of those that are kept."""
        # one index for all members of a `vmap`; the last entry is thrown away
        slot = jnp.where(at % self.stride == 0, at // self.stride, self.capacity)

        def put(t: Array, e: Array) -> Array:
            e = jnp.where(runs, e, jnp.nan).astype(t.dtype)
            return jax.lax.dynamic_update_index_in_dim(t, e, slot, 0)

        return jax.tree.map(put, trace, entry)

    def validate(self, progress: Progress, due: Array) -> Progress:
        """Compute the validation loss at the end of a block, and of the run."""
        if progress.best is None:
            return progress
        due = due | ~any_running(progress.run.reason)
        return jax.lax.cond(due, lambda p: self.validated(p), lambda p: p, progress)

    def validated(self, progress: Progress) -> Progress:
        """The progress after the validation loss, which may end the run."""
        run, best, trace = progress
        rule, average = self.solver.validation, self.solver.average
        data = fill_absent(rule.data)
        # an objective divides by the mean weight of the rows it was made for
        share = len(data.w) * self.mean_weight / data.w.sum()
        data = data._replace(w=data.w * share)
        params = run.params if average is None else run.average
        loss, _ = self.stepper.loss(params, data, None, run.state)
        stride = stride_of(-(-self.solver.steps // self.block), self.capacity)
        best = rule.update(best, loss, run._replace(params=params), stride)
        stop = (best.waited >= rule.patience) & (run.reason == RUNNING)
        reason = jnp.where(stop, rule.reason, run.reason)
        value = jnp.where(stop, best.loss, run.value)
        return Progress(run._replace(reason=reason, value=value), best, trace)

    def finish(self, progress: Progress) -> Solution:
        """The solution: the best by the validation loss, or without validation the last."""
        run, best, trace = progress
        params = run.params if self.solver.average is None else run.average
        state, loss = run.state, run.loss
        trace = jax.tree.map(lambda a: a[: self.capacity], trace)
        if best is not None:
            params, state, loss = best.params, best.state, best.training
            trace = eqx.tree_at(
                lambda t: t.validation, trace, best.losses, is_leaf=lambda a: a is None
            )
        model = eqx.combine(params, self.stepper.static)
        status = Status(run.reason, run.step, run.value)
        return Solution(model, state, loss, trace, status)

    # Settings and batches -------------------------------------------------------------

    @property
    def solver(self) -> Any:
        """The solver, which holds the settings."""
        return self.stepper.solver

    @property
    def block(self) -> int:
        """Steps shuffled at once: one epoch, or several short ones."""
        count, rule = self.stepper.batches.count, self.solver.validation
        epochs = max(1, MIN_BLOCK_STEPS // count) if rule is None else rule.every
        return count * epochs

    def order(self, step: Int[Array, ""]) -> Int[Array, "steps r"] | None:
        """The rows of each step of the block that starts here."""
        batches, key = self.stepper.batches, self.key
        if batches.full or key is None or self.draws:
            return None
        epochs = step // batches.count + jnp.arange(self.block // batches.count)
        rows = jax.vmap(lambda epoch: batches.order(key, epoch, self.n_present))(epochs)
        return rows.reshape(self.block, batches.size)

    @property
    def draws(self) -> bool:
        """Whether the rows of a step are drawn, by weights of their own."""
        return self.sampler is not None and self.sampler.draws

    def batch(
        self,
        order: Int[Array, "steps r"] | None,
        i: Int[Array, ""],
        step: Int[Array, ""],
    ) -> Batch:
        """The rows of step i of a block, which is a step of the run."""
        batch, batches, layout = self.data, self.stepper.batches, self.layout
        rows = None
        if self.draws:
            batch = self.drawn(step)
        elif order is not None:
            rows = order[i]
            if layout is not None:
                rows = layout.pad_indices(rows, batches.n)
            batch = batches.take(batch, rows, self.n_present)
        if self.sampler is not None and not self.draws:
            v = self.sampler.relative(step)
            v = v if rows is None else jnp.take(v, rows, mode="clip")
            batch = batch._replace(w=batch.w * v)
        return batch if layout is None else layout.shard_rows(batch)

    def drawn(self, step: Int[Array, ""]) -> Batch:
        """Rows that are drawn for a step, a function of (key, step)."""
        size, sampler = self.stepper.batches.size, self.sampler
        if sampler is None or self.key is None:
            return self.data
        rows, w = sampler.draw(jax.random.fold_in(self.key, step), step, size)
        extra = 0 if self.layout is None else -size % self.layout.count
        rows = jnp.concatenate([rows, jnp.zeros(extra, rows.dtype)])
        w = jnp.concatenate([w * (len(rows) / size), jnp.zeros(extra, w.dtype)])
        batch = jax.tree.map(lambda a: jnp.take(a, rows, axis=0), self.data)
        return batch._replace(w=w * self.mean_weight.astype(w.dtype))

    def empty_trace(self, length: int, run: Run) -> Trace:
        """A trace of NaN."""

        def rows(p: Array) -> PyTree:
            return jnp.full((length, *p.shape), jnp.nan, p.dtype)

        path = jax.tree.map(rows, run.params) if self.solver.path else None
        return Trace(rows(run.loss), rows(run.loss), rows(run.loss), path)


def stride_of(steps: Any, capacity: int) -> Int[Array, ""]:
    """The stride at which the steps of a run fit into a trace of this capacity."""
    return 1 + jnp.maximum(jnp.asarray(steps) - 1, 0) // (capacity - 1)


@eqx.filter_jit
def descend(solver, objective, model, data: Batch, *, key, state, capacity) -> Solution:
    """Run the loop to its end."""
    loop = Loop.of(solver, objective, model, data, key=key, capacity=capacity)
    return loop.finish(loop.advance(loop.start(model, state), 0))
