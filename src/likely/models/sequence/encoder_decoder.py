"""An encoder and a decoder that reads what the encoder has made, as in translation."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from likely.layers.attention.multi_head import Cache
from likely.layers.composition.padded import repack
from likely.models.sequence.transformer import Transformer
from likely.typing import Key, State


class EncoderDecoder(eqx.Module):
    """A transformer from a source sequence and the target so far to η of the next token.

    Args:
        source: the number of source tokens; None where positions are numbers (`n_in`).
        target: the number of target tokens.
        size: the size of a position inside.
        n_layers: the number of layers of each half.
        n_heads: the number of heads of attention.
        context: the most positions of a source and of a target.
        n_in: the size of a source position of numbers.
        key: the random key of the initial weights.
        settings: of both halves: `positions`, `norm_first`, `dropout`, ...
    """

    encoder: Transformer
    decoder: Transformer

    def __init__(
        self,
        source: int | None,
        target: int,
        size: int,
        n_layers: int,
        n_heads: int,
        *,
        n_in: int | None = None,
        key: Key,
        **settings: Any,
    ):
        first, second = jax.random.split(key)
        shape = size, n_layers, n_heads
        self.encoder = Transformer(
            source, *shape, kind="encoder", n_in=n_in, n_out=0, key=first, **settings
        )
        self.decoder = Transformer(
            target, *shape, kind="decoder", cross=True, key=second, **settings
        )

    def __call__(
        self, X: Any, *, w=None, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, "n t k"], State]:
        """η of each target position, for X = (source, target so far)."""
        source, target = X
        first, second = (None, None) if key is None else jax.random.split(key)
        return self.decode(target, self.encode(source, key=first), key=second), state

    def encode(self, source: Any, *, key: Key | None = None) -> Any:
        """The states of the source, in the form of the source."""
        return repack(self.encoder.states(source, key=key), source)

    def decode(
        self, target: Any, encoded: Any, *, key: Key | None = None
    ) -> Float[Array, "n t k"]:
        """η of each target position, given the states of the source."""
        return self.decoder(target, encoded=encoded, key=key)[0]

    def extend(
        self, tokens: Any, caches: tuple[Cache, ...], encoded: Any
    ) -> tuple[Float[Array, "n t k"], tuple[Cache, ...]]:
        """η of new target positions after those in the caches, and the longer caches."""
        return self.decoder.extend(tokens, caches, encoded=encoded)
