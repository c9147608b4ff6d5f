r"""The columns of a coded table, as networks read them and as networks describe them.

A network reads of each column its number (words as columns of 0 and 1, counts by their
logarithm), and whether it is there. It describes numbers, whole numbers and counts by a
mixture of K normal, rounded normal or negative binomial distributions, and words by
probabilities. Columns of one kind are computed together.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from likely.families import Categorical, NegativeBinomial, Normal, RoundedNormal
from likely.preprocess import TableCodec
from likely.typing import Key

NUMBERS = ("number", "positive")
MIXED = {"number": Normal(), "whole": RoundedNormal(), "count": NegativeBinomial()}
"""Kinds of columns that are mixtures, each with its family of two parameters."""


class ColumnEta(NamedTuple):
    """What a network says of all columns."""

    logits: Float[Array, "n k m"]
    """Of the components of the m columns that are mixtures."""
    first: Float[Array, "n k m"]
    """The first parameter of each component."""
    second: Float[Array, "n k m"]
    words: tuple[Float[Array, "n _"], ...]
    """The logits of each column of words."""


class CodedColumns(eqx.Module):
    """The kinds and units of the columns of a coded table.

    Args:
        kinds: "number", "whole", "count" or "category", for each column.
        levels: how many levels each category has; 0 for numbers.
        origin: a value of whole numbers; the mean logarithm of counts.
        step: the distance of neighbouring whole numbers; the deviation of log counts.
        n_components: K.
    """

    kinds: tuple[str, ...] = eqx.field(static=True)
    levels: tuple[int, ...] = eqx.field(static=True)
    origin: Float[Array | np.ndarray, " q"]
    step: Float[Array | np.ndarray, " q"]
    n_components: int = eqx.field(static=True)

    @classmethod
    def of(
        cls, codec: TableCodec, which: np.ndarray | None = None, n_components: int = 4
    ) -> "CodedColumns":
        """The columns of a codec, or some of them."""
        every = codec.columns
        chosen = every if which is None else [every[j] for j in np.flatnonzero(which)]
        kinds = ["number" if c.kind in NUMBERS else c.kind for c in chosen]
        origin = [
            -c.center / c.scale if c.kind == "whole" else c.center for c in chosen
        ]
        step = [c.step if c.kind == "whole" else c.scale for c in chosen]
        return cls(
            tuple(kinds),
            tuple(c.n_levels for c in chosen),
            np.asarray(origin, np.float64),
            np.asarray(step, np.float64),
            n_components,
        )

    @property
    def mixed(self) -> np.ndarray:
        """The numbers of the columns that are mixtures."""
        return np.flatnonzero([kind != "category" for kind in self.kinds])

    @property
    def words(self) -> np.ndarray:
        """The numbers of the columns that are categories."""
        return np.flatnonzero([kind == "category" for kind in self.kinds])

    # What a network reads --------------------------------------------------------------

    @property
    def input_variables(self) -> tuple[int, ...]:
        """The column of each input: its numbers, then whether it is there."""
        widths = [c if c > 2 else 1 for c in self.levels]
        numbers = np.repeat(np.arange(len(widths)), widths)
        return (*map(int, numbers), *range(len(widths)))

    def inputs(
        self, V: Float[Array, "n q"], missing: Bool[Array, "n q"]
    ) -> Float[Array, "n i"]:
        """What a network reads of codes; 0 where a cell is missing."""
        parts = []
        for j, (kind, c) in enumerate(zip(self.kinds, self.levels, strict=True)):
            v = V[:, j : j + 1]
            if kind == "category":
                v = (v == jnp.arange(c)[None]).astype(V.dtype) if c > 2 else 2 * v - 1
            elif kind == "count":
                v = (jnp.log1p(jnp.maximum(v, 0)) - self.origin[j]) / self.step[j]
            parts.append(jnp.where(missing[:, j : j + 1], 0.0, v))
        there = (~missing).astype(V.dtype)
        return jax.lax.stop_gradient(jnp.concatenate([*parts, there], 1))

    # What a network says ---------------------------------------------------------------

    @property
    def output_variables(self) -> tuple[int, ...]:
        """The column of each output."""
        mixed = tuple(map(int, self.mixed)) * (3 * self.n_components)
        widths = [self.levels[j] for j in self.words]
        return (*mixed, *map(int, np.repeat(self.words, widths)))

    def eta(self, out: Float[Array, "n o"]) -> ColumnEta:
        """The parameters of all columns, from the outputs of a network."""
        K, m = self.n_components, len(self.mixed)
        head = out[:, : 3 * K * m].reshape(len(out), 3, K, m)
        ends = np.cumsum([self.levels[j] for j in self.words])[:-1]
        tail = jnp.split(out[:, 3 * K * m :], ends, axis=1) if len(self.words) else ()
        return ColumnEta(head[:, 0], head[:, 1], head[:, 2], tuple(tail))

    def log_probs(self, eta: ColumnEta, V: Float[Array, "n q"]) -> Float[Array, "n q"]:
        """log p of each cell: densities of numbers, probabilities of all others."""
        found = jnp.zeros_like(V)
        weights = jax.nn.log_softmax(eta.logits, 1)
        for kind, (at, where) in self._groups.items():
            first, second, y = self._lattice(kind, eta, V, at, where)
            y = jnp.broadcast_to(y[:, None], first.shape)
            each = MIXED[kind].log_prob(jnp.stack([first, second], -1), y)
            total = jax.nn.logsumexp(weights[:, :, at] + each, axis=1)
            found = found.at[:, where].set(total)
        for j, logits in zip(self.words, eta.words, strict=True):
            own = Categorical(logits.shape[1]).log_prob(logits, V[:, j])
            found = found.at[:, j].set(own)
        return found

    def sample(self, eta: ColumnEta, key: Key) -> Float[Array, "n q"]:
        """A draw of every cell by itself."""
        keys = list(jax.random.split(key, 1 + len(MIXED) + len(self.words)))
        n, K, m = eta.logits.shape
        found = jnp.zeros((n, len(self.kinds)), eta.logits.dtype)
        if m:
            chosen = jax.random.categorical(keys[0], eta.logits, axis=1)
            hot = chosen[:, None] == jnp.arange(K)[None, :, None]
            eta = eta._replace(
                first=jnp.where(hot, eta.first, 0).sum(1, keepdims=True),
                second=jnp.where(hot, eta.second, 0).sum(1, keepdims=True),
            )
        for k, (kind, (at, where)) in zip(keys[1:], self._groups.items(), strict=False):
            first, second, _ = self._lattice(kind, eta, found, at, where)
            y = MIXED[kind](jnp.stack([first, second], -1)).sample(k)[:, 0]
            if kind == "whole":
                y = y * self.step[where][None] + self.origin[where][None]
            found = found.at[:, where].set(y.astype(found.dtype))
        last = keys[1 + len(MIXED) :]
        for j, logits, k in zip(self.words, eta.words, last, strict=False):
            found = found.at[:, j].set(jax.random.categorical(k, logits))
        return found

    @property
    def _groups(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """The columns of each kind: their places among mixtures, and among all columns."""
        kinds = np.array(self.kinds)[self.mixed] if len(self.mixed) else np.array([])
        return {
            kind: (np.flatnonzero(kinds == kind), self.mixed[kinds == kind])
            for kind in MIXED
            if (kinds == kind).any()
        }

    def _lattice(
        self, kind: str, eta: ColumnEta, V: Array, at: np.ndarray, where: np.ndarray
    ) -> tuple[Array, Array, Array]:
        """Parameters and values of the columns of a kind; whole numbers in steps of 1."""
        first, second, y = eta.first[:, :, at], eta.second[:, :, at], V[:, where]
        if kind != "whole":
            return first, second, y
        step = jax.lax.stop_gradient(jnp.asarray(self.step[where], V.dtype))
        origin = jax.lax.stop_gradient(jnp.asarray(self.origin[where], V.dtype))
        first = (first - origin[None, None]) / step[None, None]
        second = second - jnp.log(step)[None, None]
        return first, second, jnp.round((y - origin[None]) / step[None])
