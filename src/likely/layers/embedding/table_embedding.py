r"""Categories of a table as vectors that are learned: $e = E_{c}$, a row of a matrix.

One-hot columns times a matrix, without the columns: a category with many levels costs
no more than one with few, and levels that act alike come to lie close together.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.typing import Key, State


class CategoryColumn(NamedTuple):
    """A column that holds the codes 0, 1, ..., and how long its vectors are."""

    column: int
    levels: int
    width: int


class CategoryEmbedding(eqx.Module):
    """A vector for each code; the prior holds for them as for other weights."""

    weight: Float[Array, "levels width"]

    def __init__(self, levels: int, width: int, *, key: Key):
        self.weight = jax.random.normal(key, (levels, width)) / np.sqrt(width)


class TableEmbedding(eqx.Module):
    """Rows of numbers and codes: the numbers as they are, then the vectors of the codes.

    Args:
        categories: the columns of codes; a code beyond the levels counts as the last.
        key: for the first vectors.
    """

    embeddings: tuple[CategoryEmbedding, ...]
    columns: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, categories: Sequence[CategoryColumn], *, key: Key):
        keys = jax.random.split(key, len(categories))
        self.embeddings = tuple(
            CategoryEmbedding(c.levels, c.width, key=k)
            for c, k in zip(categories, keys, strict=True)
        )
        self.columns = tuple(c.column for c in categories)

    def __call__(
        self, X: Float[Array, "n d"], *, w=None, key=None, state: State = None
    ) -> tuple[Float[Array, "n e"], State]:
        """(n, d − c + Σ widths)."""
        numbers = np.setdiff1d(np.arange(X.shape[1]), self.columns)
        parts = [X[:, numbers]]
        for column, embedding in zip(self.columns, self.embeddings, strict=True):
            codes = X[:, column].astype(jnp.int32)
            parts.append(jnp.take(embedding.weight, codes, axis=0, mode="clip"))
        return jnp.concatenate(parts, axis=1), state
