r"""The residual connection: $h + f(h)$."""

import equinox as eqx
import jax
from jaxtyping import Array, Float

from likely.layers.composition.chain import initial_state
from likely.typing import Key, Model, State


class Residual(eqx.Module):
    r"""$h + f(h)$, or $s(h) + f(h)$ with a shortcut s where f changes the size.

    If the last layer of f is initialised with zeros (`Dense(..., init="zero")`), the block
    starts as the identity and still learns: the gradient of that layer is not zero.
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
        """The output of the block plus the input, or the shortcut of it."""
        inner, outer = state or (None, None)
        k_block, k_shortcut = (None, None) if key is None else jax.random.split(key)
        added, inner = self.block(X, w=w, key=k_block, state=inner)
        if self.shortcut is not None:
            X, outer = self.shortcut(X, w=w, key=k_shortcut, state=outer)
        return X + added, None if state is None else (inner, outer)
