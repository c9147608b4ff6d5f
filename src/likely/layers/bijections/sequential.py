r"""The autoregressive layer for long rows: each number is mapped as those before it say.

As `Autoregressive`, with a network that reads blocks of numbers, such as the rows of an
image. The inverse finds number after number, and keeps what the network has read so far.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from likely.layers.bijections.affine import AbstractIncreasing
from likely.layers.bijections.bijection import AbstractBijection, row_sums


class SequentialAutoregressive(AbstractBijection):
    """All numbers of a row, mapped from the first to the last.

    Args:
        conditioner: `models.BlockNetwork`, or what is called and unrolled as it is; its p
            outputs at each number are the parameters of the function.
        function: the increasing function.
        block: b, the numbers of a block.
    """

    conditioner: Any
    function: AbstractIncreasing
    block: int = eqx.field(static=True)

    def forward(self, X, given=None, *, key=None):
        blocks, given = self._blocks(X, given)
        theta = self.conditioner(blocks, given, key=key)
        Z, log_slope = self.function.forward(blocks, theta)
        return Z.reshape(X.shape), row_sums(log_slope)

    def inverse(self, Z, given=None):
        blocks, given = self._blocks(Z, given)
        places = jnp.arange(self.block)

        def cell(theta: Array, now: Array, t: Array, j: Array) -> Array:
            x = self.function.inverse(blocks[:, t], theta)
            return jnp.where((places == j)[None], x, now)

        X = self.conditioner.unroll(jnp.zeros_like(blocks), given, _same, cell)
        return X.reshape(Z.shape)

    def _blocks(self, X: Array, given: Array | None) -> tuple[Array, Array]:
        none = jnp.zeros((len(X), 0), X.dtype)
        blocks = X.reshape(len(X), -1, self.block)
        return blocks, none if given is None else given


def _same(values: Array) -> Array:
    return values
