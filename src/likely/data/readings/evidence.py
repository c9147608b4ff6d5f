"""What the cells of a column of text say about how its numbers are written.

Every cell has a skeleton: its digits are 1, or 0 where a number begins with it, so that
$1,250.00 is $1,111.11. A column has few of them. They are gathered chunk by chunk, and the
form of the column is a function of the set, whatever the order of the rows.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute

from likely.data.readings.brackets import (
    MAX_RANGES,
    NO_HALVES,
    REFUSED,
    halves_of,
    is_range,
    parse_halves,
    parse_range,
    read_ranges,
)
from likely.data.readings.forms import (
    ANY_SCALE,
    NO_SHAPE,
    SCALES,
    STYLES,
    Form,
    Shape,
    parse_form,
    read_form,
    shape_of,
    unit_name,
)

pc: Any = pyarrow.compute  # its functions are made at import, unseen by type checkers

MAX_SKELETONS = 500
"""The largest number of different skeletons of a column of numbers."""
MIN_NAME_DIGITS = 7
"""Spaced digits that are always so many, or more, name something: telephones."""
PROBE_CELLS = 64
"""The number of cells that are looked at first."""
KNOWN_UNITS = {
    "%", "‰", "°C", "°F", "kg", "g", "mg", "lb", "oz", "t", "km", "m", "cm", "mm", "mile",
    "mi", "ft", "in", "l", "ml", "h", "hr", "hour", "min", "minute", "s", "sec", "second",
    "day", "week", "month", "year", "k", "K", "M", "B", "mn", "bn", "cc", "bhp", "hp", "kw",
    "w", "km/h", "mph", "kmpl", "mg/dL", "mmol/L",
}  # fmt: skip
"""Units whose mixture is worth a word."""
WORDS = "words"
"""The doubt about cells that begin with a number and go on in words."""
MARK = "\x01"


class Evidence:
    """The skeletons of the cells of a column, and its ranges such as 25-34."""

    def __init__(self) -> None:
        self.skeletons: set[str] = set()
        self.ranges: set[str] = set()
        self.refused: set[str] = set()
        """Answers such as "Don't know", which are missing values among ranges."""
        self.is_text = False
        """Whether some cell is neither a number nor a range."""
        self.example = ""
        """The first cell that is more than a plain number."""

    def add(self, cells: pa.Array) -> None:
        """Look at a chunk of text cells."""
        cells = cells.drop_null()
        if not self.is_text:
            self._add(pc.unique(cells[:PROBE_CELLS]))
        if not self.is_text and len(cells) > PROBE_CELLS:
            self._add(cells[PROBE_CELLS:])

    def add_numbers(self, cells: pa.Array, whole: bool) -> None:
        """Look at a chunk of cells that are plain numbers, perhaps whole ones."""
        cells = cells.drop_null()
        if "1" not in self.skeletons:
            self.skeletons.add("0" if pc.all(pc.equal(cells, "0")).as_py() else "1")
        for part in () if whole else (cells[:PROBE_CELLS], cells):
            if "1.1" in self.skeletons:
                return
            pointed = part.filter(pc.match_substring(part, "."))
            groups = pc.match_substring_regex(
                pointed, r"^\s*[-+]?[1-9][0-9]{0,2}(\.[0-9]{3})+\s*$"
            )
            if len(pointed):
                is_grouped = pc.all(groups).as_py()
                self.skeletons.add("1.111" if is_grouped else "1.1")

    def _add(self, cells: pa.Array) -> None:
        skeletons = _skeletons(cells)
        found = set(pc.unique(skeletons).to_pylist())
        odd = {s for s in found if shape_of(s) is None or not _signs(shape_of(s))}
        self.skeletons |= found - odd
        if odd:
            is_odd = pc.is_in(skeletons, pa.array(sorted(odd), pa.string()))
            for cell in pc.unique(cells.filter(is_odd))[: 2 * MAX_RANGES].to_pylist():
                refused = REFUSED.fullmatch(cell.strip())
                (self.refused if refused else self.ranges).add(cell)
        if not self.example:
            plain = [s for s in found - odd if (shape_of(s) or NO_SHAPE).plain]
            more = pc.invert(pc.is_in(skeletons, pa.array(plain, pa.string())))
            self.example = next(iter(cells.filter(more)[:1].to_pylist()), "")
        many = len(self.skeletons) > MAX_SKELETONS or len(self.ranges) > MAX_RANGES
        if many or not all(map(is_range, self.ranges)):
            self.is_text = True

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of the cells that are numbers."""
        found = (shape_of(skeleton) for skeleton in self.skeletons)
        return [shape for shape in found if shape is not None and shape is not NO_SHAPE]

    @property
    def sign(self) -> str:
        """The sign before decimals, if the cells leave only one; else nothing."""
        if self.is_text or self.refused or self.ranges or not self.shapes:
            return ""
        decimals = {decimal for decimal, _ in _common(self.shapes)}
        return decimals.pop() if len(decimals) == 1 else ""


class Finding(NamedTuple):
    """How a column of text is read."""

    reading: str = "text"
    also: str = ""
    """What else is to be said about it, as the end of a sentence."""
    example: str = ""
    """A cell that is more than a plain number."""

    def read(self, cells: pa.Array) -> pa.Array:
        """The numbers in text cells of the column."""
        form, halves = parse_form(self.reading), parse_halves(self.reading)
        return (
            read_form(cells, form) if form else read_ranges(cells, halves or NO_HALVES)
        )

    def note(self, name: str) -> str:
        """The sentence about what was guessed in a column of this name, or nothing."""
        if not self.example:
            return f"column {name!r} {self.also}" if self.also else ""
        value = self.read(pa.array([self.example]))[0].as_py()
        meaning = "missing" if value is None else f"{value:.10g}"
        what = f"column {name!r} is read as numbers: {self.example!r} is {meaning}"
        return what + self.also


def _skeletons(cells: pa.Array) -> pa.Array:
    found = pc.utf8_trim_whitespace(cells)
    found = pc.replace_substring_regex(found, r"\b0", MARK)
    found = pc.replace_substring_regex(found, "[0-9]", "1")
    return pc.replace_substring(found, MARK, "0")


def _signs(shape: Shape | None) -> frozenset[tuple[str, str]]:
    return shape.styles if shape else frozenset()


def _common(shapes: list[Shape]) -> frozenset[tuple[str, str]]:
    return frozenset.intersection(*(shape.styles for shape in shapes))


def decimal_sign(columns: Mapping[str, Evidence]) -> str:
    """The sign before decimals of a table, where all columns that tell agree."""
    signs = {evidence.sign for evidence in columns.values()} - {""}
    return signs.pop() if len(signs) == 1 else ""


def conclude(evidence: Evidence, sign: str = "", comma: bool = False) -> Finding:
    """How a column is read, by the cells of all its rows.

    Args:
        evidence: what its cells look like.
        sign: the sign before decimals in the other columns, where it is known.
        comma: whether 1,234 without other evidence is a little more than 1.
    """
    if evidence.is_text or not evidence.example:
        return Finding()
    if evidence.ranges:
        return _scale(evidence)
    shapes = evidence.shapes
    if evidence.refused or not shapes:
        return Finding()
    doubt = _doubt(shapes)
    if doubt:
        also = "" if doubt == WORDS else f"{doubt}, so it is kept as text"
        return Finding("text", also)
    form, also = _form(shapes, sign, comma)
    return Finding(form.reading, also, evidence.example)


def regrouped(evidence: Evidence, sign: str) -> Finding:
    """How plain numbers such as 1.234 are read beside columns with decimal commas.

    Args:
        evidence: what the cells of the column look like.
        sign: the sign before decimals in the other columns, where it is known.
    """
    if (
        sign != ","
        or not {"1.111"} <= evidence.skeletons
        or "1.1" in evidence.skeletons
    ):
        return Finding()
    also = "has points between thousands, as other columns have decimal commas"
    return Finding(Form(",", ".").reading, also)


def _scale(evidence: Evidence) -> Finding:
    """How a column of ranges is read; as text if they overlap or leave gaps open."""
    numbers = [s for s in evidence.skeletons if shape_of(s) is not NO_SHAPE]
    halves = halves_of(evidence.ranges, bool(numbers))
    if halves is None or not all(map(parse_range, numbers)):
        return Finding()
    example = min(evidence.ranges, key=lambda cell: parse_range(cell) or ())
    also = "; a range is read as its middle, an open one as half a range beyond its end"
    if evidence.refused:
        also += f", and {min(evidence.refused)!r} as missing"
    return Finding(halves.reading, also, example)


def _doubt(shapes: list[Shape]) -> str:
    """Why cells that are all numbers are no column of numbers; or nothing."""
    money = sorted({shape.currency for shape in shapes} - {""})
    units = sorted({unit_name(shape.unit) for shape in shapes} - {""})
    bare = any(not shape.unit and not shape.zero for shape in shapes)
    common = _common(shapes)
    if len(money) > 1:
        return f"is in {money[0]} and in {money[1]}"
    if _unit(shapes) == ANY_SCALE:
        units = []
    if len(units) > 1 and set(units) <= KNOWN_UNITS:
        return f"is in {units[0]} and in {units[1]}"
    if len(units) > 1:
        return WORDS
    if units and bare and units[0] not in KNOWN_UNITS:
        return WORDS
    if units and bare:
        return f"has numbers in {units[0]} and without a unit"
    if not common:
        return "has points and commas that contradict each other"
    if all(shape.bracketed for shape in shapes):
        return "has all its numbers in parentheses"
    lengths = {shape.digits for shape in shapes}
    named = len(lengths) == 1 and lengths.pop() >= MIN_NAME_DIGITS
    spaced = not any(group in {"", ","} for _, group in common)
    if named and spaced and not (money or units):
        return "has digits in groups, as telephone numbers have"
    return ""


def _unit(shapes: list[Shape]) -> str:
    """The unit of a column, or one of its units."""
    units = {unit_name(shape.unit) for shape in shapes} - {""}
    bare = any(not shape.unit and not shape.zero for shape in shapes)
    money = any(shape.currency for shape in shapes)
    thousands = units <= {"k", "K"} and bare  # 1.2k beside 800
    if units and units <= set(SCALES) and (len(units) > 1 or money or thousands):
        return ANY_SCALE
    return max(units, default="")


def _form(shapes: list[Shape], sign: str, comma: bool) -> tuple[Form, str]:
    """The form of a column of numbers, and a sentence if it could have been another."""
    money = max(shape.currency for shape in shapes)
    common = _common(shapes)
    decimals = {decimal for decimal, _ in common}
    bare = {decimal for decimal, group in common if not group}
    separated = bare.pop() if len(bare) == 1 and len(decimals) == 2 else ""
    also = ""
    if len(decimals) == 1:
        decimal = decimals.pop()
    elif separated:  # 1,234 alone, or 1.234 alone
        other = "." if separated == "," else ","
        is_decimal = not money and (separated == "." or comma)
        decimal = sign or (separated if is_decimal else other)
        role = "before decimals" if decimal == separated else "between thousands"
        also = f"; the sign {separated!r} is taken to stand {role}"
    else:
        decimal = sign or "."
    group = next(g for d, g in STYLES if d == decimal and (d, g) in common)
    if money and not group:  # larger amounts may have it
        group = "," if decimal == "." else "."
    return Form(decimal, group, money, _unit(shapes)), also
