r"""Max unpooling: values go back to where the largest ones stood."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, UInt

from likely.layers.composition.chain import initial_state
from likely.layers.convolution.pooling import Pooled, Pooling, max_and_place, pick
from likely.typing import Key, Model, State


class Unpooling(eqx.Module):
    """Pool, compute in small, unpool: zeros except where the largest values stood.

    Args:
        block: what is computed between; the places and channels have to stay.
        pooling: a max pooling.
    """

    block: Model
    pooling: Pooling

    def initial_state(self) -> State:
        """The state of the block."""
        return initial_state(self.block)

    def __call__(
        self,
        X: Float[Array, "n *positions c"],
        *,
        w: Float[Array, " n"] | None = None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "n *positions c"], State]:
        """Back at the same positions."""
        how = Pooled(self.pooling.size or (), self.pooling.stride, self.pooling.pads)
        y, at = max_and_place(X, how)
        y, state = self.block(y, w=w, key=key, state=state)
        return unpool(y, at, X, how), state


def unpool(
    y: Array, at: UInt[Array, "..."], like: Array, how: Pooled
) -> Float[Array, "n *positions c"]:
    """The values y at the numbered places of their windows, zeros elsewhere.

    The transpose of taking them from there; where windows overlap, values add up.
    """
    back = jax.linear_transpose(lambda t: pick(t, at, how), like)
    return back(y)[0]
