"""How batches reach the program: from rows on the device, or from a stream.

A feed runs the steps `first`, ..., `until` − 1 of a loop, and can show the batch of any
step again. Either way a batch is a function of (seed, step).
"""

from abc import ABC, abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from likely.solvers.stochastic import Loop, Progress
from likely.typing import Batch


class AbstractFeed(ABC):
    """A source of batches for a loop."""

    @abstractmethod
    def advance(
        self, loop: Loop, progress: Progress, first: int, until: int
    ) -> Progress:
        """Steps `first`, ..., `until` − 1, or fewer where all runs have stopped."""

    @abstractmethod
    def batch(self, loop: Loop, step: int) -> Batch:
        """The rows of a step."""

    @abstractmethod
    def most(self) -> int | None:
        """The most steps at once, or None."""

    @abstractmethod
    def close(self) -> None:
        """Nothing more is asked for."""


class Resident(AbstractFeed):
    """Rows that live on the device; batches are gathered inside the program."""

    def advance(self, loop, progress, first, until):
        return _advance(loop, progress, _whole(first), _whole(until))

    def batch(self, loop, step):
        return _batch(loop, _whole(step))

    def most(self):
        return None

    def close(self):
        pass


def _whole(value: int) -> Array:
    return jnp.asarray(value, jnp.int32)


@eqx.filter_jit
def _advance(loop: Loop, progress: Progress, first: Array, until: Array) -> Progress:
    return loop.advance(progress, first, until)


@eqx.filter_jit
def _batch(loop: Loop, step: Array) -> Batch:
    start = step - step % loop.block
    return loop.batch(loop.order(start), step - start)
