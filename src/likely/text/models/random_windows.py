r"""Windows drawn at random: what a language model is trained on.

A sequence of L tokens has ⌈L/T⌉ pieces. The window of the first piece begins where the sequence
does, those of the others anywhere in their part of the sequence. A step draws a piece and a
place in it for each of its rows, from a key that is a function of (seed, step). The rows of a
round share out the pieces, so that a round sees all parts of the data alike.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree, UInt32

from likely.core.rows import size_class
from likely.text.models.sequences import Sequences
from likely.text.models.windows import numbered
from likely.typing import Batch, Key

RESTARTS = 8
"""Of so many windows of a stream one forgets what came before it."""


class RandomWindows(eqx.Module):
    """A perturbation of the rows of a `round`: windows drawn at random.

    Args:
        symbols: (s,) of all sequences.
        first: (p,) where the windows of each piece may begin, at first.
        room: (p,) at how many places.
        end: (p,) where the sequence of the piece ends.
        w: (p,) how often the sequence counts.
        n_pieces: how many of these are pieces; the rest is padding.
        n_rows: the rows of a round.
        restarts: whether any place may be a beginning, as in a stream.
        batch_size: the rows of a step.
        length: T.
        begin: the symbol of a beginning.
    """

    symbols: Int[Array | np.ndarray, " s"]
    first: Int[Array | np.ndarray, " p"]
    room: Int[Array | np.ndarray, " p"]
    end: Int[Array | np.ndarray, " p"]
    w: Float[Array | np.ndarray, " p"]
    n_pieces: UInt32[Array | np.ndarray, ""]
    n_rows: UInt32[Array | np.ndarray, ""]
    restarts: Bool[Array | np.ndarray, ""]
    batch_size: int = eqx.field(static=True)
    length: int = eqx.field(static=True)
    begin: int = eqx.field(static=True)

    @classmethod
    def of(  # noqa: PLR0917
        cls, sequences: Sequences, length: int, begin: int, rows: int, steps: int
    ) -> "RandomWindows":
        """The windows of these sequences, for rounds of steps of so many rows."""
        symbols, starts = sequences.symbols(begin)
        first, room, end, w = _pieces(starts, sequences, length)
        n, size = len(first), size_class(len(first))
        extra = size_class(len(symbols) + length) - len(symbols)

        def grown(a: np.ndarray, kind: Any) -> np.ndarray:
            return np.pad(a.astype(kind), (0, size - n), mode="edge")

        return cls(
            symbols=np.pad(symbols, (0, extra), constant_values=begin),
            first=grown(first, np.int32),
            room=grown(room, np.int32),
            end=grown(end, np.int32),
            w=grown(w, np.float32),
            n_pieces=np.asarray(n, np.uint32),
            n_rows=np.asarray(rows * steps, np.uint32),
            restarts=np.asarray(sequences.stream),
            batch_size=rows,
            length=length,
            begin=begin,
        )

    @property
    def round(self) -> Batch:
        """The rows of a round: row i has the pieces from i p/r on, up to (i + 1) p/r."""
        n = int(self.n_rows)
        share, rest = np.divmod(np.arange(n) * int(self.n_pieces), n)
        x, y = (a[:, None].astype(np.int32) for a in (share, rest))
        return Batch(x, y, np.ones(n))

    @property
    def tokens_per_row(self) -> float:
        """Σ w · tokens of a window, on average over all draws."""
        n = int(self.n_pieces)
        count = np.minimum(self.end - self.first - 1, self.length)[:n]
        return float(np.mean(np.asarray(self.w[:n], np.float64) * count))

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """The parameters as they are, and a window for each row."""
        share, rest = (a[:, 0].astype(jnp.uint32) for a in (batch.x, batch.y))
        draw = jax.random.bits(key, (3, len(share)), jnp.uint32)
        piece = share + (rest + draw[0] % self.n_pieces) // self.n_rows
        first, room, end, w = (
            jnp.asarray(a)[piece] for a in (self.first, self.room, self.end, self.w)
        )
        start = first + (draw[1] % room.astype(jnp.uint32)).astype(jnp.int32)
        at = start[:, None] + jnp.arange(self.length + 1)[None]
        symbols = jnp.take(jnp.asarray(self.symbols), at, mode="clip")
        symbols = jnp.where(at < end[:, None], symbols, self.begin)
        forgets = self.restarts & (draw[2] % RESTARTS == 0)
        forgotten = forgets[:, None] & (at == start[:, None])
        symbols = jnp.where(forgotten, self.begin, symbols)
        return params, Batch(symbols[:, :-1], symbols[:, 1:], batch.w * w)


def _pieces(starts: np.ndarray, sequences: Sequences, T: int) -> tuple:
    """First, room, end and weight of the pieces of all sequences."""
    L = sequences.lengths
    counts = np.maximum(1, -(-L // T))
    row, j = numbered(counts)
    places, parts = (L - T)[row], np.maximum(counts - 1, 1)[row]
    before, after = (j - 1) * places // parts, j * places // parts
    first = starts[row] + np.where(j > 0, 1 + before, 0)
    room = np.where(j > 0, after - before, 1)
    return first, room, (starts + 1 + L)[row], sequences.w[row]
