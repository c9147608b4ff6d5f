"""Levels that are nested in others: each country lies in one continent."""

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from likely.data.columns import as_levels
from likely.data.schema import Schema
from likely.preprocess.table_columns import TableColumns

MIN_NESTED_SHARE, MAX_ROWS = 0.99, 20_000
"""The share of rows that shows that levels are nested, of at most so many rows."""


def coarser_columns(codes: Int[np.ndarray, "n d"]) -> tuple[tuple[int, ...], ...]:
    """For each column, those with at most half as many levels that it determines."""
    codes = codes[:: -(-len(codes) // MAX_ROWS)]
    sizes = [len(np.unique(column)) for column in codes.T]
    return tuple(
        tuple(
            p
            for p in range(len(sizes))
            if 2 * sizes[p] <= sizes[j] and is_nested(codes[:, j], codes[:, p])
        )
        for j in range(len(sizes))
    )


def names_of_groups(
    frame: pa.Table, schema: Schema, groups: Int[np.ndarray, " n"]
) -> list[str]:
    """The columns of categories whose levels belong to one group each.

    They are other names of the groups, or of parts of them: rows of new groups have other
    levels, so that nothing that is learned about these helps there.
    """
    names = TableColumns.of(schema).categories
    return [n for n in names if is_nested(as_levels(frame[n], n).codes, groups)]


def is_nested(fine: Int[np.ndarray, " n"], coarse: Int[np.ndarray, " n"]) -> bool:
    """Whether rows with the same fine level have the same coarse level."""
    named = fine >= 0
    if not named.any():
        return False
    fine, coarse = fine[named].astype(np.int64), coarse[named].astype(np.int64)
    coarse = coarse - coarse.min()
    pairs, count = np.unique(fine * (coarse.max() + 1) + coarse, return_counts=True)
    level = pairs // (coarse.max() + 1)
    largest = np.zeros(level.max() + 1, int)
    np.maximum.at(largest, level, count)
    levels = (largest > 0).sum()
    repeated, agree = len(fine) - levels, largest.sum() - levels
    return bool(repeated > 0 and agree >= MIN_NESTED_SHARE * repeated)
