"""Ranges of numbers, such as $10,000-$19,999, <10k, 75k+ and 25-34, as ordered numbers.

A range is read as its midpoint. One that is open, such as 75k+, is read as its end and half
of the width of the range beside it. These halves are part of the name of the reading, so
that a cell has the same value in any other file.
"""

import math
import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from likely.data.errors import Misfit
from likely.data.readings.forms import CURRENCIES, present

MAX_RANGES = 60
"""The largest number of different ranges in a column."""
_MONEY = "|".join(map(re.escape, CURRENCIES))
_NUMBER = (
    rf"(-?)\s*(?:{_MONEY})?\s*(\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    rf"\s*([kKmM](?![a-zA-Z]))?\s*(?:{_MONEY}|%)?"
)
_UNIT = (
    r"(?:\s*(?:(?:years?|yrs?|y)(?: old)?|months?|weeks?|days?|hours?|hrs?|min(?:utes)?|"
    r"kg|km|cm|m|g|lbs?|miles?|times?|people|persons?|employees|rooms?|children))?"
)
_BELOW = r"(?:<=?|≤|less than|fewer than|lower than|under|below|up to|at most)"
_ABOVE = r"(?:>=?|≥|more than|greater than|over|above|at least)"
_OR_LESS = r"(?:(?:or|and|&) (?:less|fewer|under|below|younger|lower))"
_OR_MORE = r"(?:\+|plus|(?:or|and|&) (?:more|over|above|older|up|greater|higher))"
_CLOSED = rf"{_NUMBER}{_UNIT}\s*(?:-|–|—|to)\s*<?\s*{_NUMBER}{_UNIT}"
_FORMS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "closed": _CLOSED,
        "cut": rf"[\[(]\s*{_NUMBER}\s*[,;–-]\s*{_NUMBER}\s*[\])]",
        "below": rf"{_BELOW}\s*{_NUMBER}{_UNIT}",
        "or less": rf"{_NUMBER}{_UNIT}\s*{_OR_LESS}",
        "above": rf"{_ABOVE}\s*{_NUMBER}{_UNIT}",
        "or more": rf"{_NUMBER}{_UNIT}\s*{_OR_MORE}{_UNIT}",
        "point": rf"{_NUMBER}{_UNIT}",
    }.items()
}
REFUSED = re.compile(
    r"unknown|refused?|don'?t know|do not know|dk|no answer|no response|missing|"
    r"(?:prefer|would rather|rather) not (?:to )?(?:say|answer|disclose)|"
    r"not (?:stated|reported|available|disclosed|sure|answered)|not ascertained",
    re.IGNORECASE,
)
"""Answers that give no range."""
_SCALE = {"": 1.0, "k": 1e3, "m": 1e6}


class Range(NamedTuple):
    """The ends of a range; infinite where it is open, equal for one number."""

    low: float
    high: float


class Halves(NamedTuple):
    """What is subtracted from the end of an open range below, and added above."""

    below: float
    above: float

    @property
    def reading(self) -> str:
        """The name of the reading."""
        return f"range -{self.below!r} +{self.above!r}"


NO_HALVES = Halves(0.0, 0.0)


@lru_cache(512)
def parse_halves(reading: str) -> Halves | None:
    """The halves that a reading names; None if it names none."""
    found = re.fullmatch(r"range -(\d[\d.e+-]*) \+(\d[\d.e+-]*)", reading)
    try:
        halves = [float(part) for part in found.groups()] if found else []
    except ValueError:
        return None
    return Halves(*halves) if halves and all(map(math.isfinite, halves)) else None


def is_range(cell: str) -> bool:
    """Whether a cell names more than one number."""
    found = parse_range(cell)
    return found is not None and found.low < found.high


def parse_range(cell: str) -> Range | None:
    """The range that a cell names; None if it names none."""
    cell = cell.strip()
    if re.search(r"(?<![\d.,])0\d", cell):
        return None  # 01-02 is a date, or a code
    for name, form in _FORMS.items():
        found = form.fullmatch(cell)
        if found is None:
            continue
        parts = found.groups()
        ends = [_number(*parts[i : i + 3]) for i in range(0, len(parts), 3)]
        if name in {"closed", "cut"}:
            low, high = ends
            if parts[5] and not parts[2] and low < high / _SCALE[parts[5].lower()]:
                low *= _SCALE[parts[5].lower()]  # 10-20k
            return Range(low, high) if low < high else None
        end = ends[0]
        if name == "point":
            return Range(end, end)
        return (
            Range(-math.inf, end)
            if name in {"below", "or less"}
            else Range(end, math.inf)
        )
    return None


def _number(sign: str, digits: str, scale: str | None) -> float:
    number = float(digits.replace(",", "")) * _SCALE[(scale or "").lower()]
    return -number if sign else number


def halves_of(cells: Collection[str], numbers: bool) -> Halves | None:
    """The halves of open ranges by the ranges beside them; None if this is no scale.

    Args:
        cells: the different ranges of a column, each of which can be parsed.
        numbers: whether the column has single numbers beside them.
    """
    ranges = sorted({found for cell in cells if (found := parse_range(cell))})
    closed = [r for r in ranges if math.isfinite(r.low) and math.isfinite(r.high)]
    if len(ranges) + numbers < 2 or not (closed or numbers):
        return None
    if any(
        after.low < before.high
        for before, after in zip(ranges, ranges[1:], strict=False)
    ):
        return None
    if sum(not math.isfinite(r.low) for r in ranges) > 1:
        return None
    widths = [r.high - r.low for r in closed]
    below, above = (widths[0] / 2, widths[-1] / 2) if widths else (0.0, 0.0)
    first = ranges[0]
    if not math.isfinite(first.low) and first.high > 0:  # not below zero
        below = min(below, first.high / 2) if widths else first.high / 2
    return Halves(below, above)


def read_ranges(cells: pa.Array, halves: Halves) -> pa.Array:
    """The midpoints of ranges.

    Raises:
        Misfit: when a cell is no range and no number.
    """
    coded = present(cells).dictionary_encode()
    middles = [_middle(cell, halves) for cell in coded.dictionary.to_pylist()]
    values = pa.array(middles, pa.float64())
    return values.take(coded.indices)


def _middle(cell: str, halves: Halves) -> float | None:
    if REFUSED.fullmatch(cell):
        return None
    found = parse_range(cell)
    if found is None:
        raise Misfit(cell)
    if not math.isfinite(found.low):
        return found.high - halves.below
    return found.low + halves.above if not math.isfinite(found.high) else sum(found) / 2
