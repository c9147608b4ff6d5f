r"""Training: a first-order solver with callbacks, checkpoints and several devices.

The steps are those of `first_order.stochastic`, computed in segments; where they are
cut changes no bit. Between segments callbacks are notified and checkpoints saved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import numpy as np
from jax.sharding import Mesh

from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.forks import check_not_forked
from likely.solvers.first_order.stochastic import Loop, Progress
from likely.solvers.flat import trace_capacity
from likely.solvers.training.checkpoints import Checkpoints, fingerprint_of
from likely.solvers.training.events import Callback, as_callbacks
from likely.solvers.training.layout import Layout
from likely.solvers.training.observers import ProgressBar
from likely.solvers.training.reading import StreamBatches, StreamSource
from likely.solvers.training.run import TrainingRun
from likely.solvers.training.sources import AbstractSingleSource, ArraySource
from likely.solvers.training.stream import Stream
from likely.typing import Batch, Key, Solution, State


@dataclass(frozen=True)
class Training:
    """A first-order solver with callbacks, checkpoints and several devices.

    It is used like any other solver:
    `recipe.fit(..., solver=Training(Adam(...), verbose=True))`.

    Args:
        solver: one of the first-order solvers.
        callbacks: functions of an `Event`; one that returns True ends the run.
        checkpoints: where and when to save the run.
        resume: whether to continue from the newest checkpoint, if there is one.
        mesh: devices that share each batch, along the first axis of the mesh.
        cut: whether large parameters are sharded over the devices as well.
        every: steps between events. None: one block (an epoch, or several short ones)
            where there are callbacks; else as often as a progress bar needs.
        verbose: whether to show a progress bar, or a `ProgressBar`.
    """

    solver: Any
    callbacks: Callback | Sequence[Callback] = ()
    checkpoints: Checkpoints | None = None
    resume: bool = False
    mesh: Mesh | None = None
    cut: bool = False
    every: int | None = None
    verbose: bool | ProgressBar = False

    def minimize(
        self,
        objective: Any,
        model: Any,
        data: Batch | Stream,
        *,
        key: Key | None,
        state: State = None,
    ) -> Solution:
        """Minimise the objective over the parameters of the model."""
        check_not_forked()
        self.solver.check(key)
        layout = Layout.of(self.mesh, self.cut)
        source = _source(
            self.solver, objective, model, data, key=key, state=state, layout=layout
        )
        fingerprint: dict[str, Any] = {}
        if self.checkpoints is not None:
            fingerprint = fingerprint_of(source.loop, key, model, layout)
        run = TrainingRun(
            source,
            as_callbacks(self.callbacks),
            self.checkpoints,
            resume=self.resume,
            every=self.every,
            verbose=self.verbose,
        )
        try:
            return run.run(fingerprint)
        finally:
            source.close()


def _source(
    solver: Any, objective: Any, model: Any, data: Any, **options: Any
) -> AbstractSingleSource:
    """The loop, the progress before its first step, and where its batches come from."""
    layout, capacity = options["layout"], trace_capacity(solver.steps)
    stream, batches, extra = data, None, {}
    if isinstance(stream, Stream):
        _check_order(solver)
        batches = StreamBatches(stream, options["key"], solver, layout)
        extra = {"n": stream.n, "mean_weight": np.float32(stream.mean_weight)}
        data = batches.batch(0)
    elif layout is not None and solver.batch_size is None:
        data = layout.pad_rows(data)
    parts = (solver, objective, model, data, options["state"], options["key"])
    if layout is not None:
        arrays, rest = eqx.partition(parts, eqx.is_array)
        parts = eqx.combine(layout.replicate(arrays), rest)
    loop, progress = _start(parts, capacity=capacity, layout=layout, **extra)
    if batches is None:
        return ArraySource(loop, progress)
    return StreamSource(loop, progress, batches)


def _check_order(solver: Any) -> None:
    """Refuse weights that need all the rows at once."""
    if solver.sampling is not None:
        raise InputError(
            "a stream is read in an order of its own, and `sampling` needs the difficulty of all "
            "rows; give the rows in memory, or weights in the stream."
        )


@lean_jit
def _start(parts: tuple, **options: Any) -> tuple[Loop, Progress]:
    solver, objective, model, data, state, key = parts
    loop = Loop.of(solver, objective, model, data, key=key, **options)
    progress, layout = loop.start(model, state), loop.layout
    if layout is not None:
        progress = progress._replace(run=layout.shard_run(progress.run))
    return loop, progress
