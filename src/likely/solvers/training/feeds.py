"""What a course runs on: one run on resident rows or on a stream, or a crowd of runs.

A feed computes the steps `first`, ..., `until` − 1 on batches that are functions of
(seed, step), and so can compute them again.
"""

from abc import ABC, abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from likely.solvers.first_order.stochastic import Loop, Progress
from likely.solvers.training.divergence import diagnose
from likely.typing import Batch, Solution


class AbstractFeed(ABC):
    """One or more runs, computed in pieces."""

    loop: Loop
    """The loop, or that of the first member."""
    progress: Progress
    """Before the first step."""

    @abstractmethod
    def advance(self, progress: Progress, first: int, until: int) -> Progress:
        """Steps `first`, ..., `until` − 1, or fewer."""

    @abstractmethod
    def rescue(
        self, before: Progress, first: int, after: Progress
    ) -> tuple[Progress, str]:
        """Where a loss was no longer a number: the last good state, and a sentence.

        The loss of step t is that of the weights after step t − 1; so the last good
        weights are those before that, and the steps from `before` (at step `first`)
        are repeated up to them.
        """

    @abstractmethod
    def finish(self, progress: Progress) -> Solution:
        """The solution, from a gathered progress."""

    @abstractmethod
    def place(self, tree: PyTree) -> PyTree:
        """Arrays of the host to where they belong."""

    @abstractmethod
    def gather(self, tree: PyTree) -> PyTree:
        """Arrays that this process can read."""

    @abstractmethod
    def most(self) -> int | None:
        """The most steps at once, or None."""

    @abstractmethod
    def close(self) -> None:
        """Nothing more is asked for."""


class AbstractSingle(AbstractFeed):
    """One run; `advance` and `batch` are left to say."""

    @abstractmethod
    def batch(self, step: int) -> Batch:
        """The rows of a step."""

    def rescue(self, before, first, after):
        bad, loop = after.run, self.loop
        step = int(bad.step)
        noise = loop.stepper.key
        key = None if noise is None else jax.random.fold_in(noise, step)
        model = eqx.combine(bad.params, loop.stepper.static)
        rate = float(loop.solver.rate.rate(jnp.asarray(step), bad.schedule))
        message = diagnose(model, self.batch(step), key, bad.state, rate)
        good, at = before, first
        while at < step - 1:
            good = self.advance(good, at, step - 1)
            at = int(good.run.step)
        run = good.run._replace(step=bad.step, reason=bad.reason, value=bad.value)
        return after._replace(run=run), message

    def finish(self, progress):
        return self.loop.finish(progress)

    def place(self, tree):
        layout = self.loop.layout
        return jax.tree.map(jnp.asarray, tree) if layout is None else layout.place(tree)

    def gather(self, tree):
        layout = self.loop.layout
        return tree if layout is None else layout.gathered(tree)


class Resident(AbstractSingle):
    """Rows that live on the device; batches are gathered inside the program."""

    def __init__(self, loop: Loop, progress: Progress):
        self.loop, self.progress = loop, progress

    def advance(self, progress, first, until):
        return _advance(self.loop, progress, _whole(first), _whole(until))

    def batch(self, step):
        return _batch(self.loop, _whole(step))

    def most(self):
        return None

    def close(self):
        pass


def _whole(value: Any) -> Array:
    return jnp.asarray(value, jnp.int32)


@eqx.filter_jit
def _advance(loop: Loop, progress: Progress, first: Array, until: Array) -> Progress:
    return loop.advance(progress, first, until)


@eqx.filter_jit
def _batch(loop: Loop, step: Array) -> Batch:
    start = step - step % loop.block
    return loop.batch(loop.order(start), step - start)
