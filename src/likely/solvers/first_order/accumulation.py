"""Gradient accumulation: a batch in parts, one after another, to save memory."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from likely.typing import Batch


def split_rows(batch: Batch, parts: int) -> Batch:
    """The rows of a batch as (parts, rows, ...); the mean loss over the parts is its own.

    Where the parts do not divide the rows, rows of weight 0 are added and the others
    weigh more, because an objective divides by the number of rows it is given.
    """
    n = batch.w.shape[0]
    size = -(-n // parts)
    extra = parts * size - n

    def split(a: Array) -> Array:
        if extra:
            padding = jnp.broadcast_to(a[:1], (extra, *a.shape[1:]))
            a = jnp.concatenate([a, padding])
        return a.reshape(parts, size, *a.shape[1:])

    w = batch.w * (parts * size / n)
    w = jnp.concatenate([w, jnp.zeros(extra, w.dtype)]).reshape(parts, size)
    return Batch(jax.tree.map(split, batch.x), jax.tree.map(split, batch.y), w)
