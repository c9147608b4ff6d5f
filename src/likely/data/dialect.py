"""How a text table is written: its encoding, its delimiter, its header.

Everything is detected from the first few megabytes and can be overridden. Unusual
guesses are kept as sentences in `notes`.
"""

import codecs
import csv
import io
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from likely.data.cells import is_number
from likely.data.errors import table_error

SAMPLE_BYTES = 1 << 22
"""The length of the text from which the dialect is detected."""
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
DELIMITERS = ",;\t|"
CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1b"))


class Dialect(NamedTuple):
    """How the text of a table is to be read."""

    names: tuple[str, ...]
    """The columns, each name once."""
    header: bool = True
    """Whether the first row holds the names."""
    delimiter: str = ","
    encoding: str = "utf-8"
    compression: str | None = None
    notes: tuple[str, ...] = ()


def open_bytes(path: str | PathLike, compression: str | None) -> pa.NativeFile:
    """The bytes of a file, decompressed."""
    file = pa.OSFile(str(path))
    return file if compression is None else pa.CompressedInputStream(file, compression)


def sniff(
    path: str | PathLike,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Dialect:
    """The dialect of a text table; what is not given is detected.

    Raises:
        TableError: when the file is empty, not text, or not a file.
    """
    notes: list[str] = []
    sample, compression = _sample(path)
    if encoding is None:
        encoding = _encoding(path, sample, notes)
    text = _decode(path, sample, encoding)
    if delimiter is None:
        tabbed = {".tsv", ".tab"} & set(Path(path).suffixes)
        delimiter = "\t" if tabbed else _delimiter(text)
    rows = _rows(text, delimiter)
    first, second = next(rows, None), next(rows, None)
    if first is None:
        raise table_error(path, "holds nothing but blank lines; give a table.")
    if header is None:
        header = not all(is_number(cell) for cell in first)
        if not header:
            notes.append("the first row is all numbers, so there is no header")
    if header and second is None and len(sample) < SAMPLE_BYTES:
        raise table_error(path, "has a header but no rows; give some.")
    cells = first if header else [""] * len(first)
    names = _unique(cells, notes)
    return Dialect(names, header, delimiter, encoding, compression, tuple(notes))


def check_file(path: str | PathLike) -> None:
    """Refuse what is not an ordinary, non-empty file."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:
        raise table_error(path, f"cannot be opened ({error}).") from error
    if stat.S_ISDIR(found.st_mode):
        raise table_error(path, "is a folder; give a file in it.")
    if not stat.S_ISREG(found.st_mode):
        raise table_error(path, "is a device or a pipe; write it to a file first.")
    if not found.st_size:
        raise table_error(path, "is empty; give a table with at least one row.")


def _sample(path: str | PathLike) -> tuple[bytes, str | None]:
    """The first bytes, decompressed, and the compression that their magic names."""
    try:
        with open(path, "rb") as file:
            head = file.read(4)
        kinds = (kind for magic, kind in MAGIC.items() if head.startswith(magic))
        compression = next(kinds, None)
        with open_bytes(path, compression) as file:
            return file.read(SAMPLE_BYTES), compression
    except (OSError, pa.ArrowException) as error:
        raise table_error(path, f"cannot be read ({error}); is it whole?") from error


def _encoding(path: str | PathLike, sample: bytes, notes: list[str]) -> str:
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if sample.startswith(mark):
            return encoding
    if b"\0" in sample:
        line = sample[: sample.index(b"\0")].count(b"\n") + 1
        remedy = "if it is text in UTF-16, pass encoding='utf-16-le' or 'utf-16-be'."
        raise table_error(path, f"holds zero bytes; {remedy}", line=line)
    controls = len(sample) - len(sample.translate(None, CONTROL_BYTES))
    if controls * 200 > len(sample):
        raise table_error(path, "is not text; give CSV, TSV, Parquet or Arrow.")
    for encoding in ("utf-8", "cp1252", "latin-1"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(sample)
        except UnicodeDecodeError:
            continue
        if encoding != "utf-8":
            notes.append(f"the text is not valid UTF-8 and was read as {encoding}")
        return encoding
    raise AssertionError("latin-1 decodes all bytes")


def _decode(path: str | PathLike, sample: bytes, encoding: str) -> str:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except LookupError as error:
        raise table_error(path, f"cannot be read as {encoding!r} ({error}).") from error
    except UnicodeDecodeError as error:
        line = sample[: error.start].count(b"\n") + 1
        problem = f"is not text in {encoding} ({error.reason}); pass another encoding=."
        raise table_error(path, problem, line=line) from error
    return text.removeprefix("\ufeff")


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows of a sample that are not blank, as the csv module reads them."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        yield from (row for row in reader if row)
    except csv.Error:
        return


def _delimiter(text: str) -> str:
    """The delimiter that splits the first rows most evenly, then into most columns."""

    def evenness(delimiter: str) -> tuple[float, int]:
        rows = (row for row, _ in zip(_rows(text, delimiter), range(25), strict=False))
        widths = Counter(len(row) for row in rows)
        width, times = max(widths.items(), key=lambda found: found[1], default=(1, 0))
        return (times / widths.total(), width) if width > 1 else (0.0, 1)

    return max(DELIMITERS, key=evenness)


def _unique(cells: Sequence[str], notes: list[str]) -> tuple[str, ...]:
    """Names without surrounding space; empty and repeated ones are made unique."""
    taken = {cell.strip() for cell in cells}
    given: set[str] = set()
    times: Counter[str] = Counter()
    names: list[str] = []
    for number, cell in enumerate(cells, start=1):
        name = wanted = cell.strip() or f"column_{number}"
        while name in given or (name != cell.strip() and name in taken):
            times[wanted] += 1
            name = f"{wanted}_{times[wanted] + 1}"
        if name != wanted:
            notes.append(f"column {number} is called {wanted!r} like another: {name!r}")
        given.add(name)
        names.append(name)
    return tuple(names)
