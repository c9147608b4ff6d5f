"""Tables on disk: text, Parquet, Arrow, Excel and JSON, whole or in chunks.

The format is recognised by the first bytes, not by the name. Parquet and Arrow files
are mapped into memory, so that what is not used costs nothing. A sheet of Excel and JSON
records become text, which is read as that of any other file.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.parquet as pq

from likely.data.cells import MISSING
from likely.data.dialect import sniff
from likely.data.errors import TableError, check_expansion, table_error
from likely.data.formats.archive import unpacked
from likely.data.formats.content import Content, content_of
from likely.data.formats.excel import EXCEL, sheet_as_text
from likely.data.formats.json_records import is_json, records_as_text
from likely.data.text_table import TextTable

CHUNK_ROWS = 1 << 16
"""The number of rows of a Parquet chunk."""
SNIFFED_BYTES = 4096
"""The bytes that tell the format."""
MIN_CELL_BYTES = 4
"""The fewest bytes that a cell takes once it is read."""


@runtime_checkable
class TableFile(Protocol):
    """A table on disk: iterate over its chunks, as often as you like."""

    path: str | PathLike

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed about the file, as sentences."""
        ...

    def __iter__(self) -> Iterator[pa.Table]:
        """Iterate over the chunks, of which only a few are in memory at a time."""
        ...

    def read(self) -> pa.Table:
        """Read all rows."""
        ...


def read_table(path: str | PathLike | bytes, **options: Any) -> pa.Table:
    """A table from a file, as an Arrow table.

    Args:
        path: CSV, TSV, Parquet, Arrow, Feather, Excel or JSON records, compressed or not.
        **options: those of `open_table`.

    Raises:
        TableError: names the file, and the line and column where there is one.

    Example:
        ```python
        from likely import data

        table = data.read_table("houses.csv")
        data.Schema.infer(table)
        ```

    Examples:
        >>> from pathlib import Path
        >>> rows = ("size,price", "80,200", "120,310")
        >>> n = Path("houses.csv").write_text(chr(10).join(rows))
        >>> lk.data.read_table("houses.csv").column_names
        ['size', 'price']
    """
    return open_table(path, **options).read()


def open_table(
    path: str | PathLike | bytes,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    readings: Mapping[str, str] | None = None,
    missing: Sequence[str] = MISSING,
    ragged: str = "error",
    names: Sequence[str] = (),
) -> TableFile:
    """A table on disk, for files larger than memory.

    Args:
        path: CSV, TSV, Parquet, Arrow, Feather, Excel (with `likely[excel]`) or JSON
            records, one a line or in a list; gzip, bz2, zstd or a zip file of one of
            them; or its bytes.
        encoding: of text; detected where None.
        delimiter: of text; detected where None.
        header: whether the first row of text holds names; detected where None.
        readings: how columns of text are read, such as `{"zip": "text"}`.
        missing: cells of text that stand for a missing value.
        ragged: "error" or "skip", for rows of text with too few or too many cells.
        names: columns of text that the table is known to have, by which the header is
            found.
    """
    content, notes = unpacked(content_of(path))
    head = content.head(SNIFFED_BYTES)
    if head.startswith(b"PAR1"):
        return ParquetTable(content)
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return ArrowTable(content)
    if head.startswith(EXCEL):
        content, more = sheet_as_text(content)
        notes, encoding, delimiter = (*notes, *more), "utf-8", ","
    elif is_json(head):
        content, header = records_as_text(content), True
        encoding, delimiter = "utf-8", ","
    dialect = sniff(
        content, encoding=encoding, delimiter=delimiter, header=header, names=names
    )
    dialect = dialect._replace(notes=(*notes, *dialect.notes))
    return TextTable(
        content, dialect, readings=readings, missing=missing, ragged=ragged
    )


def _source(content: Content) -> pa.NativeFile:
    """The file, mapped into memory, or what is in memory already or is decompressed."""
    if content.memory is None and content.compression is None:
        return pa.memory_map(str(content.path))
    return pa.BufferReader(content.whole())


class ParquetTable:
    """A Parquet file: a `TableFile`."""

    notes = ()

    def __init__(self, content: Content):
        self.content, self.path = content, content.path
        path = self.path
        with _sentences(path), self._open() as file:
            self.names = _checked_names(path, file.schema_arrow.names)
            if not file.metadata.num_rows:
                raise table_error(path, "has no rows; give some.")

    def __iter__(self) -> Iterator[pa.Table]:
        """Iterate over chunks of some ten thousand rows."""
        with _sentences(self.path), self._open() as file:
            for batch in file.iter_batches(CHUNK_ROWS, use_threads=False):
                yield _validated(pa.Table.from_batches([batch]))

    def read(self) -> pa.Table:
        """Read all rows."""
        with _sentences(self.path), self._open() as file:
            rows = file.metadata.num_rows
            size = rows * len(self.names) * MIN_CELL_BYTES
            check_expansion(self.path, size, self.content.stored)
            return _validated(file.read())

    def _open(self) -> pq.ParquetFile:
        content = self.content
        if content.memory is None and content.compression is None:
            return pq.ParquetFile(str(self.path), memory_map=True)
        return pq.ParquetFile(_source(content))


class ArrowTable:
    """An Arrow (Feather) file or stream: a `TableFile`."""

    notes = ()

    def __init__(self, content: Content):
        self.content, self.path = content, content.path
        path = self.path
        with _sentences(path), _source(content) as file:
            self.names = _checked_names(path, _reader(file).schema.names)

    def __iter__(self) -> Iterator[pa.Table]:
        """Iterate over the record batches of the file, mapped into memory."""
        with _sentences(self.path), _source(self.content) as file:
            for batch in _batches(_reader(file)):
                yield _validated(pa.Table.from_batches([batch]))

    def read(self) -> pa.Table:
        """Read all rows, mapped into memory."""
        chunks = list(self)
        if not sum(len(chunk) for chunk in chunks):
            raise table_error(self.path, "has no rows; give some.")
        return pa.concat_tables(chunks)


def _reader(file: pa.NativeFile):
    magic = file.read(6)
    file.seek(0)
    return pa.ipc.open_file(file) if magic == b"ARROW1" else pa.ipc.open_stream(file)


def _batches(reader) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.RecordBatchFileReader):
        return (reader.get_batch(i) for i in range(reader.num_record_batches))
    return iter(reader)


def _checked_names(path: str | PathLike, names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        raise table_error(path, "has no columns; give a table.")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise table_error(path, "appears more than once; rename it.", column=twice[0])
    return tuple(names)


def _validated(table: pa.Table) -> pa.Table:
    """The table, after a check of every offset in it: a file may be damaged."""
    table.validate(full=True)
    return table


@contextlib.contextmanager
def _sentences(path: str | PathLike) -> Iterator[None]:
    """Turn what Arrow raises about a file into a `TableError`."""
    try:
        yield
    except TableError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError, KeyError) as error:
        reason = str(error).partition("\n")[0][:200]
        problem = f"is damaged or holds what cannot be read ({reason})."
        raise table_error(path, problem) from error
