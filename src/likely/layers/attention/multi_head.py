r"""Multi-head attention: h heads of size d/h, each with its own queries, keys and values."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.core.checks import InputError
from likely.layers.attention.positions import RelativeBias, rotate
from likely.layers.attention.scores import attention, probabilities
from likely.layers.composition.padded import repack, unpack
from likely.layers.units.dense import Dense
from likely.layers.units.dropout import Dropout
from likely.layers.units.initializers import Initializer
from likely.typing import Key, State


class Cache(eqx.Module):
    """Keys and values of the positions so far, in arrays that have room for all."""

    keys: Float[Array, "n s g d"]
    values: Float[Array, "n s g d"]
    length: Int[Array, ""]
    """How many positions are filled."""


class Memory(eqx.Module):
    """Keys and values of a context that is looked at again and again."""

    keys: Float[Array, "n s g d"]
    values: Float[Array, "n s g d"]
    present: Any = None
    """(n, s) which positions are there; None where all are."""


class MultiHeadAttention(eqx.Module):
    """Each position becomes a mixture of values, by the match of its query with all keys.

    Queries come from the input, keys and values from it too (self-attention) or from another
    sequence (cross-attention). Absent positions (`Padded`) are never looked at.

    Args:
        size: of a position, in and out.
        n_heads: the number of heads.
        n_key_heads: the number of heads of keys and values; fewer than `n_heads` share them
            (grouped queries).
        causal: whether a position sees only itself and those before it.
        window: whether it sees only so many positions to each side.
        rotary: whether queries and keys are rotated by their position.
        reach: distances up to this one have a learned bias of their own; 0 for no bias.
        bias: whether the four linear maps have one.
        dropout: the probability to drop a value of the result, in training.
        init: of the linear maps.
        key: the random key of the initial weights.
    """

    query: Dense
    key_value: Dense
    out: Dense
    relative: RelativeBias | None
    drop: Dropout | None
    n_heads: int = eqx.field(static=True)
    n_key_heads: int = eqx.field(static=True)
    causal: bool = eqx.field(static=True)
    window: int | None = eqx.field(static=True)
    rotary: bool = eqx.field(static=True)

    def __init__(
        self,
        size: int,
        n_heads: int,
        *,
        n_key_heads: int | None = None,
        causal: bool = False,
        window: int | None = None,
        rotary: bool = False,
        reach: int = 0,
        bias: bool = True,
        dropout: float = 0.0,
        init: Initializer = "xavier",
        key: Key,
    ):
        groups = n_heads if n_key_heads is None else n_key_heads
        if size % n_heads or n_heads % groups:
            raise InputError(
                f"size is {size}, n_heads {n_heads}, n_key_heads {groups}; the size has to "
                "be a multiple of the heads, and the heads of those of the keys."
            )
        kq, kv, ko = jax.random.split(key, 3)
        head = size // n_heads
        self.query = Dense(size, size, bias=bias, init=init, key=kq)
        self.key_value = Dense(size, 2 * groups * head, bias=bias, init=init, key=kv)
        self.out = Dense(size, size, bias=bias, init=init, key=ko)
        self.relative = RelativeBias(n_heads, reach) if reach else None
        self.drop = Dropout(dropout) if dropout else None
        self.n_heads, self.n_key_heads = n_heads, groups
        self.causal, self.window, self.rotary = causal, window, rotary

    @property
    def head_size(self) -> int:
        """The size of a head."""
        return self.query.weight.shape[1] // self.n_heads

    def cache(self, n: int, length: int, dtype: Any = None) -> Cache:
        """An empty cache for n rows of up to `length` positions."""
        dtype = self.query.weight.dtype if dtype is None else dtype
        empty = jnp.zeros((n, length, self.n_key_heads, self.head_size), dtype)
        return Cache(empty, empty, jnp.zeros((), jnp.int32))

    def heads(
        self, X: Any, context: Any = None, first: Any = 0
    ) -> tuple[Any, Any, Any]:
        """Queries, keys and values; `first` is the position of the first query."""
        own = context is None
        k, v = self._keys_and_values(X if own else context, first if own else 0)
        return self._queries(X, first), k, v

    def _queries(self, X: Any, first: Any = 0) -> Any:
        q = self.query.of(X).reshape(*X.shape[:2], self.n_heads, -1)
        return rotate(q, first + jnp.arange(q.shape[1])) if self.rotary else q

    def _keys_and_values(self, X: Any, first: Any = 0) -> tuple[Any, Any]:
        both = self.key_value.of(X)
        both = both.reshape(*X.shape[:2], 2, self.n_key_heads, self.head_size)
        k, v = both[:, :, 0], both[:, :, 1]
        return rotate(k, first + jnp.arange(k.shape[1])) if self.rotary else k, v

    def remember(self, context: Any) -> Memory:
        """The keys and values of a context (n, s, d), an array or `Padded`."""
        source, present = unpack(context)
        return Memory(*self._keys_and_values(source), present)

    def __call__(
        self,
        X: Any,
        *,
        context: Any = None,
        mask: Any = None,
        w=None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Any, State]:
        """The mixtures, (n, t, d).

        Args:
            X: (n, t, d), which asks; an array or `Padded`.
            context: (n, s, d), which is looked at, or the `Memory` of it; X itself where None.
            mask: (t, s) or (n, t, s), which positions may be looked at.
            w: is not used: rows are independent.
            key: of the dropout; None at inference.
            state: is passed on.
        """
        values, _ = unpack(X)
        if isinstance(context, Memory):
            q, k, v = self._queries(values), context.keys, context.values
            present = context.present
        else:
            source, present = unpack(X if context is None else context)
            q, k, v = self.heads(values, None if context is None else source)
        found = attention(q, k, v, **self._options(q, k, mask, present))
        return repack(self._mix(found, key), X), state

    def weights(
        self, X: Any, *, context: Any = None, mask: Any = None
    ) -> Float[Array, "n h t s"]:
        """How much each position looks at each other one."""
        values, _ = unpack(X)
        source, present = unpack(X if context is None else context)
        q, k, _ = self.heads(values, None if context is None else source)
        return probabilities(q, k, **self._options(q, k, mask, present))

    def extend(
        self, X: Float[Array, "n t d"], cache: Cache
    ) -> tuple[Float[Array, "n t d"], Cache]:
        """The mixtures of new positions after those in the cache, and the longer cache."""
        q, k, v = self.heads(X, None, cache.length)
        keys = _put(cache.keys, k, cache.length)
        held = _put(cache.values, v, cache.length)
        own = cache.length + jnp.arange(X.shape[1])
        ahead = jnp.arange(keys.shape[1])[None] - own[:, None]
        allowed = ahead <= 0
        if self.window is not None:
            allowed &= ahead >= -self.window
        bias = None
        if self.relative is not None:
            bias = self.relative(own, jnp.arange(keys.shape[1]))
        found = attention(q, keys, held, mask=allowed[None, None], bias=bias)
        length = cache.length + X.shape[1]
        return self._mix(found, None), Cache(keys, held, length)

    def _mix(self, found: Any, key: Key | None) -> Any:
        Y = self.out.of(found.reshape(*found.shape[:2], -1))
        return Y if self.drop is None else self.drop(Y, key=key)[0]

    def _options(self, q: Any, k: Any, mask: Any, present: Any) -> dict[str, Any]:
        """Mask, bias and shape of the window for `attention`."""
        t, s = q.shape[1], k.shape[1]
        if mask is not None:
            mask = jnp.asarray(mask, bool)
            if mask.shape[-2:] != (t, s):
                raise InputError(
                    f"the mask has shape {mask.shape}; {t} positions look at {s}."
                )
            mask = mask[None, None] if mask.ndim == 2 else mask[:, None]
        if present is not None:
            there = present[:, None, None]
            mask = there if mask is None else mask & there
        bias = None
        if self.relative is not None:
            bias = self.relative(jnp.arange(s - t, s), jnp.arange(s))
        return {
            "mask": mask,
            "bias": bias,
            "causal": self.causal,
            "window": self.window,
        }


def _put(room: Array, new: Array, at: Int[Array, ""]) -> Array:
    """The array with new positions from `at` on."""
    return jax.lax.dynamic_update_slice_in_dim(room, new.astype(room.dtype), at, 1)
