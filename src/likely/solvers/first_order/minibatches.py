r"""Minibatches: shuffle, cut, reshuffle.

An epoch is a permutation of the n rows, cut into $b = \lceil n/\text{size}\rceil$
batches of $r = \lceil n/b\rceil$ rows; where b does not divide n, the last few batches
are one row short. Each batch loss is $\sum w\,l/(B\bar w)$ with B the rows it has, so
its gradient is unbiased, and the mean over an epoch with weights B/n is the full
gradient exactly. One epoch is b updates; how many epochs there are is free.

Where only the first k rows are there (those that a bootstrap has drawn, before others of
weight 0), their order is dealt out one by one, so that every batch gets its share of them.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from likely.core.permutation import permutation
from likely.typing import Batch, Key


class Minibatches(eqx.Module):
    """How n rows are cut: `count` batches of at most `size` rows."""

    n: int = eqx.field(static=True)
    count: int = eqx.field(static=True)
    size: int = eqx.field(static=True)

    @classmethod
    def of(cls, n: int, batch_size: int | None) -> "Minibatches":
        """As equal as possible and no larger than `batch_size`; None is one batch."""
        count = -(-n // min(batch_size or n, n))
        return cls(n, count, -(-n // count))

    @property
    def full(self) -> bool:
        """Whether there is one batch, of all the rows in their order."""
        return self.count == 1

    def order(
        self, key: Key, epoch: Int[Array, ""], there: Int[Array, ""] | None = None
    ) -> Int[Array, "b r"]:
        """The rows of each batch of an epoch, a function of (key, epoch); n is none.

        Args:
            key: of the run.
            epoch: its number.
            there: k, if only the first k rows are.
        """
        order = permutation(jax.random.fold_in(key, epoch), self.n, there)
        missing = jnp.full(self.count * self.size - self.n, self.n, order.dtype)
        if there is not None:
            every = jnp.concatenate([order, missing])
            return every.reshape(self.size, self.count).T
        whole = self.count * (self.size - 1)
        last = jnp.concatenate([order[whole:], missing])
        first = order[:whole].reshape(self.count, self.size - 1)
        return jnp.concatenate([first, last[:, None]], axis=1)

    def take(
        self, data: Batch, rows: Int[Array, " r"], there: Int[Array, ""] | None = None
    ) -> Batch:
        """These rows of the data; where some are missing the others are worth more."""
        batch = jax.tree.map(lambda a: jnp.take(a, rows, axis=0, mode="clip"), data)
        if there is not None:
            present = rows < there
            share = len(rows) / self.n * there / jnp.maximum(present.sum(), 1)
            return batch._replace(w=jnp.where(present, batch.w * share, 0.0))
        if self.count * self.size == self.n and len(rows) == self.size:
            return batch
        present = rows < self.n
        share = len(rows) / present.sum()
        return batch._replace(w=jnp.where(present, batch.w * share, 0.0))
