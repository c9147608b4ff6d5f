r"""Training: a first-order solver run from the host, piece by piece.

The mathematics is all in `solvers.stochastic`; where the pieces are cut changes no
bit. In between the host looks: it tells callbacks, saves checkpoints, stops when asked
to, and says what happened where a loss was no longer a number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import numpy as np
from jax.sharding import Mesh
from jaxtyping import PyTree

from likely.core.compiling import lean_jit
from likely.solvers.first_order.stochastic import Loop, Progress
from likely.solvers.flat import capacity_of
from likely.solvers.training.checkpoints import Checkpoints, made_of
from likely.solvers.training.course import Course
from likely.solvers.training.events import Callback
from likely.solvers.training.feeds import Resident
from likely.solvers.training.layout import Layout
from likely.solvers.training.reading import Reading, Streamed
from likely.solvers.training.stream import Stream
from likely.typing import Batch, Key, Solution, State


@dataclass(frozen=True)
class Training:
    """A first-order solver with an audience, a memory on disk, and devices.

    A `Solver` as any other: `recipe.fit(..., solver=Training(Adam(...), verbose=True))`.

    Args:
        solver: one of the first-order solvers.
        callbacks: functions of an `Event`; one that returns "stop" ends the run.
        checkpoints: where and when to save the run.
        resume: whether to go on from the newest checkpoint, if there is one.
        mesh: devices that share each batch, along the first axis of the mesh.
        cut: whether large parameters are cut over the devices as well.
        every: steps between events. None: one block (an epoch, or several short ones)
            where there are callbacks; else as often as a bar needs.
        verbose: whether to show a progress bar.
    """

    solver: Any
    callbacks: Callback | Sequence[Callback] = ()
    checkpoints: Checkpoints | None = None
    resume: bool = False
    mesh: Mesh | None = None
    cut: bool = False
    every: int | None = None
    verbose: bool = False

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
        self.solver.check(key)
        layout = Layout.of(self.mesh, self.cut)
        feed = _feed(
            self.solver, objective, model, data, key=key, state=state, layout=layout
        )
        saves, given = self.checkpoints is not None, self.callbacks
        about = made_of(feed.loop, key, model, layout) if saves else {}
        course = Course(
            feed,
            (given,) if callable(given) else tuple(given),
            self.checkpoints,
            resume=self.resume,
            every=self.every,
            verbose=self.verbose,
        )
        try:
            return course.run(about)
        finally:
            feed.close()


def _feed(solver: Any, objective: Any, model: Any, data: Any, **options: Any):
    """The loop, where it starts, and where its batches come from."""
    layout, capacity = options["layout"], capacity_of(solver.steps)
    stream, reading, extra = data, None, {}
    if isinstance(stream, Stream):
        reading = Reading(stream, options["key"], solver, layout)
        extra = {"n": stream.n, "mean_weight": np.float32(stream.mean_weight)}
        data = reading.batch(0)
    elif layout is not None and solver.batch_size is None:
        data = layout.filled(data)
    parts = (solver, objective, model, data, options["state"], options["key"])
    if layout is not None:
        parts = _spread(layout, parts)
    loop, progress = _start(parts, capacity=capacity, layout=layout, **extra)
    if reading is None:
        return Resident(loop, progress)
    return Streamed(loop, progress, reading)


def _spread(layout: Layout, tree: PyTree) -> PyTree:
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(layout.everywhere(arrays), rest)


@lean_jit
def _start(parts: tuple, **options: Any) -> tuple[Loop, Progress]:
    solver, objective, model, data, state, key = parts
    loop = Loop.of(solver, objective, model, data, key=key, **options)
    progress, layout = loop.start(model, state), loop.layout
    if layout is not None:
        progress = progress._replace(run=layout.keep(progress.run))
    return loop, progress
