"""The table of a run: its columns, target, weights and folds."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from likely import data, evaluate
from likely.core.checks import InputError, check_weights, suggestion
from likely.data import registry
from likely.data.columns import Levels, as_levels, as_numbers, as_timestamps
from likely.data.dataset import column_names
from likely.data.frames import encode_text, to_arrow
from likely.data.new_rows import readings_of, with_readings
from likely.data.readings.text_columns import numbers_in_text
from likely.data.schema import Column, Schema, unknown_column
from likely.data.text_table import TextTable
from likely.diagnostics.checks.leakage import MIN_LEAK_SHARE, explained_share
from likely.preprocess.table_columns import text_columns
from likely.workbench import survival
from likely.workbench.nesting import names_of_groups
from likely.workbench.spec import Spec
from likely.workbench.target import Target, read_survival, read_target

FORMATS = {
    ".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".xlsx", ".xls", ".json",
    ".jsonl", ".ndjson",
}  # fmt: skip
COMPRESSIONS = {".gz", ".bz2", ".zst", ".zip"}
"""Names that end so mean files, also where there is none."""


@dataclasses.dataclass(frozen=True)
class Table:
    """The rows that have a target, and how they are split into folds."""

    name: str
    frame: pa.Table
    """The columns to learn from."""
    schema: Schema
    """The schema of those columns."""
    target: Target
    y: Float[np.ndarray, " n"]
    """Numbers, or codes of classes."""
    w: Float[np.ndarray, " n"]
    """How often each row counts."""
    folds: evaluate.Folds
    split: str
    """How the rows are split into folds, as a sentence."""
    rows: Int[np.ndarray, " n"]
    """The number of each row in the file, from 0."""
    notes: tuple[str, ...] = ()
    groups: Levels | None = None
    """The group of each row, if a column of groups was named."""
    group_name: str = ""
    """The name of that column."""

    def __len__(self) -> int:
        return len(self.y)


class Source(NamedTuple):
    """Rows as they were given."""

    name: str
    frame: pa.Table
    notes: tuple[str, ...]
    """What was guessed about the file, as sentences."""
    readings: Mapping[str, str]
    """How the cells of each column were read."""


def read(
    source: Any, target: str = "", kinds: Mapping[str, str] | None = None
) -> Source:
    """The rows of a frame, a file, the bytes of one, or a named data set.

    A target of yes and no or of ranges is kept as text, as is a column that is to be a
    category although its cells can be read as numbers.

    Args:
        source: where the rows are.
        target: the column to predict; the last one where empty.
        kinds: kinds of columns that are known.
    """
    words = {k for k, kind in (kinds or {}).items() if kind in ("category", "text")}
    is_file = isinstance(source, str | Path | bytes)
    if not is_file or (source in registry.SETS and not Path(str(source)).exists()):
        frame = _bundled(registry.load(str(source))) if is_file else to_arrow(source)
        name = str(source) if is_file else "frame"
        return _typed(name, frame, (), (target, words))
    if not isinstance(source, bytes):
        _check_place(Path(source))
    name = "stdin" if isinstance(source, bytes) else Path(source).name
    file = data.open_table(source)
    found = file.read()
    if not isinstance(file, TextTable):
        return _typed(name, found, tuple(file.notes), (target, words))
    last = target or found.column_names[-1]
    as_text = _as_text(file.readings(), last, words)
    if as_text:
        file = data.open_table(source, readings=dict.fromkeys(as_text, "text"))
        found = file.read()
    return Source(name, found, tuple(file.notes), readings_of(found, file))


def _typed(
    name: str,
    frame: pa.Table,
    notes: tuple[str, ...],
    kept: tuple[str, set[str]],
) -> Source:
    """A frame whose text may hold numbers in a form of their own, such as $1,234."""
    target, words = kept[0] or frame.column_names[-1], kept[1]
    _, readings, _ = numbers_in_text(frame)
    as_text = _as_text(readings, target, words)
    frame, readings, found = numbers_in_text(frame, as_text)
    return Source(name, frame, (*notes, *found), {**readings_of(frame), **readings})


def _as_text(readings: Mapping[str, str], target: str, words: set[str]) -> list[str]:
    """The columns that are to be read as text although they could be something else."""
    found = []
    for name, reading in readings.items():
        is_target = name == target and reading.startswith(("boolean", "range"))
        if is_target or (name in words and reading.startswith(("number ", "range"))):
            found.append(name)
    return found


def _check_place(path: Path) -> None:
    """Refuse what is neither a file nor the name of one."""
    if path.exists() or path.suffix.lower() in FORMATS | COMPRESSIONS:
        return
    raise InputError(
        f"{str(path)!r} is neither a file nor a data set; "
        f"{suggestion(str(path), [*registry.SETS], 'the data sets are')}"
    )


def _bundled(found: Any) -> pa.Table:
    """A data set as a table, its target last."""
    is_table = isinstance(found, data.Dataset) and found.X.ndim == 2
    if not is_table or found.y is None or found.y.ndim != 1:
        raise InputError("this data set is no table with one target; give a file.")
    names = found.names or column_names(found.X.shape[1])
    columns: dict[str, Any] = dict(zip(names, found.X.T, strict=True))
    classes = len(found.target_names) > 1 and found.y.dtype.kind in "iu"
    name = "target" if classes or not found.target_names else found.target_names[0]
    y = np.asarray(found.target_names)[found.y] if classes else found.y
    columns[name if name not in columns else "target"] = y
    return to_arrow(columns)


def prepare(spec: Spec, source: Source) -> Table:
    """Separate target and weights, drop rows without a target, and make folds."""
    name, frame, notes, readings = source
    frame = encode_text(frame)
    names = tuple(frame.column_names)
    target_name = spec.target or "".join(names[-1:])
    special = [target_name, *filter(None, (spec.weight, spec.groups, spec.event))]
    for known in (*special, *spec.drop, *filter(None, (spec.time,)), *spec.kinds):
        if known not in names:
            raise InputError(unknown_column(known, names))
    if target_name in spec.drop:
        raise InputError(f"the target {target_name!r} is among the columns to drop.")
    target, y, rows, said = _target(spec, frame, target_name)
    notes = (*notes, *said)
    w = _weights(spec, frame, rows)
    keep = w > 0
    rows, y, w = rows[keep], y[keep], w[keep]
    minimum = max(2 * spec.folds, 10)
    if len(rows) < minimum:
        raise InputError(
            f"{len(rows)} rows have a target; {spec.folds} folds need at least {minimum}: "
            "use fewer folds, or more rows."
        )
    groups = None
    if spec.groups:
        levels = as_levels(frame[spec.groups], spec.groups)
        groups = levels._replace(codes=levels.codes[rows])
    left = [name for name in names if name not in {*special, *spec.drop}]
    if not left:
        raise InputError("there is no column to learn from beside the target.")
    frame = frame.select(left)
    if len(rows) < len(frame):
        frame = frame.take(pa.array(rows))
    schema = with_readings(_schema(spec, frame), frame, readings)
    some = any(column.used for column in schema)
    if not some and not text_columns(schema, frame.schema):
        why = "; ".join(f"{c.name!r} ({c.kind}): {c.reason}" for c in schema)
        raise InputError(f"no column can be used: {why}.")
    codes = None if groups is None else groups.codes
    own = _names_of_groups(spec, frame, schema, codes)
    frame, schema = frame.drop_columns(own), schema.drop(*own)
    notes = (*notes, *(_left_out(name, spec.groups) for name in own))
    if spec.event and not spec.family:
        family = survival.chosen_family(frame, schema, y)
        target = dataclasses.replace(target, family=family)
    folds, split = _folds(spec, (frame, schema), target, y, w, groups=codes)
    return Table(
        name, frame, schema, target, y, w, folds, split, rows, notes, groups,
        spec.groups,
    )  # fmt: skip


def prose(table: Table) -> tuple[str, ...]:
    """The columns of text whose words are used."""
    return text_columns(table.schema, table.frame.schema)


def _names_of_groups(
    spec: Spec, frame: pa.Table, schema: Schema, groups: np.ndarray | None
) -> list[str]:
    """Columns that name groups or parts of them, unless there are no others."""
    if groups is None:
        return []
    found = names_of_groups(frame, schema, groups)
    found = [name for name in found if name not in spec.kinds]
    return found if any(column.used for column in schema.drop(*found)) else []


def _left_out(name: str, groups: str) -> str:
    return (
        f"Column {name!r} is left out: each of its values belongs to one {groups!r}, so "
        "that new groups have other values."
    )


def _target(spec: Spec, frame: pa.Table, name: str) -> tuple:
    """The target, its values, the rows that have one, and sentences about it."""
    if spec.event:
        if spec.event == name:
            raise InputError(f"{name!r} cannot be both the time and the event.")
        pair = frame[name], frame[spec.event]
        return read_survival(name, spec.event, pair, spec.family)
    column = _schema(spec, frame.select([name]))[name]
    return *read_target(column, frame[name], spec.family), ()


def _schema(spec: Spec, frame: pa.Table) -> Schema:
    names = set(frame.column_names)
    kinds = {name: kind for name, kind in spec.kinds.items() if name in names}
    return Schema.infer(frame, kinds=kinds)


def _weights(spec: Spec, frame: pa.Table, rows: np.ndarray) -> np.ndarray:
    if not spec.weight:
        return np.ones(len(rows))
    w = as_numbers(frame[spec.weight], spec.weight)[rows]
    if np.isnan(w).any():
        raise InputError(f"the weight {spec.weight!r} is missing in some rows.")
    return check_weights(w, len(rows))


def _folds(spec, columns, target, y, w, *, groups) -> tuple[evaluate.Folds, str]:
    """Folds by time, by group, stratified by class, or at random; and a description."""
    frame, schema = columns
    k = spec.folds
    column = spec.time or _time_column(frame, schema)
    if column:
        times = as_timestamps(frame[column], column)
        if np.isnat(times).any():
            raise InputError(f"the time {column!r} is missing in some rows.")
        how = f"by time: by column {column!r}, so that the past predicts the future"
        if not spec.time:
            how += " (rows are in its order)"
        return evaluate.time_folds(times.astype(np.int64), k, sample_weight=w), how
    options = {"sample_weight": w, "random_state": spec.seed}
    if groups is not None:
        how = f"by group: rows of the same {spec.groups!r} stay together"
        return evaluate.grouped_k_fold(groups, k, **options), how
    if target.is_class and np.bincount(y.astype(int)).min() >= 2:
        how = "at random, with the same share of each class"
        return evaluate.stratified_k_fold(y, k, **options), how
    return evaluate.k_fold(len(y), k, **options), "at random"


def _time_column(frame: pa.Table, schema: Schema) -> str:
    """The only date column, if the rows are in its order; else nothing."""
    dates = [c for c in schema if c.kind == "date" and c.used]
    if len(dates) != 1 or dates[0].missing:
        return ""
    times = as_timestamps(frame[dates[0].name], dates[0].name).astype(np.int64)
    ordered = bool((np.diff(times) >= 0).all() or (np.diff(times) <= 0).all())
    several = len(np.unique(times)) > max(20, len(times) // 20)
    return dates[0].name if ordered and several else ""


def leaks(table: Table) -> dict[str, float]:
    """Columns that alone explain almost all of the target, and the share explained.

    Each column predicts one half of the rows from the other, a category by the mean
    target of its rows, a number by its nearest neighbours. The share is that of the
    variance, or of the errors of always predicting the commonest class.
    """
    half = evaluate.random_folds(len(table), 2, 0) == 0
    columns = [column for column in table.schema if column.used and len(table) >= 40]
    shares = {c.name: _explained(_values(table.frame, c), table, half) for c in columns}
    return {name: share for name, share in shares.items() if share > MIN_LEAK_SHARE}


def _values(frame: pa.Table, column: Column) -> np.ndarray:
    """The values of a column: codes of categories (integers), or numbers."""
    values = frame[column.name]
    if column.kind in ("category", "code"):
        return as_levels(values, column.name).codes + 1
    if column.kind == "date":
        return as_timestamps(values, column.name).astype(np.int64).astype(float)
    numbers = as_numbers(values, column.name)
    return np.where(np.isnan(numbers), np.nanmean(numbers), numbers)


def _explained(x: np.ndarray, table: Table, half: np.ndarray) -> float:
    """The share of the target in the other half that a column explains."""
    y = np.abs(table.y) if table.target.kind == "survival" else table.y
    classes = len(table.target.classes)
    return explained_share(x, y, half, classes, is_code=x.dtype.kind == "i")
