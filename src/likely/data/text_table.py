"""CSV and TSV as typed columns, whole or in chunks."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike

import pyarrow as pa

from likely.data.cells import (
    MISSING,
    READINGS,
    choose,
    convert,
    first_misfit,
    is_ambiguous_date,
    is_reading,
    narrow,
)
from likely.data.dialect import Dialect
from likely.data.errors import Misfit, check_expansion, table_error
from likely.data.formats.content import Content
from likely.data.readings.evidence import (
    Evidence,
    Finding,
    conclude,
    decimal_sign,
    regrouped,
)
from likely.data.text_cells import TextCells


class TextTable:
    """A text table on disk, which can be read repeatedly: a `TableFile`.

    Args:
        content: its bytes.
        dialect: how it is written.
        readings: how named columns are to be read, of `cells.READINGS`.
        missing: cells that stand for a missing value.
        ragged: "error" or "skip", for rows with too few or too many cells.
    """

    def __init__(
        self,
        content: Content,
        dialect: Dialect,
        *,
        readings: Mapping[str, str] | None = None,
        missing: Sequence[str] = MISSING,
        ragged: str = "error",
    ):
        if ragged not in {"error", "skip"}:
            problem = f"ragged is {ragged!r}; give 'error' or 'skip'."
            raise table_error(content.path, problem)
        self.path: str | PathLike = content.path
        self.dialect, self.names = dialect, dialect.names
        self.cells = TextCells(content, dialect, missing, ragged)
        self.given = dict(readings or {})
        self._check_given()
        self._columns: Columns | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed about the file, and about its columns once they are read."""
        found = () if self._columns is None else self._columns.notes()
        return (*self.dialect.notes, *found)

    def readings(self) -> dict[str, str]:
        """The reading of each column, by all of its cells: one pass over the file."""
        if self._columns is None:
            columns = self._all_readings()
            for _, cells in self.cells.chunks():
                columns.narrow(cells, {})
            self._columns = columns
        return self._columns.readings()

    def __iter__(self) -> Iterator[pa.Table]:
        """Iterate over chunks of typed columns, of which only a few are in memory."""
        readings = self.readings()
        for rows, cells in self.cells.chunks():
            yield self._convert(cells, readings, rows)

    def read(self) -> pa.Table:
        """Read all rows; columns whose reading changed on the way are read a second time."""
        columns = self._all_readings()
        before: list[dict[str, str]] = []
        chunks: list[pa.Table] = []
        size = 0
        for rows, cells in self.cells.chunks():
            size += cells.nbytes
            check_expansion(self.path, size, self.cells.content.stored)
            values: dict[str, dict[str, pa.Array]] = {}
            columns.narrow(cells, values)
            before.append(columns.readings())
            chunks.append(self._convert(cells, before[-1], rows, values))
        self._columns, final = columns, columns.readings()
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
            if not is_reading(reading):
                known = ", ".join(READINGS)
                problem = f"cannot be read as {reading!r}, only as {known}."
                raise table_error(self.path, problem, column=name)

    def _all_readings(self) -> "Columns":
        """All readings for each column, or the one that the user gave."""
        every = [name for name in READINGS if name != "number 1,5"]
        given = {
            name: [self.given[name]] if name in self.given else every
            for name in self.names
        }
        return Columns(given, self.dialect.delimiter == ";")

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


class Columns:
    """The readings that fit the cells of each column so far.

    Args:
        fitting: all readings of each column.
        comma: whether semicolons separate the columns, so that 1,234 has decimals.
    """

    def __init__(self, fitting: Mapping[str, list[str]], comma: bool):
        self.fitting, self.comma = dict(fitting), comma
        self.evidence = {
            name: Evidence() for name, left in fitting.items() if len(left) > 1
        }

    def narrow(
        self, cells: pa.RecordBatch, values: dict[str, dict[str, pa.Array]]
    ) -> None:
        """Look at a chunk; `values` receives those that were converted on the way."""
        for name, text in zip(cells.schema.names, cells.columns, strict=True):
            if name not in self.evidence:
                continue
            found = values[name] = {}
            left = self.fitting[name] = narrow(text, self.fitting[name], found)
            if text.null_count == len(text):
                continue
            if "integer" in found or "number" in found:
                self.evidence[name].add_numbers(text, whole="integer" in found)
            elif left == ["text"] or is_ambiguous_date(left):
                self.evidence[name].add(text)
            else:
                self.evidence[name].is_text = True

    def findings(self) -> dict[str, Finding]:
        """How the columns are read whose numbers are written in a form of their own."""
        sign = decimal_sign(self.evidence)
        found = {}
        for name, evidence in self.evidence.items():
            reading = choose(self.fitting[name])
            if reading == "text":
                found[name] = conclude(evidence, sign, self.comma)
            elif reading == "number":
                found[name] = regrouped(evidence, sign)
        return {k: v for k, v in found.items() if v != Finding()}

    def readings(self) -> dict[str, str]:
        """The reading of each column."""
        chosen = {name: choose(left) for name, left in self.fitting.items()}
        return {**chosen, **{k: v.reading for k, v in self.findings().items()}}

    def notes(self) -> tuple[str, ...]:
        """Sentences about what was guessed."""
        notes = [finding.note(name) for name, finding in self.findings().items()]
        notes += [
            f"column {name!r} holds dates whose day and month cannot be told apart, so it "
            "is kept as text"
            for name, left in self.fitting.items()
            if is_ambiguous_date(left)
        ]
        return tuple(filter(None, notes))


def _replaced(chunk: pa.Table, corrected: pa.Table) -> pa.Table:
    """The chunk with some of its columns replaced."""
    return pa.table(
        {
            name: (corrected if name in corrected.column_names else chunk)[name]
            for name in chunk.column_names
        }
    )
