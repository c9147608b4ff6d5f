"""Pairs of sequences drawn at random: what translation is learned from."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree, UInt32

from likely.core.rows import size_class
from likely.text.models.pairs import ABSENT
from likely.typing import Batch, Key


class RandomPairs(eqx.Module):
    """A perturbation of the rows of a `round`: pairs drawn at random.

    The rows of a round share out the pairs, so that a round sees all parts of the data alike.

    Args:
        source: (p, s) what is read of sources.
        read: (p, t) what is read of targets.
        written: (p, t) what is to be written after it.
        w: (p,) how often each counts.
        n_pairs: how many of these are pairs; the rest is padding.
        n_rows: the rows of a round.
        batch_size: the rows of a step.
    """

    source: Int[Array | np.ndarray, "p s"]
    read: Int[Array | np.ndarray, "p t"]
    written: Int[Array | np.ndarray, "p t"]
    w: Float[Array | np.ndarray, " p"]
    n_pairs: UInt32[Array | np.ndarray, ""]
    n_rows: UInt32[Array | np.ndarray, ""]
    batch_size: int = eqx.field(static=True)

    @classmethod
    def of(cls, pairs: Batch, rows: int, steps: int) -> "RandomPairs":
        """These pairs, for rounds of steps of so many rows."""
        n = len(pairs.w)
        extra = size_class(n) - n

        def grown(a: np.ndarray, kind: Any) -> np.ndarray:
            ends = [(0, extra)] + [(0, 0)] * (a.ndim - 1)
            return np.pad(a.astype(kind), ends, mode="edge")

        return cls(
            source=grown(pairs.x[0], np.int32),
            read=grown(pairs.x[1], np.int32),
            written=grown(pairs.y, np.int32),
            w=grown(pairs.w, np.float32),
            n_pairs=np.asarray(n, np.uint32),
            n_rows=np.asarray(rows * steps, np.uint32),
            batch_size=rows,
        )

    @property
    def length(self) -> int:
        """The symbols of a row."""
        return self.source.shape[1] + self.read.shape[1]

    @property
    def round(self) -> Batch:
        """The rows of a round: row i has the pairs from i p/r on, up to (i + 1) p/r."""
        n = int(self.n_rows)
        share, rest = np.divmod(np.arange(n) * int(self.n_pairs), n)
        x = tuple(a[:, None].astype(np.int32) for a in (share, rest))
        return Batch(x, np.zeros((n, 1), np.int32), np.ones(n))

    @property
    def tokens_per_row(self) -> float:
        """Σ w · symbols that are written in a row, on average."""
        n = int(self.n_pairs)
        w = np.asarray(self.w[:n], np.float64)
        return float(np.mean(w * (self.written[:n] != ABSENT).sum(1)))

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """The parameters as they are, and a pair for each row."""
        share, rest = (a[:, 0].astype(jnp.uint32) for a in batch.x)
        draw = jax.random.bits(key, share.shape, jnp.uint32) % self.n_pairs
        pair = share + (rest + draw) // self.n_rows
        every = self.source, self.read, self.written, self.w
        source, read, written, w = (jnp.asarray(a)[pair] for a in every)
        return params, Batch((source, read), written, batch.w * w)
