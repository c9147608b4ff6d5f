"""A run from its first step to its last: the host's side of it."""

import time
import warnings
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from likely.solvers.training.checkpoints import Checkpoints
from likely.solvers.training.divergence import DivergenceWarning
from likely.solvers.training.events import Callback, Event, tell
from likely.solvers.training.feeds import AbstractFeed
from likely.solvers.training.observers import ProgressBar
from likely.solvers.training.pace import SECONDS, UNSEEN, Pace
from likely.solvers.training.processes import agreed, is_first, several
from likely.typing import (
    CALLED_OFF,
    DIVERGED,
    RUNNING,
    STEP_LIMIT,
    TRAINED,
    Solution,
)


class Seen(NamedTuple):
    """The numbers of a progress that the host decides by."""

    step: int
    running: int
    bad: int
    members: int
    loss: float
    gradient: float
    rate: float
    looks: int
    validation: float
    best: float


class Course:
    """One run, or one crowd of them.

    Args:
        feed: what is run.
        callbacks: who is told.
        checkpoints: where it is saved.
        resume: whether to go on from there.
        every: steps between events.
        verbose: whether there is a bar.
    """

    def __init__(
        self,
        feed: AbstractFeed,
        callbacks: tuple[Callback, ...],
        checkpoints: Checkpoints | None,
        *,
        resume: bool,
        every: int | None,
        verbose: bool,
    ):
        self.feed, self.places, self.resumes = feed, checkpoints, resume
        bar = (ProgressBar(),) if verbose and is_first() else ()
        self.audience = (*callbacks, *bar)
        block = feed.loop.block
        if every is None and (callbacks or several()):
            every = block
        multiple = None if checkpoints is None else checkpoints.every_steps
        seen = self.audience or checkpoints is not None
        seconds = SECONDS if seen else UNSEEN
        self.pace = Pace(block, every, multiple, feed.most(), seconds)
        self.progress = feed.progress
        self.began = self.saved = time.perf_counter()
        self.saved_at = -1

    def run(self, about: dict[str, Any]) -> Solution:
        """All the steps, with looks in between."""
        self._resume(about)
        seen, message = self._read(), ""
        older = self.progress, seen.step
        over = self._tell(seen, "start", "compiling")
        while seen.running and not over:
            first, before, bad = seen.step, self.progress, seen.bad
            until = self.pace.until(first)
            self.progress = self.feed.advance(before, first, until)
            seen = self._read()
            self.pace.made(seen.step - first)
            if seen.bad > bad:
                # the weights that are bad may be older than this piece
                self.progress, message = self.feed.rescue(*older, self.progress)
            older = before, first
            over = self._tell(seen, *self._kinds(seen))
            if seen.bad < seen.members:
                self._save(seen, about, due=over or not seen.running)
        solution = self._solution(over and seen.running > 0)
        message = f"{_short(solution)} {message}".strip()
        self._tell(seen, "stop", message=message)
        if seen.bad:
            warnings.warn(message, DivergenceWarning, stacklevel=3)
        return solution

    # Looking --------------------------------------------------------------------------

    def _read(self) -> Seen:
        run, best, _ = self.progress
        reason = np.asarray(run.reason)
        looks, validation, lowest = 0, float("nan"), float("nan")
        if best is not None:
            looks = int(np.max(best.count))
            if looks:
                lowest, validation = float(np.mean(best.loss)), _latest(best.looks)
        return Seen(
            step=int(np.max(run.step)),
            running=int((reason == RUNNING).sum()),
            bad=int((reason == DIVERGED).sum()),
            members=reason.size,
            loss=float(np.mean(run.loss)),
            gradient=float(np.max(run.gradient)),
            rate=float(np.mean(run.rate)),
            looks=looks,
            validation=validation,
            best=lowest,
        )

    def _kinds(self, seen: Seen) -> list[str]:
        loop = self.feed.loop
        whole = seen.step % loop.stepper.batches.count == 0
        looked = seen.looks and seen.step % loop.block == 0
        return ["epoch" if whole else "step", *["validation"] * bool(looked)]

    def _tell(self, seen: Seen, *kinds: Any, message: str = "") -> bool:
        """Tell everybody; whether somebody asked to stop."""
        loop, asked = self.feed.loop, False
        shared = {k: v for k, v in seen._asdict().items() if k not in ("bad", "looks")}
        for kind in kinds:
            event = Event(
                kind,
                steps=int(np.max(loop.solver.steps)),
                epoch=seen.step / loop.stepper.batches.count,
                seconds=time.perf_counter() - self.began,
                message=message,
                **shared,
            )
            asked |= tell(self.audience, event)
        return asked

    # Saving ---------------------------------------------------------------------------

    def _resume(self, about: dict[str, Any]) -> None:
        """Go on from the newest checkpoint, if that is asked for and there is one."""
        if self.places is None:
            return
        if is_first():
            self.places.prepare(self.resumes)
        agreed(True)
        found = self.places.latest(self.progress, about) if self.resumes else None
        if found is None:
            return
        run, steps = found.run, np.asarray(self.feed.loop.solver.steps)
        more = np.isin(run.reason, (TRAINED, STEP_LIMIT)) & (run.step < steps)
        reason = np.where(more, RUNNING, run.reason).astype(run.reason.dtype)
        self.saved_at = int(np.max(run.step))
        self.progress = self.feed.place(found._replace(run=run._replace(reason=reason)))

    def _save(self, seen: Seen, about: dict[str, Any], due: bool) -> None:
        places, step = self.places, seen.step
        if places is None or step == self.saved_at:
            return
        if places.every_steps:
            due |= step % places.every_steps == 0
        elif places.every_seconds is not None:
            late = time.perf_counter() - self.saved >= places.every_seconds
            due |= agreed(late)
        if not due:
            return
        whole = self.feed.gather(self.progress)
        if is_first():
            places.save(whole, step, about)
        agreed(True)  # nobody goes on before the file is there
        self.saved, self.saved_at = time.perf_counter(), step
        self._tell(seen, "checkpoint")

    # The end --------------------------------------------------------------------------

    def _solution(self, called_off: bool) -> Solution:
        progress = self.feed.gather(self.progress)
        run = progress.run
        if called_off:
            runs = run.reason == RUNNING
            reason = jnp.where(runs, CALLED_OFF, run.reason)
            value = jnp.where(runs, run.gradient, run.value)
            progress = progress._replace(run=run._replace(reason=reason, value=value))
        return self.feed.finish(progress)


def _latest(looks: Any) -> float:
    """The last look that is kept, mean over members."""
    known = np.atleast_2d(np.asarray(looks))
    last = [row[~np.isnan(row)][-1] for row in known if not np.isnan(row).all()]
    return float(np.mean(last)) if last else float("nan")


def _short(solution: Solution) -> str:
    """How it ended; of a crowd how many ended each way."""
    sentences = solution.status.sentences
    if len(sentences) == 1:
        return f"{sentences[0]}."
    reasons = np.asarray(solution.status.reason)
    kinds = {
        int(r): sentences[int(np.argmax(reasons == r))] for r in np.unique(reasons)
    }
    return " ".join(
        f"{(reasons == r).sum()} of {reasons.size}: for one, {s}."
        for r, s in kinds.items()
    )
