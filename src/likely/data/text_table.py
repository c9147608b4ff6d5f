"""CSV and TSV as typed columns, whole or in chunks."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike

import pyarrow as pa

from likely.data.cells import (
    MISSING,
    READINGS,
    Misfit,
    choose,
    convert,
    first_misfit,
    narrow,
)
from likely.data.dialect import Dialect
from likely.data.errors import check_expansion, table_error
from likely.data.text_cells import TextCells


class TextTable:
    """A text table on disk, which can be read repeatedly: a `TableFile`.

    Args:
        path: the file.
        dialect: how it is written.
        readings: how named columns are to be read, of `cells.READINGS`.
        missing: cells that stand for a missing value.
        ragged: "error" or "skip", for rows with too few or too many cells.
    """

    def __init__(
        self,
        path: str | PathLike,
        dialect: Dialect,
        *,
        readings: Mapping[str, str] | None = None,
        missing: Sequence[str] = MISSING,
        ragged: str = "error",
    ):
        if ragged not in {"error", "skip"}:
            raise table_error(path, f"ragged is {ragged!r}; give 'error' or 'skip'.")
        self.path, self.dialect = path, dialect
        self.names, self.notes = dialect.names, dialect.notes
        self.cells = TextCells(path, dialect, missing, ragged)
        self.given = dict(readings or {})
        self._check_given()
        self._readings: dict[str, str] | None = None

    def readings(self) -> dict[str, str]:
        """The reading of each column, by all of its cells: one pass over the file."""
        if self._readings is None:
            fitting = self._all_readings()
            for _, cells in self.cells.chunks():
                _narrow(fitting, cells, {})
            self._readings = _chosen(fitting)
        return self._readings

    def __iter__(self) -> Iterator[pa.Table]:
        """Iterate over chunks of typed columns, of which only a few are in memory."""
        readings = self.readings()
        for rows, cells in self.cells.chunks():
            yield self._convert(cells, readings, rows)

    def read(self) -> pa.Table:
        """Read all rows; columns whose reading changed on the way are read a second time."""
        fitting = self._all_readings()
        before: list[dict[str, str]] = []
        chunks: list[pa.Table] = []
        size = 0
        for rows, cells in self.cells.chunks():
            size += cells.nbytes
            check_expansion(self.path, size)
            values: dict[str, dict[str, pa.Array]] = {}
            _narrow(fitting, cells, values)
            before.append(_chosen(fitting))
            chunks.append(self._convert(cells, before[-1], rows, values))
        final = self._readings = _chosen(fitting)
        changed = [name for name in final if {b[name] for b in before} != {final[name]}]
        if changed:
            for i, (rows, cells) in enumerate(self.cells.chunks(changed)):
                corrected = self._convert(cells, final, rows)
                chunks[i] = _replaced(chunks[i], corrected)
        return pa.concat_tables(chunks)

    def _check_given(self) -> None:
        for name, reading in self.given.items():
            if name not in self.names:
                problem = f"has no such column; there are {', '.join(self.names)}."
                raise table_error(self.path, problem, column=name)
            if reading not in READINGS:
                known = ", ".join(READINGS)
                problem = f"cannot be read as {reading!r}, only as {known}."
                raise table_error(self.path, problem, column=name)

    def _all_readings(self) -> dict[str, list[str]]:
        """All readings for each column, or the one that the user gave."""
        comma = self.dialect.delimiter == ";"
        every = [name for name in READINGS if comma or name != "number 1,5"]
        return {
            name: [self.given[name]] if name in self.given else every
            for name in self.names
        }

    def _convert(
        self,
        cells: pa.RecordBatch,
        readings: Mapping[str, str],
        rows: int,
        values: Mapping[str, dict[str, pa.Array]] | None = None,
    ) -> pa.Table:
        """Typed columns; `values` are those that were converted already."""
        columns = {}
        for name, text in zip(cells.schema.names, cells.columns, strict=True):
            found = (values or {}).get(name, {}).get(readings[name])
            if found is None:
                found = self._column(name, text, readings[name], rows)
            columns[name] = found
        return pa.table(columns)

    def _column(self, name: str, cells: pa.Array, reading: str, rows: int) -> pa.Array:
        try:
            return convert(cells, reading)
        except Misfit:
            index = first_misfit(cells, reading)
            shown = str(cells[index])[:40]
            problem = f"{shown!r} is no {reading}; correct it, or read it as text."
            skips = self.cells.ragged == "skip"
            row = rows + index + self.dialect.header + 1
            line = None if skips else self.cells.line(row)
            raise table_error(self.path, problem, line=line, column=name) from None


def _narrow(
    fitting: dict[str, list[str]],
    cells: pa.RecordBatch,
    values: dict[str, dict[str, pa.Array]],
) -> None:
    for name, text in zip(cells.schema.names, cells.columns, strict=True):
        if len(fitting[name]) > 1:
            values[name] = {}
            fitting[name] = narrow(text, fitting[name], values[name])


def _chosen(fitting: Mapping[str, list[str]]) -> dict[str, str]:
    return {name: choose(left) for name, left in fitting.items()}


def _replaced(chunk: pa.Table, corrected: pa.Table) -> pa.Table:
    """The chunk with some of its columns replaced."""
    return pa.table(
        {
            name: (corrected if name in corrected.column_names else chunk)[name]
            for name in chunk.column_names
        }
    )
