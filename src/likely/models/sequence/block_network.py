r"""A transformer over blocks of numbers, and a masked network inside of each block.

A row of numbers, such as an image, is read as T blocks of b numbers. A decoder sums up the
blocks before each block; a masked network describes each number of a block given that
summary and the numbers before it in the block. So the outputs at a number depend on all
numbers before it. With b = 1 it is a GPT over numbers; with blocks as long as the rows of
an image it is as exact, and costs a small part of that.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.layers import Cache
from likely.models.masked_mlp import CONDITION, MaskedMLP
from likely.models.sequence.transformer import Transformer
from likely.typing import Key

N_HIDDEN = 2
"""Hidden layers of the masked network."""


class BlockNetwork(eqx.Module):
    """A network whose p outputs at each number depend on the numbers before it.

    Args:
        blocks: T.
        block: b.
        width: how many inputs a number has: 1, or one for each level.
        n_outputs: p.
        n_given: the length of a condition.
        size: the size of a summary.
        n_layers: layers of the transformer.
        n_heads: heads of its attention.
        hidden: units in the hidden layers of the masked network.
        dropout: the probability to drop a value in training.
        key: the random key of the initial weights.
    """

    transformer: Transformer
    head: MaskedMLP
    blocks: int = eqx.field(static=True)
    block: int = eqx.field(static=True)
    n_outputs: int = eqx.field(static=True)

    def __init__(
        self,
        *,
        blocks: int,
        block: int,
        width: int,
        n_outputs: int,
        n_given: int,
        size: int,
        n_layers: int,
        n_heads: int,
        hidden: int,
        dropout: float = 0.0,
        key: Key,
    ):
        first, then = jax.random.split(key)
        self.transformer = Transformer(
            None, size, n_layers, n_heads, kind="decoder", context=blocks,
            n_in=block * width + n_given + 1, n_out=0, dropout=dropout, key=first,
        )  # fmt: skip
        own = [j for j in range(block) for _ in range(width)]
        inputs, outputs = (*own, *[CONDITION] * size), tuple(range(block)) * n_outputs
        self.head = MaskedMLP(
            inputs, outputs, hidden, N_HIDDEN, dropout=dropout, key=then
        )
        self.blocks, self.block, self.n_outputs = blocks, block, n_outputs

    def __call__(
        self,
        read: Float[Array, "n t i"],
        given: Float[Array, "n g"],
        *,
        key: Key | None = None,
    ) -> Float[Array, "n t p b"]:
        """The outputs at all numbers.

        Args:
            read: the inputs of each block.
            given: the condition of each row.
            key: of dropout in training.
        """
        n, T, _ = read.shape
        k_body, k_head = (None, None) if key is None else jax.random.split(key)
        before = jnp.concatenate([jnp.zeros_like(read[:, :1]), read[:, :-1]], 1)
        states = self.transformer.states(_positions(before, given, 0), key=k_body)
        joint = jnp.concatenate([read, states], -1).reshape(n * T, -1)
        out, _ = self.head(joint, key=k_head)
        return out.reshape(n, T, self.n_outputs, self.block)

    def unroll(
        self,
        values: Float[Array, "n t b"],
        given: Float[Array, "n g"],
        read: Callable[[Float[Array, "n b"]], Float[Array, "n i"]],
        cell: Callable[[Array, Array, Array, Array], Float[Array, "n b"]],
    ) -> Float[Array, "n t b"]:
        """Values found one after another, each from the outputs that those before it give.

        Args:
            values: what is there at first.
            given: the condition of each row.
            read: the inputs of a block of values.
            cell: of (outputs (n, p, b), values (n, b), t, j): the block t with its number j
                found; the outputs are right up to j.
        """
        n, T, b = values.shape
        first = jnp.zeros_like(read(values[:, 0]))

        def step(
            carry: tuple[tuple[Cache, ...], Array], t: Array
        ) -> tuple[tuple[tuple[Cache, ...], Array], Array]:
            caches, before = carry
            row = _positions(before[:, None], given, t)
            state, caches = self.transformer.extend(row, caches)

            def one(j: Array, now: Array) -> Array:
                joint = jnp.concatenate([read(now), state[:, 0]], -1)
                out, _ = self.head(joint)
                return cell(out.reshape(n, self.n_outputs, b), now, t, j)

            found = jax.lax.fori_loop(0, b, one, values[:, t])
            return (caches, read(found)), found

        start = (self.transformer.cache(n, T), first)
        _, found = jax.lax.scan(step, start, jnp.arange(T))
        return jnp.swapaxes(found, 0, 1)


def _positions(
    before: Float[Array, "n t i"], given: Float[Array, "n g"], first: Any
) -> Float[Array, "n t e"]:
    """What the transformer reads: the block before, the condition, and a beginning."""
    n, T, _ = before.shape
    c = jnp.broadcast_to(given[:, None].astype(before.dtype), (n, T, given.shape[1]))
    begins = ((first + jnp.arange(T)) == 0).astype(before.dtype)
    return jnp.concatenate(
        [before, c, jnp.broadcast_to(begins[None, :, None], (n, T, 1))], -1
    )
