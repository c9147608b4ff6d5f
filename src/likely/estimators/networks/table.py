"""Tables for networks: numbers as they are, categories as codes of learned vectors."""

from typing import Any

import equinox as eqx
import jax
import narwhals as nw
import numpy as np

from likely.core.checks import InputError
from likely.layers import Chain
from likely.layers.embedding.table_embedding import CategoryColumn, TableEmbedding
from likely.models import MLP
from likely.preprocess import OrdinalEncoder
from likely.typing import Key

WORDS = (nw.Categorical, nw.Enum, nw.String)
LONGEST = 50


class TableNetwork(eqx.Module):
    """A perceptron on the columns of a table, some of which hold codes."""

    perceptron: MLP
    categories: tuple[CategoryColumn, ...] = eqx.field(static=True, default=())

    def build(self, shape: tuple[int, ...], n_out: int, *, key: Key) -> Any:
        """From rows of d numbers to n_out entries of η."""
        if not self.categories:
            return self.perceptron.build(shape[0], n_out, key=key)
        first, key = jax.random.split(key)
        width = shape[0] + sum(c.width - 1 for c in self.categories)
        model: Any = self.perceptron.build(width, n_out, key=key)
        return Chain(TableEmbedding(self.categories, key=first), *model.layers)


def category_columns(X: Any, given: Any) -> list[int]:
    """The numbers of the columns that hold categories.

    Args:
        X: a frame or an array.
        given: names or numbers of columns; None for those that a frame says are.
    """
    names = _names(X)
    if given is None:
        if names is None:
            return []
        kinds = nw.from_native(X, eager_only=True).schema.values()
        return [j for j, kind in enumerate(kinds) if kind in WORDS]
    return [_place(column, names, X) for column in given]


def _place(column: Any, names: list[str] | None, X: Any) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            raise InputError(f"categories has {column!r}, which is no column of X.")
        return names.index(column)
    d = len(names) if names is not None else np.shape(X)[1]
    if not 0 <= int(column) < d:
        raise InputError(f"categories has column {column}, and X has {d} columns.")
    return int(column)


def coded(X: Any, columns: list[int], encoder: OrdinalEncoder) -> Any:
    """X with codes in the place of categories; 0 is missing, or was not seen in fit."""
    names = _names(X)
    places = np.nan_to_num(encoder.transform(_words(X, columns)), nan=-1.0) + 1
    if names is None:
        X = np.array(X, dtype=object)
        X[:, columns] = places
        return X
    frame = nw.from_native(X, eager_only=True)
    found = {}
    for j, name in enumerate(names):
        if j in columns:
            found[name] = places[:, columns.index(j)]
        else:
            found[name] = frame.get_column(name).to_numpy()
    made = nw.from_dict(found, backend=frame.implementation)
    return made.to_native()


def learn_codes(X: Any, columns: list[int], w: Any) -> OrdinalEncoder:
    """The categories of rows that have weight."""
    return OrdinalEncoder().fit(_words(X, columns), sample_weight=w)


def categories_of(
    columns: list[int], encoder: OrdinalEncoder, width: Any
) -> tuple[CategoryColumn, ...]:
    """With a vector for what is missing or unknown.

    Args:
        columns: where they are.
        encoder: fitted.
        width: of all vectors, or "auto": 1.6 times the levels to the power 0.56.
    """
    found = []
    for column, words in zip(columns, encoder.categories_, strict=True):
        levels = len(words) + 1
        auto = min(LONGEST, round(1.6 * levels**0.56))
        found.append(
            CategoryColumn(column, levels, auto if width == "auto" else int(width))
        )
    return tuple(found)


def _names(X: Any) -> list[str] | None:
    """Of the columns of a frame; None of an array."""
    if not nw.dependencies.is_into_dataframe(X):
        return None
    return [str(name) for name in nw.from_native(X, eager_only=True).columns]


def _words(X: Any, columns: list[int]) -> Any:
    if _names(X) is None:
        return np.asarray(X, dtype=object)[:, columns]
    frame = nw.from_native(X, eager_only=True)
    return frame[:, columns].to_native()
