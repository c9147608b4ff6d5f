r"""Recurrent networks: states along the sequence, then a linear map to η."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError, check_choice
from likely.layers.composition.padded import repack, unpack
from likely.layers.embedding.token_embedding import TokenEmbedding
from likely.layers.recurrent.recurrent import Recurrent
from likely.layers.units.dense import Dense
from likely.layers.units.dropout import Dropout
from likely.models.sequence.inputs import check_sequences
from likely.typing import Key, State

OUTPUTS = ("last", "each", "mean")


class RecurrentNetwork(eqx.Module):
    """A recurrent network from tokens (n, t) or numbers (n, t, d) to η.

    η is of the whole row, from the last state or the mean of all, or of each position. Absent
    positions (`Padded`) change nothing, whatever they contain.

    Args:
        vocabulary: the number of tokens; None where positions are numbers.
        size: the size of the state, and of the vectors of tokens.
        n_layers: the number of recurrent layers.
        kind: "rnn" (tanh), "relu", "lstm" or "gru".
        n_in: the size of a position of numbers; None where positions are tokens.
        n_out: the entries of η; None for one for each token.
        output: "last", "mean" or "each".
        bidirectional: whether a second set of layers reads from the end.
        dropout: the probability to drop a value between layers and before the output.
        truncate: the number of steps that gradients flow back through; None is all.
        key: the random key of the initial weights.
    """

    embedding: TokenEmbedding | None
    recurrent: Recurrent
    drop: Dropout | None
    output: Dense
    pooling: str = eqx.field(static=True)

    def __init__(
        self,
        vocabulary: int | None,
        size: int,
        n_layers: int = 1,
        *,
        kind: str = "lstm",
        n_in: int | None = None,
        n_out: int | None = None,
        output: str = "last",
        bidirectional: bool = False,
        dropout: float = 0.0,
        truncate: int | None = None,
        key: Key,
    ):
        check_choice("output", output, OUTPUTS)
        n_out = vocabulary if n_out is None else n_out
        if (vocabulary is None) == (n_in is None) or n_out is None:
            raise InputError(
                f"vocabulary is {vocabulary}, n_in {n_in} and n_out {n_out}; give the number "
                "of tokens, or the size of a position of numbers and the entries of η."
            )
        if min(n_out, vocabulary or n_in or 0) < 1:
            raise InputError(
                f"vocabulary is {vocabulary}, n_in {n_in} and n_out {n_out}; give whole "
                "numbers from 1 on."
            )
        first, second, third = jax.random.split(key, 3)
        self.embedding, width = None, n_in or size
        if vocabulary is not None:
            self.embedding = TokenEmbedding(vocabulary, size, scale=1.0, key=first)
        self.recurrent = Recurrent(
            kind, width, size, n_layers=n_layers, bidirectional=bidirectional,
            dropout=dropout, truncate=truncate, key=second,
        )  # fmt: skip
        self.drop = Dropout(dropout) if dropout else None
        both = size * (1 + bidirectional)
        self.output = Dense(both, n_out, init="xavier", key=third)
        self.pooling = output

    def __call__(
        self, X: Any, *, w=None, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, "n *t k"], State]:
        """η of each row, (n, k), or of each position, (n, t, k).

        Args:
            X: (n, t) tokens or (n, t, d) numbers; an array or `Padded`.
            w: is not used: rows are independent.
            key: of the dropout; None at inference.
            state: is passed on.
        """
        first, second = (None, None) if key is None else jax.random.split(key)
        H = self.states(X, key=first)
        H = H if self.drop is None else self.drop(H, key=second)[0]
        return self.output.of(H), state

    def states(self, X: Any, *, key: Key | None = None) -> Float[Array, "n *t size"]:
        """What η is a linear map of: the last state, the mean state, or each."""
        X = check_sequences(X, vocabulary=self.vocabulary, n_in=self.n_in)
        values, present = unpack(X)
        H = values if self.embedding is None else self.embedding.of(jnp.asarray(values))
        found = self.recurrent.states(repack(H, X), key=key)
        if self.pooling == "last":
            directions = len(self.recurrent.layers[-1])
            return jnp.concatenate([carry[0] for carry in found.last[-directions:]], 1)
        H = unpack(found.outputs)[0]
        if self.pooling == "each":
            return H
        return mean_position(H, present)

    @property
    def vocabulary(self) -> int | None:
        """The number of tokens; None where positions are numbers."""
        return None if self.embedding is None else self.embedding.weight.shape[0]

    @property
    def n_in(self) -> int | None:
        """The size of a position of numbers; None where positions are tokens."""
        if self.embedding is not None:
            return None
        return self.recurrent.layers[0][0].weight.shape[0]


def mean_position(H: Float[Array, "n t d"], present: Any) -> Float[Array, "n d"]:
    """The mean over the positions that are present; 0 where none is."""
    if present is None:
        return H.mean(1)
    here = jnp.asarray(present, H.dtype)
    total = jnp.where(here[..., None] > 0, H, 0).sum(1)
    return total / jnp.maximum(here.sum(1), 1)[:, None]
