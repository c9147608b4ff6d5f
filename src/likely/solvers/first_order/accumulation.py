"""A batch in parts, one after another: its gradient without its memory."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from likely.typing import Batch


def split_rows(batch: Batch, parts: int) -> Batch:
    """The rows of a batch as (parts, rows, ...); the mean loss over the parts is its own.

    Where the parts do not divide the rows, absent rows fill up and the others are worth
    more, because an objective divides by the number of rows it is given.
    """
    n = batch.w.shape[0]
    size = -(-n // parts)
    extra = parts * size - n

    def cut(a: Array) -> Array:
        if extra:
            last = jnp.broadcast_to(a[:1], (extra, *a.shape[1:]))
            a = jnp.concatenate([a, last])
        return a.reshape(parts, size, *a.shape[1:])

    w = batch.w * (parts * size / n)
    w = jnp.concatenate([w, jnp.zeros(extra, w.dtype)]).reshape(parts, size)
    return Batch(jax.tree.map(cut, batch.x), jax.tree.map(cut, batch.y), w)
