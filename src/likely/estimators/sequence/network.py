r"""Networks of sequences as plain data: layers over positions, then one vector or many.

    positions -> recurrent layers, or a transformer -> a state of each position
    states    -> one vector of the row              -> η of the row
              ->                                       η of each position (tags)

The vector of a row is the last state beside the mean of all, which gives each position a short
way to η, however long the row is; of a transformer, whose positions see each other, the mean.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.base.settings import at_least, one_of
from likely.core.checks import InputError
from likely.layers import Chain, Dense, Dropout, MixedPrecision, Recurrent
from likely.layers.composition.layer import AbstractLayer
from likely.layers.composition.mixed_precision import check_dtype
from likely.layers.composition.padded import Padded, repack, unpack
from likely.layers.embedding.token_embedding import TokenEmbedding
from likely.models.sequence.recurrent_network import mean_position
from likely.models.sequence.transformer import Transformer
from likely.models.settings import setting
from likely.typing import Key, State

ARCHITECTURES = ("rnn", "lstm", "gru", "transformer")
MIN_CONTEXT = 1024
"""Positions that a transformer has room for at least ..."""
CONTEXT_FACTOR = 4
"""... and how many times those of the longest row of the fit."""


class SequenceNetwork(eqx.Module):
    """The settings of a network of sequences; `build` makes the network.

    Args:
        architecture: "rnn", "lstm", "gru" or "transformer".
        size: of the state of a position.
        n_layers: the number of layers.
        n_heads: of the attention of a transformer.
        bidirectional: whether recurrent layers also read from the end.
        dropout: the probability to drop a value between layers and before η.
        vocabulary: the number of tokens, unknown ones included; 0 for numbers.
        each: whether each position has an η of its own.
        dtype: what to compute in, such as "bfloat16".
    """

    architecture: str = setting("lstm")
    size: int = setting(64)
    n_layers: int = setting(1)
    n_heads: int = setting(4)
    bidirectional: bool = setting(False)
    dropout: float = setting(0.0)
    vocabulary: int = setting(0)
    each: bool = setting(False)
    dtype: str | None = setting(None)

    def __check_init__(self):
        one_of("architecture", self.architecture, ARCHITECTURES)
        for name in ("size", "n_layers", "n_heads"):
            at_least(name, getattr(self, name), 1, whole=True)
        if not 0 <= self.dropout < 1:
            raise InputError(
                f"dropout is {self.dropout}; give a probability, at least 0 and below 1."
            )
        divisor = 2 * self.n_heads if self.attends else 1
        if self.size % divisor:
            raise InputError(
                f"size is {self.size} and n_heads {self.n_heads}; give a size that is a "
                f"multiple of {divisor}: heads share it, and positions come in pairs."
            )
        if self.dtype is not None:
            check_dtype(self.dtype)

    @property
    def attends(self) -> bool:
        """Whether it is a transformer."""
        return self.architecture == "transformer"

    def build(self, shape: tuple[int, ...], n_out: int, *, key: Key) -> Any:
        """From rows (T, d + 1), the last channel of which is presence, to n_out entries of η."""
        inner, last = jax.random.split(key)
        length, d = shape[0], shape[1] - 1
        layers = (
            self._encoder(length, d, inner) if self.attends else self._cells(d, inner)
        )
        both = self.bidirectional and not self.attends
        width = self.size * (1 + both)
        if self.each:
            layers.append(PositionValues())
        else:
            layers.append(RowVector(both, last=not self.attends))
            width *= 1 if self.attends else 2
        layers += [Dropout(self.dropout)] if self.dropout else []
        layers.append(Dense(width, n_out, init="uniform", key=last))
        model: Any = Chain(PresentPositions(bool(self.vocabulary)), *layers)
        if self.dtype is not None:
            inside = MixedPrecision(Chain(*layers), self.dtype)
            model = Chain(PresentPositions(bool(self.vocabulary)), inside)
        return model

    def _cells(self, d: int, key: Key) -> list[Any]:
        first, then = jax.random.split(key)
        layers: list[Any] = []
        if self.vocabulary:
            d = self.size
            layers.append(PositionVectors(self.vocabulary, d, key=first))
        cells = Recurrent(
            self.architecture,
            d,
            self.size,
            n_layers=self.n_layers,
            bidirectional=self.bidirectional,
            dropout=self.dropout,
            key=then,
        )
        return [*layers, cells]

    def _encoder(self, length: int, d: int, key: Key) -> list[Any]:
        model = Transformer(
            self.vocabulary or None,
            self.size,
            self.n_layers,
            self.n_heads,
            n_in=None if self.vocabulary else d,
            n_out=0,
            context=max(MIN_CONTEXT, CONTEXT_FACTOR * length),
            positions="sinusoidal",
            dropout=self.dropout,
            key=key,
        )
        return [PositionStates(model)]


class PresentPositions(AbstractLayer):
    """The last channel as what it is: which positions are there."""

    tokens: bool = eqx.field(static=True)

    def of(self, X: Float[Array, "n t d"]) -> Padded:
        """The other channels, or tokens as whole numbers."""
        values = X[..., 0].astype(jnp.int32) if self.tokens else X[..., :-1]
        return Padded(values, X[..., -1] > 0)


class PositionVectors(AbstractLayer):
    """A learned vector for each token; that of unknown tokens starts at zero."""

    embedding: TokenEmbedding

    def __init__(self, vocabulary: int, size: int, *, key: Key):
        found = TokenEmbedding(vocabulary, size, scale=1.0, key=key)
        self.embedding = eqx.tree_at(
            lambda e: e.weight, found, found.weight.at[0].set(0.0)
        )

    def of(self, X: Any) -> Any:
        """The vectors of the tokens."""
        return repack(self.embedding.of(unpack(X)[0]), X)


class PositionStates(eqx.Module):
    """A transformer as a layer: the states of its positions, in the form of the input."""

    transformer: Transformer

    def __call__(
        self, X: Any, *, w=None, key: Key | None = None, state: State = None
    ) -> tuple[Any, State]:
        """The states after the last layer."""
        return repack(self.transformer.states(X, key=key), X), state


class PositionValues(AbstractLayer):
    """The states of positions as a plain array, zero where a position is absent."""

    def of(self, X: Any) -> Float[Array, "n t k"]:
        """(n, t, k)."""
        return unpack(X)[0]


class RowVector(AbstractLayer):
    """One vector for each row: the mean of its states, with or without the last one.

    The last state of layers that read from the end is that of the first position.
    """

    both: bool = eqx.field(static=True)
    last: bool = eqx.field(static=True)

    def of(self, X: Padded) -> Float[Array, "n k"]:
        """(n, k), or (n, 2k) with the last state."""
        H, here = unpack(X)
        mean = mean_position(H, here)
        if not self.last:
            return mean
        end = here.shape[1] - 1 - jnp.argmax(here[:, ::-1], axis=1)
        final = jnp.take_along_axis(H, end[:, None, None], axis=1)[:, 0]
        if self.both:
            k = H.shape[2] // 2
            final = jnp.concatenate([final[:, :k], H[:, 0, k:]], axis=1)
        return jnp.concatenate([final, mean], axis=1)
