r"""Training: a first-order solver run from the host, piece by piece.

The mathematics is all in `solvers.stochastic`; where the pieces are cut changes no
bit. In between the host looks: it tells callbacks, saves checkpoints, stops when asked
to, and says what happened where a loss was no longer a number.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import PyTree

from likely.solvers.flat import capacity_of
from likely.solvers.stochastic import Loop, Progress
from likely.solvers.training.checkpoints import Checkpoints, made_of
from likely.solvers.training.divergence import DivergenceWarning, diagnose
from likely.solvers.training.events import Callback, Event, tell
from likely.solvers.training.feeds import AbstractFeed, Resident
from likely.solvers.training.layout import Layout
from likely.solvers.training.observers import ProgressBar
from likely.solvers.training.pace import Pace
from likely.solvers.training.processes import agreed, is_first, several
from likely.solvers.training.stream import Stream, Streamed
from likely.typing import (
    CALLED_OFF,
    DIVERGED,
    RUNNING,
    STEP_LIMIT,
    TRAINED,
    Batch,
    Key,
    Solution,
    State,
)


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
        if self.checkpoints is not None and is_first():
            self.checkpoints.prepare(self.resume)
        layout = Layout.of(self.mesh, self.cut)
        loop, progress, feed = _begun(
            self.solver, objective, model, data, key=key, state=state, layout=layout
        )
        course = Course(self, loop, progress, feed, layout)
        about = {}
        if self.checkpoints is not None:
            about = made_of(loop, key, model, layout)
            course.resume(about)
        try:
            return course.run(about)
        finally:
            feed.close()

    @property
    def audience(self) -> tuple[Callback, ...]:
        """The callbacks, and a bar if one is asked for."""
        given = self.callbacks
        given = (given,) if callable(given) else tuple(given)
        return (*given, ProgressBar()) if self.verbose and is_first() else given


class Course:
    """One run of a `Training`: the mutable part, from the first step to the last."""

    def __init__(
        self,
        training: Training,
        loop: Loop,
        progress: Progress,
        feed: AbstractFeed,
        layout: Layout | None,
    ):
        self.training, self.loop, self.feed = training, loop, feed
        self.layout, self.progress = layout, progress
        self.audience = training.audience
        self.began = self.saved = time.perf_counter()
        self.saved_at = -1

    def run(self, about: dict[str, Any]) -> Solution:
        """All the steps, with looks in between."""
        pace, seen = self._pace(), self._read()
        called_off = tell(self.audience, self._event("start", seen))
        called_off |= tell(self.audience, self._event("compiling", seen))
        message = ""
        while seen["running"] and not called_off:
            first = seen["step"]
            before, until = self.progress, pace.until(first)
            self.progress = self.feed.advance(self.loop, before, first, until)
            seen = self._read()
            pace.made(seen["step"] - first)
            if seen["diverged"]:
                message = self._rescue(before, first)
                break
            called_off = self._tell(seen)
            self._save(seen, about, due=not seen["running"] or called_off)
        solution = self._solution(called_off and bool(seen["running"]))
        message = f"{str(solution.status)}. {message}".strip()
        tell(self.audience, self._event("stop", seen, message))
        if seen["diverged"]:
            warnings.warn(message, DivergenceWarning, stacklevel=3)
        return solution

    def resume(self, about: dict[str, Any]) -> None:
        """Go on from the newest checkpoint, if that is asked for and there is one."""
        places = self.training.checkpoints
        if not self.training.resume or places is None:
            return
        found = places.latest(self.progress, about)
        if found is None:
            return
        progress = self._placed(found)
        over = np.isin(progress.run.reason, (TRAINED, STEP_LIMIT))
        more = over & (np.asarray(progress.run.step) < self.loop.solver.steps)
        reason = jnp.where(more, RUNNING, progress.run.reason)
        self.progress = progress._replace(run=progress.run._replace(reason=reason))
        self.saved_at = int(np.max(progress.run.step))

    # Looking --------------------------------------------------------------------------

    def _read(self) -> dict[str, Any]:
        """The numbers of a run that the host decides by."""
        run, best = self.progress.run, self.progress.best
        reason = np.asarray(run.reason)
        looks = None if best is None else (np.asarray(best.count), best.looks, best.loss)
        return {
            "step": int(np.max(np.asarray(run.step))),
            "running": int((reason == RUNNING).sum()),
            "diverged": bool((reason == DIVERGED).all()),
            "members": reason.size,
            "loss": float(np.mean(run.loss)),
            "gradient": float(np.max(run.gradient)),
            "rate": float(np.mean(run.rate)),
            "looks": looks,
        }

    def _event(self, kind: Any, seen: dict[str, Any], message: str = "") -> Event:
        validation = best = float("nan")
        if seen["looks"] is not None and np.max(seen["looks"][0]) > 0:
            best = float(np.mean(seen["looks"][2]))
            validation = _latest(*map(np.asarray, seen["looks"][:2]))
        names = ("step", "loss", "gradient", "rate", "running", "members")
        return Event(
            kind,
            steps=int(np.max(self.loop.solver.steps)),
            epoch=seen["step"] / self.loop.stepper.batches.count,
            validation=validation,
            best=best,
            seconds=time.perf_counter() - self.began,
            message=message,
            **{name: seen[name] for name in names},
        )

    def _tell(self, seen: dict[str, Any]) -> bool:
        whole = seen["step"] % self.loop.stepper.batches.count == 0
        kinds = ["epoch" if whole else "step"]
        if seen["looks"] is not None and seen["step"] % self.loop.block == 0:
            kinds.append("validation")
        return any([tell(self.audience, self._event(k, seen)) for k in kinds])

    def _pace(self) -> Pace:
        training, block = self.training, self.loop.block
        every = training.every
        looked_at = not callable(training.callbacks) and not len(training.callbacks)
        if every is None and (not looked_at or several()):
            every = block
        places = training.checkpoints
        multiple = None if places is None else places.every_steps
        return Pace(block, every, multiple, self.feed.most())

    # Saving ---------------------------------------------------------------------------

    def _save(self, seen: dict[str, Any], about: dict[str, Any], due: bool) -> None:
        places, step = self.training.checkpoints, seen["step"]
        if places is None or step == self.saved_at:
            return
        if places.every_steps:
            due |= step % places.every_steps == 0
        elif places.every_seconds is not None:
            late = time.perf_counter() - self.saved >= places.every_seconds
            due |= agreed(late)
        if not due:
            return
        whole = self._gathered(self.progress)
        if is_first():
            places.save(whole, step, about)
        self.saved, self.saved_at = time.perf_counter(), step
        tell(self.audience, self._event("checkpoint", seen))

    def _placed(self, tree: PyTree) -> PyTree:
        return jax.tree.map(jnp.asarray, tree) if self.layout is None else (
            self.layout.place(tree)
        )

    def _gathered(self, tree: PyTree) -> PyTree:
        return tree if self.layout is None else self.layout.gathered(tree)

    # The end --------------------------------------------------------------------------

    def _solution(self, called_off: bool) -> Solution:
        progress = self._gathered(self.progress)
        if called_off:
            run = progress.run
            reason = jnp.where(run.reason == RUNNING, CALLED_OFF, run.reason)
            value = jnp.where(run.reason == RUNNING, run.gradient, run.value)
            progress = progress._replace(run=run._replace(reason=reason, value=value))
        return self.loop.finish(progress)

    def _rescue(self, before: Progress, first: int) -> str:
        """Go back to the last good state; the sentence that says what was wrong.

        The loss of step t is that of the weights after step t − 1; so the last good
        ones are those before that, and the run is repeated up to them.
        """
        bad = self.progress.run
        step = int(bad.step)
        batch = self.feed.batch(self.loop, step)
        noise = self.loop.stepper.key
        key = None if noise is None else jax.random.fold_in(noise, step)
        model = eqx.combine(bad.params, self.loop.stepper.static)
        rate = self.loop.solver.rate.rate(jnp.asarray(step), bad.schedule)
        message = diagnose(model, batch, key, bad.state, float(rate))
        good = before
        if step - 1 > first:
            good = self.feed.advance(self.loop, before, first, step - 1)
        run = good.run._replace(step=bad.step, reason=bad.reason, value=bad.value)
        self.progress = self.progress._replace(run=run)
        return message


def _latest(count: np.ndarray, looks: np.ndarray) -> float:
    """The last look that is kept, mean over members."""
    known = np.atleast_2d(looks)
    last = [row[~np.isnan(row)][-1] for row in known if not np.isnan(row).all()]
    return float(np.mean(last)) if last else float("nan")


def _begun(
    solver: Any, objective: Any, model: Any, data: Any, **options: Any
) -> tuple[Loop, Progress, AbstractFeed]:
    """The loop, where it starts, and where its batches come from."""
    layout, capacity = options["layout"], capacity_of(solver.steps)
    feed, extra = Resident(), {}
    if isinstance(data, Stream):
        feed = Streamed(data, options["key"], solver)
        extra = {"n": data.n, "mean_weight": np.float32(data.mean_weight)}
        data = feed.sample()
    elif layout is not None and solver.batch_size is None:
        data = layout.filled(data)
    if layout is not None:
        objective, data, solver = (
            _spread(layout, tree) for tree in (objective, data, solver)
        )
        model, options["state"] = (
            _spread(layout, model), _spread(layout, options["state"])
        )
    loop, progress = _start(
        solver, objective, model, data, capacity=capacity, **options, **extra
    )
    if isinstance(feed, Streamed):
        feed.open(loop)
    return loop, progress, feed


def _spread(layout: Layout, tree: PyTree) -> PyTree:
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(layout.everywhere(arrays), rest)


@eqx.filter_jit
def _start(
    solver, objective, model, data, *, key, state, capacity, layout, **extra
) -> tuple[Loop, Progress]:
    options = {"key": key, "capacity": capacity, "layout": layout, **extra}
    loop = Loop.of(solver, objective, model, data, **options)
    progress = loop.start(model, state)
    if layout is not None:
        progress = progress._replace(run=layout.keep(progress.run))
    return loop, progress


Minimizer = Callable[..., Solution]
