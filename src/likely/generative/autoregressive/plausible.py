"""The most plausible values of missing cells: means of numbers, most frequent levels."""

from typing import Any

import numpy as np

from likely.base.training.unsupervised import Cells
from likely.generative.autoregressive.tables import MaskedTables
from likely.preprocess import TableCodec

DRAWS = 64
"""Draws of each missing cell."""


def plausible(
    tables: MaskedTables, codec: TableCodec, cells: Cells, random_state: Any
) -> np.ndarray:
    """(n, q) codes, with missing cells at their mean or their most frequent level.

    Args:
        tables: the networks.
        codec: of the table.
        cells: rows.
        random_state: seed of the draws.
    """
    found = np.array(cells.values)
    rows = np.flatnonzero(cells.missing.any(1))
    part = Cells(*(np.asarray(a)[rows] for a in cells))
    drawn = tables.draw(part, random_state, draws=DRAWS)
    for j, column in enumerate(codec.columns):
        values = drawn[:, :, j]
        if column.kind == "category":
            levels = np.arange(column.n_levels)[:, None, None]
            best = (values[None] == levels).sum(1).argmax(0).astype(float)
        else:
            best = values.mean(0)
        found[rows, j] = np.where(part.missing[:, j], best, found[rows, j])
    return codec.project(found)
