r"""The transformer: layers of attention and an MLP over all positions of a sequence.

    H = embedding of each token (or a linear map of each position's numbers) + its position
    H = layer(H)          for each layer: attention, then an MLP, each added to H
    η = norm(H) Eᵀ        the match with each token of the vocabulary, or a linear map

An encoder looks both ways; a decoder only back, so that η at a position is about the next one.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from likely.core.checks import InputError, check_choice, concrete
from likely.layers.attention.multi_head import Cache, Memory
from likely.layers.attention.positions import LearnedPositions, sinusoidal_positions
from likely.layers.attention.transformer import NORMS, TransformerLayer
from likely.layers.composition.adapted import Adapted
from likely.layers.composition.padded import repack, unpack
from likely.layers.embedding.token_embedding import TokenEmbedding
from likely.layers.units.activations import Activation
from likely.layers.units.dense import Dense
from likely.layers.units.dropout import Dropout
from likely.layers.units.initializers import GaussianInit, Initializer
from likely.models.sequence.inputs import check_sequences, check_tokens
from likely.typing import Key, State

GPT2_INIT = GaussianInit(0.02**2)
KINDS = ("encoder", "decoder")
POSITIONS = ("learned", "sinusoidal", "rotary", "relative", None)
MAX_REACH = 128
"""The largest distance with a bias of its own, where positions are relative."""


class Transformer(eqx.Module):
    """A transformer from tokens (n, t) or numbers (n, t, d) to η of each position.

    Initial weights are those of GPT-2: normal with standard deviation 0.02, and smaller by
    1/√(number of sums) where a layer adds to the sequence. Absent positions (`Padded`) are
    never looked at, whatever they contain.

    Args:
        vocabulary: the number of tokens; None where positions are numbers.
        size: the size of a position inside.
        n_layers: the number of layers.
        n_heads: the number of heads of attention.
        kind: "encoder" (each position sees all) or "decoder" (none after itself).
        context: the most positions of a sequence.
        n_in: the size of a position of numbers; None where positions are tokens.
        n_out: the entries of η at each position; None for one for each token, with the weights
            of the embedding (tied), and 0 for the states themselves.
        hidden: the hidden units of the MLP; four times the size where None.
        positions: "learned" vectors for each, "sinusoidal" ones, "rotary" queries and keys, a
            bias for each "relative" distance, or None: a set of positions without order.
        n_types: the number of types of positions (`types` in the call), 0 for none.
        cross: whether layers also look at what an encoder has made (`encoded` in the call).
        norm_first: whether norms stand before attention and MLP, or after the sums.
        embedding_norm: whether there is a norm before the first layer.
        norm: "layer" or "rms".
        epsilon: of the norms.
        gated: whether the MLP is gated.
        activate: the activation of the MLP.
        dropout: the probability to drop a value of the embedding and of what layers add.
        bias: whether linear maps have one.
        init: of linear maps.
        key: the random key of the initial weights.
        attention: more settings of the attention: `n_key_heads`, `window`.
    """

    embedding: TokenEmbedding | Dense
    positions: LearnedPositions | None
    types: TokenEmbedding | None
    embedding_norm: Any
    drop: Dropout | None
    layers: tuple[TransformerLayer | Adapted, ...]
    norm: Any
    output: Dense | None
    kind: str = eqx.field(static=True)
    context: int = eqx.field(static=True)
    position_kind: str | None = eqx.field(static=True)
    tied: bool = eqx.field(static=True)

    def __init__(
        self,
        vocabulary: int | None,
        size: int,
        n_layers: int,
        n_heads: int,
        *,
        kind: str = "encoder",
        context: int = 512,
        n_in: int | None = None,
        n_out: int | None = None,
        hidden: int | None = None,
        positions: str | None = "learned",
        n_types: int = 0,
        cross: bool = False,
        norm_first: bool = True,
        embedding_norm: bool = False,
        norm: str = "layer",
        epsilon: float = 1e-5,
        gated: bool = False,
        activate: Activation = "gelu",
        dropout: float = 0.0,
        bias: bool = True,
        init: Initializer = GPT2_INIT,
        key: Key,
        **attention: Any,
    ):
        check_choice("kind", kind, KINDS)
        if positions not in POSITIONS:
            check_choice("positions", positions, [p for p in POSITIONS if p])
        check_choice("norm", norm, NORMS)
        _check_sizes(vocabulary, n_in, n_out, size, n_layers, n_heads, context)
        inner, first, second, third, last = jax.random.split(key, 5)
        if n_in is not None:  # standardised inputs become states of variance 1
            unit = GaussianInit(1 / n_in)
            self.embedding = Dense(n_in, size, bias=bias, init=unit, key=first)
        elif vocabulary is not None:
            self.embedding = TokenEmbedding(vocabulary, size, key=first)
        learned = positions == "learned"
        self.positions = (
            LearnedPositions(context, size, key=second) if learned else None
        )
        self.types = TokenEmbedding(n_types, size, key=third) if n_types else None
        self.embedding_norm = (
            NORMS[norm](size, epsilon=epsilon) if embedding_norm else None
        )
        self.drop = Dropout(dropout) if dropout else None
        if positions == "relative":
            attention["reach"] = max(1, min(context - 1, MAX_REACH))
        self.layers = transformer_layers(
            size, n_layers, n_heads, hidden=hidden, cross=cross, norm_first=norm_first,
            norm=norm, epsilon=epsilon, gated=gated, activate=activate, dropout=dropout,
            bias=bias, init=init, causal=kind == "decoder", rotary=positions == "rotary",
            key=inner, **attention,
        )  # fmt: skip
        self.norm = NORMS[norm](size, epsilon=epsilon) if norm_first else None
        self.output = (
            Dense(size, n_out, bias=bias, init=init, key=last) if n_out else None
        )
        self.kind, self.context, self.position_kind = kind, context, positions
        self.tied = n_out is None

    def __call__(
        self,
        X: Any,
        *,
        types: Any = None,
        encoded: Any = None,
        w=None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "n t k"], State]:
        """η of each position.

        Args:
            X: (n, t) tokens or (n, t, d) numbers; an array or `Padded`.
            types: (n, t) the type of each position, 0 for all where None.
            encoded: (n, s, size) what the cross-attention looks at; an array or `Padded`.
            w: is not used: rows are independent.
            key: of the dropout; None at inference.
            state: is passed on.
        """
        return self.eta(self.states(X, types=types, encoded=encoded, key=key)), state

    def states(
        self, X: Any, *, types: Any = None, encoded: Any = None, key: Key | None = None
    ) -> Float[Array, "n t size"]:
        """The state of each position after the last layer and norm."""
        X = check_sequences(
            X, vocabulary=self.vocabulary, n_in=self.n_in, context=self.context
        )
        self._check_given(types, encoded)
        n_keys = len(self.layers) + 1
        keys = [None] * n_keys if key is None else list(jax.random.split(key, n_keys))
        H = self._embed(unpack(X)[0], 0, types)
        H = H if self.drop is None else self.drop(H, key=keys[-1])[0]
        for layer, k in zip(self.layers, keys, strict=False):
            H = unpack(layer(repack(H, X), context=encoded, key=k)[0])[0]
        return H if self.norm is None else self.norm.of(H)

    def eta(self, H: Float[Array, "n t size"]) -> Float[Array, "n t k"]:
        """η of states: by the output layer, or the match with each token."""
        if self.output is not None:
            return self.output.of(H)
        if self.tied and isinstance(self.embedding, TokenEmbedding):
            return self.embedding.logits(H)
        return H

    def cache(self, n: int, length: int | None = None) -> tuple[Cache, ...]:
        """Empty caches for n rows of up to `length` positions; the context where None."""
        length = self.context if length is None else length
        return tuple(layer.attention.cache(n, length) for layer in self.layers)

    def extend(
        self, X: Any, caches: tuple[Cache, ...], *, encoded: Any = None
    ) -> tuple[Float[Array, "n t k"], tuple[Cache, ...]]:
        """η of new positions after those in the caches, and the longer caches.

        Args:
            X: (n, t) tokens or (n, t, d) numbers.
            caches: of the positions so far, with room for the new ones.
            encoded: (n, s, size) what the cross-attention looks at, or what `remember` made.
        """
        if self.kind != "decoder":
            raise InputError(
                "an encoder looks at later positions, so it cannot go on from a cache; "
                'give kind="decoder".'
            )
        check_sequences(X, vocabulary=self.vocabulary, n_in=self.n_in)
        self._check_given(None, encoded)
        filled, room = caches[0].length, caches[0].keys.shape[1]
        if concrete(filled) and np.any(np.asarray(filled) + X.shape[1] > room):
            raise InputError(
                f"the cache has {filled} positions and room for {room}; {X.shape[1]} more "
                "do not fit: give a longer one."
            )
        longer, H = [], self._embed(X, filled)
        every = encoded if isinstance(encoded, tuple) else (encoded,) * len(caches)
        for layer, cache, own in zip(self.layers, caches, every, strict=True):
            H, cache = layer.extend(H, cache, own)
            longer.append(cache)
        return self.eta(H if self.norm is None else self.norm.of(H)), tuple(longer)

    def remember(self, encoded: Any) -> tuple[Memory, ...]:
        """What each layer looks at of an encoded source, for `extend`.

        Args:
            encoded: (n, s, size) an array or `Padded`.
        """
        self._check_given(None, encoded)
        looking = [layer.cross for layer in self.layers]
        return tuple(cross.remember(encoded) for cross in looking if cross is not None)

    @property
    def vocabulary(self) -> int | None:
        """The number of tokens; None where positions are numbers."""
        tokens = isinstance(self.embedding, TokenEmbedding)
        return self.embedding.weight.shape[0] if tokens else None

    @property
    def n_in(self) -> int | None:
        """The size of a position of numbers; None where positions are tokens."""
        numbers = isinstance(self.embedding, Dense)
        return self.embedding.weight.shape[0] if numbers else None

    @property
    def size(self) -> int:
        """The size of a position inside."""
        return self.embedding.weight.shape[1]

    def _check_given(self, types: Any, encoded: Any) -> None:
        """Refuse types or an encoded source that this model would not look at."""
        if types is not None:
            if self.types is None:
                raise InputError("this model has no types; give n_types, or no types.")
            check_tokens(types, len(self.types.weight), "type")
        if encoded is not None and self.layers[0].cross is None:
            raise InputError(
                "this model does not look at an encoded source; give cross=True."
            )

    def _embed(
        self, values: Any, first: Int[Array, ""] | int, types: Any = None
    ) -> Float[Array, "n t size"]:
        """The state of each position before the first layer; `first` is that of the first."""
        H, t = self.embedding.of(jnp.asarray(values)), values.shape[1]
        if self.types is not None:
            types = jnp.zeros(values.shape[:2], int) if types is None else types
            H = H + self.types.of(types)
        table = None if self.positions is None else self.positions.weight
        if self.position_kind == "sinusoidal":
            table = jnp.asarray(sinusoidal_positions(self.context, self.size), H.dtype)
            if self.vocabulary:  # as large as the sinusoids
                H = H * self.size**0.5
        if table is not None:
            H = H + jax.lax.dynamic_slice_in_dim(table, first, t)[None]
        return H if self.embedding_norm is None else self.embedding_norm.of(H)


def transformer_layers(
    size: int, n_layers: int, n_heads: int, *, key: Key, **settings: Any
) -> tuple[TransformerLayer, ...]:
    """Layers with smaller weights where they add, so that the sum of all keeps its scale."""
    n_sums = n_layers * (3 if settings.get("cross") else 2)

    def adding(layer: TransformerLayer) -> list:
        last = layer.mlp.layers[-1] if hasattr(layer.mlp, "layers") else layer.mlp.out
        cross = [] if layer.cross is None else [layer.cross.out.weight]
        return [layer.attention.out.weight, *cross, last.weight]

    layers = [
        TransformerLayer(size, n_heads, **settings, key=k)
        for k in jax.random.split(key, n_layers)
    ]
    return tuple(
        eqx.tree_at(adding, layer, [W * n_sums**-0.5 for W in adding(layer)])
        for layer in layers
    )


def _check_sizes(
    vocabulary: int | None, n_in: int | None, n_out: int | None, *sizes: int
) -> None:
    given = [count for count in (vocabulary, n_in) if count is not None]
    if len(given) != 1:
        raise InputError(
            f"vocabulary is {vocabulary} and n_in {n_in}; give one of them: the number of "
            "tokens, or the size of a position of numbers."
        )
    if vocabulary is None and n_out is None:
        raise InputError("n_out is None; a model of numbers needs the entries of η.")
    if min(*sizes, *given) < 1 or (n_out or 0) < 0:
        raise InputError(
            f"vocabulary, n_in, n_out, size, n_layers, n_heads and context are {vocabulary}, "
            f"{n_in}, {n_out}, {', '.join(map(str, sizes))}; give whole numbers from 1 on."
        )
