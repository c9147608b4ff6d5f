"""From text to values: which reading fits every cell of a column.

A reading fits a column when it fits each of its chunks, so the readings that fit are
narrowed chunk by chunk, and the same text gives the same types whether a file is read
whole or in chunks. Of those left the first is taken, in the order of `READINGS`.

    true, no, ...         boolean
    -12                   integer; not 007 nor 30 digits, which are codes: text
    1.5, 2e-3, inf        number; 1,5 where semicolons separate the columns
    2024-02-29            date, in the ISO form and a few others
    $1,234.50             number in a form of its own, see `readings.forms`
    25-34                 range, see `readings.brackets`
    anything              text
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute

from likely.data.errors import Misfit
from likely.data.readings.brackets import parse_halves, read_ranges
from likely.data.readings.forms import parse_form, read_form

pc: Any = pyarrow.compute  # its functions are made at import, unseen by type checkers

MISSING = (
    "", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None",
    "<NA>",
)  # fmt: skip
TIMESTAMP = pa.timestamp("us")
DAYS = (
    "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%Y", "%m/%d/%Y"
)  # fmt: skip
TIMES = ("", " %H:%M", " %H:%M:%S")
PATTERNS = {
    "%Y": "[0-9]{4}",
    "%m": "[0-9]{1,2}",
    "%d": "(?P<d>[0-9]{1,2})",
    "%H": "[0-9]{1,2}",
    "%M": "[0-9]{2}",
    "%S": "[0-9]{2}",
}
AMBIGUOUS = [
    (f"date {DAYS[-2]}{time}", f"date {DAYS[-1]}{time}") for time in TIMES
]  # fmt: skip
CODE = "^0[0-9]|^-?[0-9]{19,}$"
"""Digits that are no number: leading zeros, or more than 64 bits keep."""
PROBE_CELLS = 64
"""The number of cells that a reading is tried on first."""


def _integer(cells: pa.Array) -> pa.Array:
    whole = pc.cast(cells, pa.int64())
    if _has_codes(cells):
        raise Misfit("digits that are codes")
    return whole


def _number(cells: pa.Array) -> pa.Array:
    numbers = pc.cast(cells, pa.float64())
    if _has_codes(cells):
        raise Misfit("digits that are codes")
    return numbers


def _has_codes(cells: pa.Array) -> bool:
    """Whether some cells are like 007, or have more digits than a number keeps."""
    plain = pc.invert(pc.starts_with(cells, "0."))
    length = pc.binary_length(cells)
    padded = pc.and_(pc.and_(pc.starts_with(cells, "0"), plain), pc.greater(length, 1))
    suspect = cells.filter(pc.or_(padded, pc.greater(length, 18)))
    return bool(pc.any(pc.match_substring_regex(suspect, CODE)).as_py())


def _decimal_comma(cells: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring(cells, ".")).as_py():
        raise Misfit("has points")
    return _number(pc.replace_substring(cells, ",", "."))


def _boolean(true: str, false: str) -> Callable[[pa.Array], pa.Array]:
    def read(cells: pa.Array) -> pa.Array:
        lower = pc.utf8_lower(cells)
        known = pc.is_in(lower, pa.array([true, false, None]))
        if not pc.all(known).as_py():
            raise Misfit(f"neither {true} nor {false}")
        return pc.equal(lower, true)

    return read


def _iso(cells: pa.Array) -> pa.Array:
    try:
        return pc.cast(cells, TIMESTAMP)
    except pa.ArrowInvalid:  # with a zone: as universal time
        return pc.cast(pc.cast(cells, pa.timestamp("us", "UTC")), TIMESTAMP)


def _date(form: str) -> Callable[[pa.Array], pa.Array]:
    pattern = f"^{re.escape(form)}$"
    for directive, digits in PATTERNS.items():
        pattern = pattern.replace(directive, digits)

    def read(cells: pa.Array) -> pa.Array:
        parts = pc.extract_regex(cells, pattern)
        if parts.null_count > cells.null_count:
            raise Misfit(form)
        times = pc.strptime(cells, format=form, unit="us")
        day = pc.cast(pc.struct_field(parts, "d"), pa.int64())
        if pc.any(pc.not_equal(pc.day(times), day)).as_py():
            raise Misfit("a day that does not exist")  # February 30 as March 1
        return times

    return read


READINGS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "boolean true": _boolean("true", "false"),
    "boolean yes": _boolean("yes", "no"),
    "boolean t": _boolean("t", "f"),
    "boolean y": _boolean("y", "n"),
    "integer": _integer,
    "number": _number,
    "number 1,5": _decimal_comma,
    "date iso": _iso,
    **{f"date {day}{time}": _date(day + time) for day in DAYS for time in TIMES},
    "text": lambda cells: cells,
}


def is_reading(name: str) -> bool:
    """Whether this is the name of a reading."""
    return name in READINGS or bool(parse_form(name) or parse_halves(name))


def _reader(name: str) -> Callable[[pa.Array], pa.Array]:
    if name in READINGS:
        return READINGS[name]
    form, halves = parse_form(name), parse_halves(name)
    if form is not None:
        return lambda cells: read_form(cells, form)
    if halves is not None:
        return lambda cells: read_ranges(cells, halves)
    raise KeyError(name)


def convert(cells: pa.Array, reading: str) -> pa.Array:
    """The values of text cells, by one reading.

    Raises:
        Misfit: when a cell cannot be read so.
    """
    read = _reader(reading)
    try:
        return read(cells)
    except (pa.ArrowInvalid, Misfit):
        trimmed = pc.utf8_trim_whitespace(cells)
        if trimmed.equals(cells):
            raise Misfit(reading) from None
    try:
        return read(trimmed)
    except (pa.ArrowInvalid, Misfit):
        raise Misfit(reading) from None


def narrow(
    cells: pa.Array, readings: Sequence[str], values: dict[str, pa.Array] | None = None
) -> list[str]:
    """The readings that also fit these cells; a missing cell fits all.

    Args:
        cells: text.
        readings: what fitted so far.
        values: a dictionary that receives the values by the readings that were tried.
    """
    if cells.null_count == len(cells):
        return list(readings)
    values = {} if values is None else values
    probe = cells.drop_null()[:PROBE_CELLS]

    def fits(reading: str) -> bool:
        return _fits(probe, reading, {}) and _fits(cells, reading, values)

    if "integer" in readings and fits("integer"):
        exact = {"integer", "text"}
        kept = exact if _has_codes(cells) else {*exact, "number", "number 1,5"}
        return [name for name in readings if name in kept]
    if "number" in readings and fits("number"):
        return ["number", "text"]
    possible = (name for name in readings if _is_possible(name, probe[0].as_py()))
    return [name for name in possible if fits(name)]


def _is_possible(reading: str, cell: str) -> bool:
    """Whether the first character of the first cell does not rule a reading out."""
    first = cell.strip()[:1]
    if reading.startswith("date"):
        return first.isdigit()
    if reading.startswith("boolean"):
        return first.lower() in tuple("tfyn")
    return reading not in {"integer", "number"}


def _fits(cells: pa.Array, reading: str, values: dict[str, pa.Array]) -> bool:
    try:
        values[reading] = convert(cells, reading)
    except Misfit:
        return False
    return True


def first_misfit(cells: pa.Array, reading: str) -> int:
    """The index of the first cell that a reading does not fit, by bisection."""
    low, high = 0, len(cells)
    while high - low > 1:
        middle = (low + high) // 2
        if _fits(cells[low:middle], reading, {}):
            low = middle
        else:
            high = middle
    return low


def is_number(cell: str) -> bool:
    """Whether Python reads a cell as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def choose(readings: Sequence[str]) -> str:
    """The first reading that fits; dates that could be read in two ways stay text."""
    first = readings[0]
    if "integer" in readings and first != "integer":
        return "number"  # no text is a boolean and an integer: all cells are missing
    return "text" if is_ambiguous_date(readings) else first


def is_ambiguous_date(readings: Sequence[str]) -> bool:
    """Whether dates could be read with the day or with the month first."""
    first = readings[0]
    return any(pair[0] == first and pair[1] in readings for pair in AMBIGUOUS)
