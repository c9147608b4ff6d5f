"""How a text table is written: its encoding, its delimiter, its title, its header.

Everything is detected from the first few megabytes and can be overridden. Unusual
guesses are kept as sentences in `notes`.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from likely.data.cells import is_number
from likely.data.errors import table_error
from likely.data.formats.content import Content

SAMPLE_BYTES = 1 << 22
"""The length of the text from which the dialect is detected."""
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
DELIMITERS = ",;\t|"
SEPARATOR_LINE = re.compile(r"\"?sep=(.)\"?\s*$", re.I)
"""A first line by which Excel is told the delimiter."""
MAX_TITLE_ROWS, MAX_ROWS_LOOKED_AT = 20, 60
CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1b"))


class Dialect(NamedTuple):
    """How the text of a table is to be read."""

    names: tuple[str, ...]
    """The columns, each name once."""
    header: bool = True
    """Whether the first row holds the names."""
    delimiter: str = ","
    encoding: str = "utf-8"
    notes: tuple[str, ...] = ()
    skip: int = 0
    """How many lines precede the table: titles, and Excel's sep=;"""


def sniff(
    content: Content,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    names: Sequence[str] = (),
) -> Dialect:
    """The dialect of a text table; what is not given is detected.

    Args:
        content: the bytes of the table.
        encoding: of the text.
        delimiter: between the columns.
        header: whether the first row holds names.
        names: columns that the table is known to have.

    Raises:
        TableError: when the file is empty or not text.
    """
    notes: list[str] = []
    path, sample = content.path, content.head(SAMPLE_BYTES)
    if encoding is None:
        encoding = _encoding(path, sample, notes)
    text = _decode(path, sample, encoding)
    told = SEPARATOR_LINE.match(text.partition("\n")[0])
    skip = int(told is not None)
    if told is not None:
        text = text.partition("\n")[2]
        delimiter = delimiter or told[1]
        notes.append(f"the first line says that {told[1]!r} separates the columns")
    if delimiter is None:
        tabbed = {".tsv", ".tab"} & set(Path(path).suffixes)
        delimiter = "\t" if tabbed else _delimiter(text)
    found = _header_with(names, text, delimiter)
    if found is not None:
        delimiter, lines = found
        header = True
    else:
        lines = 0 if header is False else _title_lines(text, delimiter)
    blank = next((i for i, row in _numbered(text, delimiter) if row), 0)
    if lines > blank:
        counted = "1 line" if lines == 1 else f"{lines} lines"
        notes.append(f"left out {counted} above the names of the columns")
    lines = max(lines, blank)
    skip += lines
    text = "".join(io.StringIO(text, newline="").readlines()[lines:]) if lines else text
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
    unique = _unique(cells, notes)
    return Dialect(unique, header, delimiter, encoding, tuple(notes), skip)


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


def _header_with(
    names: Sequence[str], text: str, delimiter: str
) -> tuple[str, int] | None:
    """The delimiter, and the lines before the first row that has all these names."""
    for sign in dict.fromkeys((delimiter, *DELIMITERS)) if names else ():
        for row, (line, cells) in enumerate(_numbered(text, sign)):
            if row > MAX_TITLE_ROWS:
                break
            if set(names) <= {cell.strip() for cell in cells}:
                return sign, line
    return None


def _title_lines(text: str, delimiter: str) -> int:
    """How many lines above the header are a title: they have few cells.

    A row of names fills more than half of the columns. What precedes it is a title where
    an empty line separates the two, or where it fills fewer and the names are words.
    """
    numbered = _numbered(text, delimiter)
    rows = [row for _, row in zip(range(MAX_ROWS_LOOKED_AT), numbered, strict=False)]
    widths = Counter(len(cells) for _, cells in rows if any(cells))
    width = max(widths, key=lambda w: (widths[w], w), default=1)
    for i, (line, cells) in enumerate(rows[: MAX_TITLE_ROWS + 1]):
        filled = [cell.strip() for cell in cells if cell.strip()]
        if len(cells) != width or (2 * len(filled) <= width and not _is_blank(cells)):
            if cells and not cells[0].strip():
                return 0  # an index without a name
            continue
        if _is_blank(cells):
            continue
        above = [row for _, row in rows[:i]]
        titles = [row for row in above if not _is_blank(row)]
        if width < 2 or not titles:
            return 0
        separated = _is_blank(above[-1])
        short = all(2 * sum(map(bool, row)) <= width for row in titles)
        words = len(set(filled)) == width and not any(map(is_number, filled))
        padded_pair = width == 2 and any(len(row) == 2 for row in titles)
        return line if separated or (short and words and not padded_pair) else 0
    return 0


def _is_blank(cells: Sequence[str]) -> bool:
    return not any(cell.strip() for cell in cells)


def _numbered(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a sample, blank ones too, each with the number of lines before it."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    line = 0
    try:
        for row in reader:
            yield line, row
            line = reader.line_num
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
