"""Where a training run takes its steps from: rows in memory, a stream, or members.

A source computes the steps `first`, ..., `until` − 1 on batches that are functions of
(seed, step), and so it can compute them again.
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


class AbstractSource(ABC):
    """One or more runs, computed in segments."""

    loop: Loop
    """The loop of the run, or of the first member."""
    progress: Progress
    """The progress before the first step."""
    max_steps: int | None = None
    """The largest number of steps in one call of `advance`."""

    @abstractmethod
    def advance(self, progress: Progress, first: int, until: int) -> Progress:
        """Compute the steps `first`, ..., `until` − 1, or fewer."""

    @abstractmethod
    def roll_back(
        self, before: Progress, first: int, after: Progress
    ) -> tuple[Progress, str]:
        """Return to the last good state where a loss was not finite, and say why.

        The loss of step t is that of the weights after step t − 1; so the last good
        weights are those before that, and the steps from `before` (at step `first`)
        are repeated up to them.
        """

    @abstractmethod
    def finish(self, progress: Progress) -> Solution:
        """The solution, from a gathered progress."""

    @abstractmethod
    def to_devices(self, tree: PyTree) -> PyTree:
        """NumPy arrays on the devices of the run."""

    @abstractmethod
    def gather(self, tree: PyTree) -> PyTree:
        """Arrays that this process can read."""


class AbstractSingleSource(AbstractSource):
    """One run; a subclass defines `advance` and `batch`."""

    @abstractmethod
    def batch(self, step: int) -> Batch:
        """The rows of a step."""

    @abstractmethod
    def close(self) -> None:
        """Release what the source holds open."""

    def roll_back(self, before, first, after):
        bad, loop = after.run, self.loop
        step = int(bad.step)
        noise = loop.stepper.key
        key = None if noise is None else jax.random.fold_in(noise, step)
        rate = float(loop.solver.rate.rate(jnp.asarray(step), bad.schedule))
        params, batch, perturb = bad.params, self.batch(step), loop.solver.noise
        if perturb is not None and key is not None:  # as the step has seen them
            key, own = jax.random.split(key)
            params, batch = perturb(params, batch, own)
        model = eqx.combine(params, loop.stepper.static)
        message = diagnose(model, batch, key, bad.state, rate)
        good, at = before, first
        while at < step - 1:
            good = self.advance(good, at, step - 1)
            at = int(good.run.step)
        run = good.run._replace(step=bad.step, reason=bad.reason, value=bad.value)
        return after._replace(run=run), message

    def finish(self, progress):
        return self.loop.finish(progress)

    def to_devices(self, tree):
        layout = self.loop.layout
        if layout is None:
            return jax.tree.map(jnp.asarray, tree)
        return layout.to_devices(tree)

    def gather(self, tree):
        layout = self.loop.layout
        return tree if layout is None else layout.gather(tree)


class ArraySource(AbstractSingleSource):
    """Rows in the memory of the device; batches are taken inside the program."""

    def __init__(self, loop: Loop, progress: Progress):
        self.loop, self.progress = loop, progress

    def advance(self, progress, first, until):
        return _advance(self.loop, progress, _int32(first), _int32(until))

    def batch(self, step):
        return _batch(self.loop, _int32(step))

    def close(self):
        pass


def _int32(value: Any) -> Array:
    return jnp.asarray(value, jnp.int32)


@eqx.filter_jit
def _advance(loop: Loop, progress: Progress, first: Array, until: Array) -> Progress:
    return loop.advance(progress, first, until)


@eqx.filter_jit
def _batch(loop: Loop, step: Array) -> Batch:
    start = step - step % loop.block
    return loop.batch(loop.order(start), step - start, step)
