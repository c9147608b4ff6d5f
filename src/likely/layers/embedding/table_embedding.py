r"""Embeddings of categorical columns: $e = E_{c}$, a learned row of a matrix.

This equals one-hot columns times a matrix, without the columns: a category with many
levels costs no more than one with few, and levels with similar effects get similar
vectors.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.layers.composition.layer import AbstractLayer
from likely.typing import Key


class CategoryColumn(NamedTuple):
    """A column of codes 0, 1, ..., with its number of levels and embedding size."""

    column: int
    levels: int
    width: int


class CategoryEmbedding(eqx.Module):
    """A learned vector for each code; the prior applies to them as to other weights."""

    weight: Float[Array, "levels width"]

    def __init__(self, levels: int, width: int, *, key: Key):
        self.weight = jax.random.normal(key, (levels, width)) / np.sqrt(width)


class TableEmbedding(AbstractLayer):
    """Numeric columns unchanged, followed by the embeddings of the categorical columns.

    Args:
        categories: the columns of codes; codes beyond the levels count as the last level.
        key: the random key of the initial vectors.
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

    def of(self, X: Float[Array, "n d"]) -> Float[Array, "n e"]:
        """The features, (n, d − c + Σ widths) for c categorical columns."""
        numbers = np.setdiff1d(np.arange(X.shape[1]), self.columns)
        parts = [X[:, numbers]]
        for column, embedding in zip(self.columns, self.embeddings, strict=True):
            codes = X[:, column].astype(jnp.int32)
            parts.append(jnp.take(embedding.weight, codes, axis=0, mode="clip"))
        return jnp.concatenate(parts, axis=1)
