r"""The residual connection: $h + f(h)$."""

import equinox as eqx
import jax
from jaxtyping import Array, Float

from likely.layers.composition.chain import initial_state
from likely.typing import Key, Model, State


class Residual(eqx.Module):
    r"""$h + f(h)$, or $s(h) + f(h)$ where a shortcut s has to change the size.

    If the last layer of f starts at zero (`Dense(..., init="zero")`) the block starts as
    the identity, and still learns: that layer's own gradient is not zero.
    """

    block: Model
    shortcut: Model | None = None

    def initial_state(self) -> State:
        """The states of the block and of the shortcut, if either has one."""
        states = initial_state(self.block), initial_state(self.shortcut)
        return None if all(s is None for s in states) else states

    def __call__(
        self,
        X: Float[Array, "n ..."],
        *,
        w: Float[Array, " n"] | None = None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "n ..."], State]:
        """Add what the block makes to what comes in."""
        inner, outer = state or (None, None)
        here, there = (None, None) if key is None else jax.random.split(key)
        added, inner = self.block(X, w=w, key=here, state=inner)
        if self.shortcut is not None:
            X, outer = self.shortcut(X, w=w, key=there, state=outer)
        return X + added, None if state is None else (inner, outer)
