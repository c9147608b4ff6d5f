r"""Max unpooling: values return to the positions of the maxima."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, UInt

from likely.layers.composition.chain import initial_state
from likely.layers.convolution.pooling import Pooling, max_and_index, take_indexed
from likely.layers.convolution.sliding import SlidingWindow
from likely.typing import Key, Model, State


class Unpooling(eqx.Module):
    """Max pooling, a block at the smaller size, and unpooling to the original size.

    Unpooling puts each value at the position of the maximum of its window and zeros
    elsewhere.

    Args:
        block: the model between; it has to keep positions and channels.
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
        """Pool, apply the block, and unpool to the original positions."""
        window = self.pooling.window(X)
        y, at = max_and_index(X, window)
        y, state = self.block(y, w=w, key=key, state=state)
        return unpool(y, at, X, window), state


def unpool(
    y: Array, at: UInt[Array, "..."], like: Array, window: SlidingWindow
) -> Float[Array, "n *positions c"]:
    """The values y at the given indices of their windows, zeros elsewhere.

    It is the transpose of `take_indexed`; where windows overlap, values add up.
    """
    back = jax.linear_transpose(lambda t: take_indexed(t, at, window), like)
    return back(y)[0]
