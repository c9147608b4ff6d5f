"""Padding of rows to a few sizes with absent rows, and making absent rows harmless.

A new number of rows would compile a new program. So rows are padded to the next
of a few sizes with copies of a present row (never zeros: 0·NaN) at weight zero,
which changes nothing because *garbage in a w=0 row changes nothing*.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.typing import Batch


def size_class(n: int) -> int:
    """The next larger of a few sizes: powers of two up to 1024, then finer steps.

    There are four sizes in each octave above 1024 and eight above 65,536, so that the
    padding costs at most a quarter, and at most an eighth where rows are many.
    """
    if n <= 16:
        return 16
    octave = 1 << (n - 1).bit_length() - 1
    parts = 1 if octave < 1024 else 4 if octave < 65_536 else 8
    step = octave // parts
    return octave + step * -(-(n - octave) // step)


def pad(batch: Batch, size: int | None = None) -> Batch:
    """The batch with absent rows appended up to `size` (default: its size class).

    Rows that are absent already become copies of a present one too, as in `fill_absent`.
    """
    n = len(batch.w)
    extra = (size_class(n) if size is None else size) - n
    if extra < 0:
        raise ValueError(f"cannot pad {n} rows to {size}; give a size of at least {n}.")
    absent = np.asarray(batch.w) == 0
    keep = int(np.argmin(absent))

    def grow(rows: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows)
        if not extra and not absent.any():
            return rows
        grown = np.empty((n + extra, *rows.shape[1:]), rows.dtype)
        grown[:n], grown[n:] = rows, rows[keep]
        grown[:n][absent] = rows[keep]
        return grown

    w = np.concatenate([np.asarray(batch.w), np.zeros(extra)])
    return Batch(jax.tree.map(grow, batch.x), jax.tree.map(grow, batch.y), w)


def pad_rows(X: PyTree, size: int | None = None) -> PyTree:
    """Inputs alone, padded to `size` (default: their size class) with copies of the first row."""
    n = len(jax.tree.leaves(X)[0])
    return pad(Batch(X, None, np.ones(n)), size).x


def fill_absent(batch: Batch) -> Batch:
    """Replace every w=0 row by a copy of the first present row; safe to trace."""
    present = batch.w > 0
    keep = jnp.argmax(present)

    def fill(rows: Array) -> Array:
        mask = present.reshape((-1,) + (1,) * (rows.ndim - 1))
        return jnp.where(mask, rows, rows[keep][None])

    return Batch(jax.tree.map(fill, batch.x), jax.tree.map(fill, batch.y), batch.w)


def weighted_mean(
    values: Float[Array, "n ..."], w: Float[Array, " n"]
) -> Float[Array, "..."]:
    """Σᵢ wᵢ vᵢ / Σᵢ wᵢ over the rows; a fused sum, which under `vmap` beats a product."""
    return jnp.sum(w.reshape(-1, *[1] * (values.ndim - 1)) * values, axis=0) / w.sum()
