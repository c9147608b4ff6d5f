"""Entities that have several rows each: people, firms, patients.

Rows of one entity resemble each other. If folds separate them at random, a model is tested
on entities that it knows, and its errors look smaller than they are for new ones.
"""

import shlex
from typing import NamedTuple

import numpy as np

from likely.data.columns import as_levels, as_numbers, as_timestamps, is_nested
from likely.data.entity_names import ENTITY, MEASURED, TIME
from likely.data.schema import Column
from likely.diagnostics.checks.dependence import constant_within
from likely.workbench.table import Table

MIN_ENTITIES, MIN_ROWS_PER_ENTITY = 8, 1.5
MIN_CONSTANT_COLUMNS = 2
"""A column without a telling name is a key if so many others are constant within it."""
MAX_KEYS = 20
"""The largest number of columns that are tried."""


class Entities(NamedTuple):
    """A column that names entities, and what is the same in all rows of one."""

    column: str
    count: int
    """How many entities there are."""
    rows: float
    """The mean number of rows of an entity."""
    constant: tuple[str, ...]
    """Columns that have one value for each entity."""

    @property
    def sentence(self) -> str:
        """What it means for the result, and what to do."""
        same = ""
        if self.constant:
            some = ", ".join(repr(name) for name in self.constant[:3])
            same = (
                f" ({some} never {'change' if len(self.constant) > 1 else 'changes'})"
            )
        return (
            f"{self.column!r} names {self.count:,} entities with about {self.rows:.3g} rows "
            f"each{same}; folds at random test on entities that the model has seen. For "
            f"errors on new ones use --groups {shlex.quote(self.column)}."
        )


def entities(table: Table) -> Entities | None:
    """The column that names entities with several rows each; None if there is none.

    Columns with a telling name, or with one row at each time, come first, then the one
    within which the most other columns are constant.
    """
    if table.group_name or table.split.startswith("by"):
        return None
    codes = {c.name: codes_of(table, c) for c in table.schema if not c.constant}
    known = {name: code for name, code in codes.items() if code is not None}
    keys = [c.name for c in table.schema if _may_be_key(c, known.get(c.name))][
        :MAX_KEYS
    ]
    found = []
    for key in keys:
        same = constant_within(known[key], {k: v for k, v in known.items() if k != key})
        telling = ENTITY.search(key) is not None or _is_panel(key, known)
        if telling or len(same) >= MIN_CONSTANT_COLUMNS:
            count = int(known[key].max()) + 1
            present = int((known[key] >= 0).sum())
            found.append((telling, Entities(key, count, present / count, tuple(same))))
    best = max(
        found, key=lambda e: (e[0], len(e[1].constant), e[1].count), default=None
    )
    return None if best is None else best[1]


def codes_of(table: Table, column: Column) -> np.ndarray | None:
    """The index of each row's value among those of a column, −1 where it is missing."""
    values = table.frame[column.name]
    if is_nested(values.type):
        return None
    if column.kind == "date":
        found = as_timestamps(values, column.name).astype(np.int64)
        found = np.where(found < 0, -1, found)
    elif column.kind in ("category", "code", "text"):
        found = as_levels(values, column.name).codes
    else:
        found = as_numbers(values, column.name)
    present = found >= 0 if found.dtype.kind == "i" else ~np.isnan(found)
    codes = np.full(len(found), -1)
    codes[present] = np.unique(found[present], return_inverse=True)[1]
    return codes


def _is_panel(key: str, codes: dict[str, np.ndarray]) -> bool:
    """Whether each entity has one row at each time, so that the two name a row."""
    times = [name for name in codes if TIME.search(name) and name != key]
    entity = codes[key]
    for name in times:
        time = codes[name]
        pairs = entity * (time.max() + 2) + time
        several = time.max() > 0 and (entity >= 0).all() and (time >= 0).all()
        if several and len(np.unique(pairs)) == len(pairs):
            return True
    return False


def _may_be_key(column: Column, codes: np.ndarray | None) -> bool:
    """Whether values repeat as names of entities do."""
    if codes is None or not len(codes) or codes.max() + 1 < MIN_ENTITIES:
        return False
    if (codes >= 0).sum() < MIN_ROWS_PER_ENTITY * (codes.max() + 1):
        return False
    if ENTITY.search(column.name):
        return column.kind != "boolean" and column.reason != "numbers with fractions"
    is_name = column.kind in ("category", "code", "text") or column.identifier
    return is_name and not MEASURED.search(column.name)
