"""A training run from its first step to its last, in segments driven from Python."""

import time
import warnings
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from likely.solvers.training.checkpoints import Checkpoints
from likely.solvers.training.divergence import DivergenceWarning
from likely.solvers.training.events import Callback, Event, notify
from likely.solvers.training.observers import ProgressBar
from likely.solvers.training.processes import (
    broadcast_from_main,
    is_main_process,
    multiple_processes,
)
from likely.solvers.training.segments import (
    UNWATCHED_SECONDS,
    WATCHED_SECONDS,
    Segments,
)
from likely.solvers.training.sources import AbstractSource
from likely.typing import (
    CALLED_OFF,
    DIVERGED,
    RUNNING,
    STEP_LIMIT,
    TRAINED,
    Solution,
)


class Summary(NamedTuple):
    """The numbers of a progress that decide how the run goes on and that events show."""

    step: int
    running: int
    diverged: int
    members: int
    loss: float
    gradient: float
    rate: float
    checks: int
    """How often the validation loss was computed."""
    validation: float
    best: float


class TrainingRun:
    """One training run, or members that run side by side.

    Args:
        source: computes the steps.
        callbacks: functions of an `Event`.
        checkpoints: where and when the run is saved.
        resume: whether to continue from the newest checkpoint.
        every: steps between events.
        verbose: whether there is a progress bar, or the bar.
    """

    def __init__(
        self,
        source: AbstractSource,
        callbacks: tuple[Callback, ...],
        checkpoints: Checkpoints | None,
        *,
        resume: bool,
        every: int | None,
        verbose: bool | ProgressBar,
    ):
        self.source, self.checkpoints, self.resume = source, checkpoints, resume
        bar = verbose if isinstance(verbose, ProgressBar) else ProgressBar()
        self.bar = bar if verbose and is_main_process() else None
        self.callbacks = callbacks if self.bar is None else (*callbacks, self.bar)
        block = source.loop.block
        if every is None and (callbacks or multiple_processes()):
            every = block
        multiple = None if checkpoints is None else checkpoints.every_steps
        watched = self.callbacks or checkpoints is not None
        seconds = WATCHED_SECONDS if watched else UNWATCHED_SECONDS
        self.segments = Segments(block, every, multiple, source.max_steps, seconds)
        self.progress = source.progress
        self.start_time = self.save_time = time.perf_counter()
        self.saved_step = -1

    def run(self, fingerprint: dict[str, Any]) -> Solution:
        """Compute all the steps, with events and checkpoints in between.

        Args:
            fingerprint: digests and versions that checkpoints are compared by.
        """
        self._resume(fingerprint)
        try:
            summary, stopped, message = self._steps(fingerprint)
            solution = self._solution(stopped and summary.running > 0)
            message = f"{_ending(solution)} {message}".strip()
            self._notify(summary, "stop", message=message)
        finally:
            if self.bar is not None:
                self.bar.close()
        if summary.diverged:
            warnings.warn(message, DivergenceWarning, stacklevel=3)
        return solution

    def _steps(self, fingerprint: dict[str, Any]) -> tuple[Summary, bool, str]:
        """The last summary, whether a callback ended the run, and what went wrong."""
        summary, message = self._summary(), ""
        older = self.progress, summary.step
        stopped = self._notify(summary, "start", "compiling")
        while summary.running and not stopped:
            first, before, diverged = summary.step, self.progress, summary.diverged
            until = self.segments.end(first)
            self.progress = self.source.advance(before, first, until)
            summary = self._summary()
            self.segments.finished(summary.step - first)
            if summary.diverged > diverged:
                # the weights that are not finite may be older than this segment
                self.progress, message = self.source.roll_back(*older, self.progress)
            older = before, first
            stopped = self._notify(summary, *self._kinds(summary))
            if summary.diverged < summary.members:
                self._save(summary, fingerprint, due=stopped or not summary.running)
        return summary, stopped, message

    # Events ---------------------------------------------------------------------------

    def _summary(self) -> Summary:
        run, best, _ = self.progress
        reason = np.asarray(run.reason)
        checks, validation, lowest = 0, float("nan"), float("nan")
        if best is not None:
            checks = int(np.max(best.checks))
            if checks:
                lowest, validation = float(np.mean(best.loss)), _latest(best.losses)
        return Summary(
            step=int(np.max(run.step)),
            running=int((reason == RUNNING).sum()),
            diverged=int((reason == DIVERGED).sum()),
            members=reason.size,
            loss=float(np.mean(run.loss)),
            gradient=float(np.max(run.gradient)),
            rate=float(np.mean(run.rate)),
            checks=checks,
            validation=validation,
            best=lowest,
        )

    def _kinds(self, summary: Summary) -> list[str]:
        """The events at the end of a segment."""
        loop, step = self.source.loop, summary.step
        kinds = ["step" if step % loop.stepper.batches.count else "epoch"]
        if summary.checks and step % loop.block == 0:
            kinds.append("validation")
        return kinds

    def _notify(self, summary: Summary, *kinds: Any, message: str = "") -> bool:
        """Send events to the callbacks; whether one of them asks to stop."""
        loop, stop = self.source.loop, False
        numbers = summary._asdict()
        del numbers["diverged"], numbers["checks"]
        for kind in kinds:
            event = Event(
                kind,
                steps=int(np.max(loop.solver.steps)),
                epoch=summary.step / loop.stepper.batches.count,
                seconds=time.perf_counter() - self.start_time,
                message=message,
                **numbers,
            )
            stop |= notify(self.callbacks, event)
        return stop

    # Checkpoints ----------------------------------------------------------------------

    def _resume(self, fingerprint: dict[str, Any]) -> None:
        """Continue from the newest checkpoint, if that is asked for and there is one."""
        if self.checkpoints is None:
            return
        if is_main_process():
            self.checkpoints.prepare(self.resume)
        broadcast_from_main(True)
        if not self.resume:
            return
        found = self.checkpoints.latest(self.progress, fingerprint)
        if found is None:
            return
        run, steps = found.run, np.asarray(self.source.loop.solver.steps)
        more = np.isin(run.reason, (TRAINED, STEP_LIMIT)) & (run.step < steps)
        reason = np.where(more, RUNNING, run.reason).astype(run.reason.dtype)
        self.saved_step = int(np.max(run.step))
        found = found._replace(run=run._replace(reason=reason))
        self.progress = self.source.to_devices(found)

    def _save(self, summary: Summary, fingerprint: dict[str, Any], due: bool) -> None:
        """Write a checkpoint if it is due."""
        checkpoints, step = self.checkpoints, summary.step
        if checkpoints is None or step == self.saved_step:
            return
        if checkpoints.every_steps:
            due |= step % checkpoints.every_steps == 0
        elif checkpoints.every_seconds is not None:
            late = time.perf_counter() - self.save_time >= checkpoints.every_seconds
            due |= broadcast_from_main(late)
        if not due:
            return
        progress = self.source.gather(self.progress)
        if is_main_process():
            checkpoints.save(progress, step, fingerprint)
        broadcast_from_main(True)  # all processes wait until the file is complete
        self.save_time, self.saved_step = time.perf_counter(), step
        self._notify(summary, "checkpoint")

    # The end --------------------------------------------------------------------------

    def _solution(self, called_off: bool) -> Solution:
        progress = self.source.gather(self.progress)
        run = progress.run
        if called_off:
            runs = run.reason == RUNNING
            reason = jnp.where(runs, CALLED_OFF, run.reason)
            value = jnp.where(runs, run.gradient, run.value)
            progress = progress._replace(run=run._replace(reason=reason, value=value))
        return self.source.finish(progress)


def _latest(losses: Any) -> float:
    """The last validation loss that is kept, averaged over members."""
    rows = np.atleast_2d(np.asarray(losses))
    last = [row[~np.isnan(row)][-1] for row in rows if not np.isnan(row).all()]
    return float(np.mean(last)) if last else float("nan")


def _ending(solution: Solution) -> str:
    """How the run ended; for several members, how many ended in each way."""
    sentences = solution.status.sentences
    if len(sentences) == 1:
        return f"{sentences[0]}."
    reasons = np.asarray(solution.status.reason)
    examples = {
        int(r): sentences[int(np.argmax(reasons == r))] for r in np.unique(reasons)
    }
    return " ".join(
        f"{(reasons == r).sum()} of {reasons.size}: for one, {sentence}."
        for r, sentence in examples.items()
    )
