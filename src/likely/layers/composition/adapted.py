r"""Adapters: small bottlenecks after the layers of a network that stays as it is.

$$h' = h + a(h W_1 + b_1)\,W_2 + b_2,$$

with few columns in between. $W_2$ and $b_2$ start at zero, so that the network does at first
what it did without.
"""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from likely.layers.composition.chain import initial_state
from likely.layers.composition.layer import AbstractLayer
from likely.layers.composition.padded import repack, unpack
from likely.layers.units.dense import Dense
from likely.typing import Key, State


class Adapter(AbstractLayer):
    """h + a(h W₁ + b₁) W₂ + b₂ along the last axis, at first the identity.

    Args:
        size: the number of features.
        width: the number of hidden units.
        key: the random key of the initial weights.
    """

    down: Dense
    up: Dense

    def __init__(self, size: int, width: int = 8, *, key: Key):
        first, last = jax.random.split(key)
        self.down = Dense(size, width, init="xavier", key=first)
        self.up = Dense(width, size, init="zero", key=last)

    def of(self, X: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
        """The features with what the bottleneck adds."""
        return X + self.up.of(jax.nn.gelu(self.down.of(X)))


class Adapted(eqx.Module):
    """A layer, and an adapter after it."""

    layer: Any
    adapter: Adapter

    def initial_state(self) -> State:
        """The state of the layer."""
        return initial_state(self.layer)

    @property
    def attention(self) -> Any:
        """The attention of a transformer layer."""
        return self.layer.attention

    @property
    def cross(self) -> Any:
        """The attention of a transformer layer to an encoded source; None without one."""
        return self.layer.cross

    def extend(self, X: Any, cache: Any, context: Any = None) -> tuple[Any, Any]:
        """New positions of a transformer layer after those in the cache, and the longer one."""
        H, longer = self.layer.extend(X, cache, context)
        return self.adapter.of(H), longer

    def __call__(
        self,
        X: Any,
        *,
        w: Any = None,
        key: Key | None = None,
        state: State = None,
        **options: Any,
    ) -> tuple[Any, State]:
        """The output of the layer after the adapter, in its form."""
        Y, state = self.layer(X, w=w, key=key, state=state, **options)
        return repack(self.adapter.of(unpack(Y)[0]), Y), state
