"""The cells of a text table, in chunks: Arrow splits the text and reports errors.

Every column arrives as text. That is as fast as letting Arrow guess the types (which it
fixes after the first block of a stream), and leaves the reading of the cells to
`likely.data.cells`.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pacsv

from likely.data.dialect import Dialect
from likely.data.errors import TableError, table_error
from likely.data.formats.content import Content

BLOCK_BYTES = 1 << 23
"""Bytes of text in a chunk; a row may not be longer."""
MAX_ROWS_SEARCHED = 2_000_000
"""The largest number of rows that are searched for the line of an error."""


class TextCells(NamedTuple):
    """The content of a text table, its dialect, and how its cells are read."""

    content: Content
    dialect: Dialect
    missing: Sequence[str]
    """Cells that stand for a missing value."""
    ragged: str = "error"
    """What is done with rows of another length: "error" or "skip"."""

    @property
    def path(self) -> str | PathLike:
        """The file, as errors call it."""
        return self.content.path

    def chunks(
        self, columns: Sequence[str] | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Chunks of text cells, each with the number of rows before it.

        Raises:
            TableError: names the line, and the column where there is one.
        """
        rows, last = 0, None
        try:
            with self.content.open() as file:
                for cells in self._open(file, columns, threads=True):
                    if len(cells):
                        yield rows, cells
                        rows, last = rows + len(cells), cells
        except (OSError, UnicodeError, pa.ArrowException) as error:
            raise self._located(error) from error
        if not rows:
            raise table_error(self.path, "has a header but no rows; give some.")
        if last is not None and columns is None:
            self._check_quotes(last, rows)

    def line(self, row: int) -> int | None:
        """The line on which a row begins; the first row after the title is 1."""
        encoding, skip = self.dialect.encoding, self.dialect.skip
        with self.content.open() as file:
            text = io.TextIOWrapper(file, encoding, errors="replace", newline="")
            reader = csv.reader(text, delimiter=self.dialect.delimiter)
            line = skip + 1
            try:
                for _ in range(skip):
                    text.readline()
                while 0 < row <= MAX_ROWS_SEARCHED:
                    line = skip + reader.line_num + 1
                    row -= bool(next(reader))
            except (csv.Error, StopIteration, OSError, UnicodeError):
                return None
        return line if not row else None

    def _open(self, file, columns: Sequence[str] | None, *, threads: bool):
        names = self.dialect.names
        return pacsv.open_csv(
            file,
            read_options=pacsv.ReadOptions(
                use_threads=threads,
                block_size=BLOCK_BYTES,
                skip_rows=self.dialect.skip,
                column_names=list(names),
                skip_rows_after_names=int(self.dialect.header),
                encoding=self.dialect.encoding,
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=self.dialect.delimiter,
                newlines_in_values=True,
                invalid_row_handler=_left_out if self.ragged == "skip" else None,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=columns,
                null_values=list(self.missing),
                strings_can_be_null=True,
            ),
        )

    def _located(self, error: Exception) -> TableError:
        """The error as a sentence; in one thread Arrow also counts the rows."""
        try:
            with self.content.open() as file:
                for _ in self._open(file, None, threads=False):
                    pass
        except (OSError, UnicodeError, pa.ArrowException) as again:
            error = again
        message = str(error)
        row = re.search(r"Row #(\d+)", message)
        column = re.search(r"In CSV column #(\d+)", message)
        return table_error(
            self.path,
            _sentence(message),
            line=self.line(int(row[1]) - self.dialect.skip) if row else None,
            column=self.dialect.names[int(column[1])] if column else None,
        )

    def _check_quotes(self, last: pa.RecordBatch, rows: int) -> None:
        """Refuse a last cell whose quote is never closed."""
        cell = last.column(last.num_columns - 1)[-1].as_py() or ""
        if "\n" not in cell or self.content.compression or self.content.memory:
            return
        with Path(self.path).open("rb") as file:
            file.seek(max(0, Path(self.path).stat().st_size - 64))
            tail = file.read().rstrip(b"\r\n\0 ")
        if not tail.endswith(b'"'):
            line = self.line(rows + self.dialect.header)
            problem = f"the quote before {cell[:30]!r} is never closed; close it."
            raise table_error(self.path, problem, line=line)


def _left_out(row: Any) -> str:
    """Arrow's word for leaving a row out."""
    return "skip"


def _sentence(message: str) -> str:
    """Arrow's error message as a sentence that says what to do."""
    width = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if width:
        return (
            f"has {width[2]} cells where the first row has {width[1]}; correct it, or "
            "pass ragged='skip' to leave such rows out."
        )
    if "invalid UTF8" in message:
        return "is not valid UTF-8; pass encoding='cp1252' or the encoding it has."
    if "straddles two block" in message:
        size = f"{BLOCK_BYTES >> 20} MB"
        return f"has a row of more than {size}; is a quote opened and not closed?"
    return f"cannot be read as a table ({message.partition(chr(10))[0][:200]})."
