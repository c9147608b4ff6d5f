r"""Minibatches: shuffle, split, reshuffle.

An epoch is a permutation of the n rows, split into $b = \lceil n/\text{size}\rceil$
batches of $r = \lceil n/b\rceil$ rows; where b does not divide n, the last few batches
are one row short. Each batch loss is $\sum w\,l/(B\bar w)$ with B its number of rows, so
its gradient is unbiased, and the mean over an epoch with weights B/n is the full
gradient exactly. One epoch is b updates; the number of epochs is free.

Where only the first k rows are present (those that a bootstrap has drawn, before others
of weight 0), they are assigned to the batches in turn, so that all get as many.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from likely.core.permutation import permutation
from likely.typing import Batch, Key


class Minibatches(eqx.Module):
    """The split of n rows into `count` batches of at most `size` rows."""

    n: int = eqx.field(static=True)
    count: int = eqx.field(static=True)
    size: int = eqx.field(static=True)

    @classmethod
    def of(cls, n: int, batch_size: int | None) -> "Minibatches":
        """Batches as equal as possible, no larger than `batch_size`; None is one batch."""
        count = -(-n // min(batch_size or n, n))
        return cls(n, count, -(-n // count))

    @property
    def full(self) -> bool:
        """Whether there is one batch, of all the rows in their order."""
        return self.count == 1

    def order(
        self, key: Key, epoch: Int[Array, ""], n_present: Int[Array, ""] | None = None
    ) -> Int[Array, "b r"]:
        """The rows of each batch, a function of (key, epoch); n means a missing row.

        Args:
            key: the key of the run.
            epoch: the number of the epoch.
            n_present: k, if only the first k rows are present.
        """
        order = permutation(jax.random.fold_in(key, epoch), self.n, n_present)
        missing = jnp.full(self.count * self.size - self.n, self.n, order.dtype)
        if n_present is not None:
            every = jnp.concatenate([order, missing])
            return every.reshape(self.size, self.count).T
        most = self.count * (self.size - 1)
        last = jnp.concatenate([order[most:], missing])
        first = order[:most].reshape(self.count, self.size - 1)
        return jnp.concatenate([first, last[:, None]], axis=1)

    def take(
        self,
        data: Batch,
        rows: Int[Array, " r"],
        n_present: Int[Array, ""] | None = None,
    ) -> Batch:
        """These rows of the data; where some are missing the others weigh more."""
        batch = jax.tree.map(lambda a: jnp.take(a, rows, axis=0, mode="clip"), data)
        if n_present is not None:
            present = rows < n_present
            share = len(rows) / self.n * n_present / jnp.maximum(present.sum(), 1)
            return batch._replace(w=jnp.where(present, batch.w * share, 0.0))
        if self.count * self.size == self.n and len(rows) == self.size:
            return batch
        present = rows < self.n
        share = len(rows) / present.sum()
        return batch._replace(w=jnp.where(present, batch.w * share, 0.0))
