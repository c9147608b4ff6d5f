"""How people write numbers: $1,234.50, 38.500,00 €, 1 234, (120), 12%, 5.3 kg.

A form says which sign stands before the decimals and which between groups of digits, and
which currency and which unit stand beside the number. A cell is read by the form alone,
so that it has the same value in any other file.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute

from likely.data.errors import Misfit

pc: Any = pyarrow.compute  # its functions are made at import, unseen by type checkers

CURRENCIES = (
    "US$", "CA$", "NZ$", "HK$", "AU$", "R$", "A$", "C$", "S$", "$", "€", "£", "¥", "₹",
    "₽", "₩", "₪", "₺", "₫", "₱", "₴", "₦", "zł", "Kč", "USD", "EUR", "GBP", "CHF", "JPY",
    "CAD", "AUD", "SEK", "NOK", "DKK", "INR", "CNY", "BRL", "PLN", "Rs.", "Rs", "Fr.", "kr",
)  # fmt: skip
UNIT = r"(?:%|‰|°[CFK]?|[^\W\d_]{1,12}[²³]?(?:/[^\W\d_]{1,8}[²³]?)?)"
"""A unit: letters, perhaps by others, such as km/h; no digits."""
LETTERS = "gmlLshWVkKM"
"""Letters that are units also where they follow the digits at once."""
SPACE = "[ \u00a0\u2009\u202f]"
GROUPS = {",": ",", ".": r"\.", " ": SPACE, "'": "['’]"}
"""Signs between groups of three digits, as patterns."""
STYLES = tuple(
    (decimal, group) for decimal in ".," for group in ("", *GROUPS) if group != decimal
)
"""The signs before decimals and between groups that go together."""
SCALES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "mn": 1e6, "B": 1e9, "bn": 1e9}
ANY_SCALE = "kMB"
"""The unit of columns that have several of the `SCALES`."""
MAX_DIGITS = 18
"""The largest number of digits of a whole number that is not a code."""
MINUS = "\u2212-"
NOTHING = r"^(?:[?.*–—-]{1,3}|#?N/A|n/a|NA|-?nan|NaN|NULL|null|None|<NA>)$"
"""Cells that stand for a missing number."""


class Form(NamedTuple):
    """How the numbers of a column are written."""

    decimal: str = "."
    group: str = ""
    currency: str = ""
    """May stand before or after the number, or be left out."""
    unit: str = ""
    """Follows every number but 0; `ANY_SCALE` for thousands, millions and billions.

    Words have any case, and an s for the plural.
    """

    @property
    def reading(self) -> str:
        """The name of the reading: "number", and an example of the form."""
        whole = f"1{self.group}234" if self.group else "1"
        unit = self.unit if self.unit in {"", "%"} else f" {self.unit}"
        return f"number {self.currency}{whole}{self.decimal}5{unit}"


@lru_cache(512)
def parse_form(reading: str) -> Form | None:
    """The form that a reading names; None if it names none."""
    found = re.fullmatch(rf"number (\D*)1(?:([,. '])234)?([.,])5 ?({UNIT})?", reading)
    if found is None:
        return None
    currency, group, decimal, unit = (part or "" for part in found.groups())
    if currency not in {"", *CURRENCIES} or group == decimal:
        return None
    return Form(decimal, group, currency, unit)


def _digits(decimal: str, group: str) -> str:
    """The pattern of the digits of a number."""
    whole = "0|[1-9][0-9]*"
    if group:
        sign = GROUPS[group]
        whole = f"[1-9][0-9]{{0,2}}(?:{sign}[0-9]{{3}})+|{whole}"
    if group == ",":  # lakh and crore
        whole = f"[1-9][0-9]?(?:,[0-9]{{2}})+,[0-9]{{3}}|{whole}"
    sign = re.escape(decimal)
    return f"(?:(?:{whole})(?:{sign}[0-9]*)?|{sign}[0-9]+)(?:[eE][-+]?[0-9]+)?"


@lru_cache(512)
def _pattern(form: Form) -> str:
    """The pattern of a cell, in parts: what precedes the digits, and what follows."""
    money = f"(?:{re.escape(form.currency)})?" if form.currency else ""
    sign = f"[+{MINUS}]?{SPACE}*"
    front = rf"(?P<front>\(?{sign}{money}{SPACE}*\(?{sign})"
    body = f"(?P<body>{_digits(form.decimal, form.group)})"
    unit = f"{SPACE}*(?P<unit>{_unit_pattern(form.unit)})?" if form.unit else ""
    return rf"^{front}{body}{unit}{SPACE}*{money}\)?$"


def _unit_pattern(unit: str) -> str:
    if unit == ANY_SCALE:
        return "|".join(filter(None, SCALES))
    if not unit.isalpha() or len(unit) == 1:
        return re.escape(unit)
    return f"(?i:{re.escape(unit)}{'s?' if len(unit) > 2 else ''})"


def unit_name(unit: str) -> str:
    """The name that different ways to write a unit share: year for Year and years."""
    if not unit.isalpha() or len(unit) == 1 or unit in SCALES:
        return unit
    return unit.lower().removesuffix("s") if len(unit) > 3 else unit.lower()


def present(cells: pa.Array) -> pa.Array:
    """Trimmed cells, null where one stands for a missing number."""
    cells = pc.utf8_trim_whitespace(cells)
    nothing = pc.match_substring_regex(cells, NOTHING)
    return pc.if_else(nothing, pa.scalar(None, pa.string()), cells)


def read_form(cells: pa.Array, form: Form) -> pa.Array:
    """The numbers in text cells of a form, NaN nowhere and null where missing.

    Raises:
        Misfit: when a cell is written in another form.
    """
    cells = present(cells)
    if form.currency:  # accountants write a dash for nothing
        nothing = rf"^{re.escape(form.currency)}{SPACE}*[–—-]$"
        cells = pc.replace_substring_regex(cells, nothing, "0")
    parts = pc.extract_regex(cells, _pattern(form))
    if parts.null_count > cells.null_count:
        raise Misfit(form.reading)
    front, digits = (pc.struct_field(parts, name) for name in ("front", "body"))
    in_brackets = pc.match_substring(front, "(")
    if pc.any(pc.not_equal(in_brackets, pc.ends_with(cells, ")"))).as_py():
        raise Misfit("a bracket is not closed")
    if form.group:
        digits = pc.replace_substring_regex(digits, GROUPS[form.group], "")
    digits = pc.replace_substring(digits, form.decimal, ".")
    numbers = pc.cast(digits, pa.float64())
    if form.unit == ANY_SCALE:
        index = pc.index_in(pc.struct_field(parts, "unit"), pa.array([*SCALES]))
        numbers = pc.multiply(numbers, pa.array([*SCALES.values()]).take(index))
    elif form.unit:
        bare = pc.equal(pc.struct_field(parts, "unit"), "")
        if pc.any(pc.and_(bare, pc.not_equal(numbers, 0.0))).as_py():
            raise Misfit("a unit is missing")
    below = pc.or_(in_brackets, pc.match_substring_regex(front, f"[{MINUS}]"))
    return pc.if_else(below, pc.negate(numbers), numbers)


class Shape(NamedTuple):
    """What a cell says about the form of its column."""

    styles: frozenset[tuple[str, str]]
    """The signs before decimals and between groups that it can be read with."""
    currency: str
    unit: str
    bracketed: bool
    digits: int
    zero: bool
    plain: bool
    """Whether it is digits, a sign and a decimal point, and nothing else."""


NO_SHAPE = Shape(frozenset(STYLES), "", "", False, 0, True, False)
_MONEY = "|".join(map(re.escape, CURRENCIES))
_CELL = re.compile(
    rf"(\()?[+{MINUS}]?{SPACE}*({_MONEY})?{SPACE}*(\()?[+{MINUS}]?{SPACE}*"
    rf"([01](?:[01.,'’]|{SPACE}(?=[01]))*|[.,][01]+)((?:[eE][-+]?[01]+)?)"
    rf"({SPACE}*)([^()01]*)(\))?"
)
_DASH = re.compile(rf"({_MONEY}){SPACE}*[–—-]")


@lru_cache(4096)
def shape_of(skeleton: str) -> Shape | None:
    """The shape of a cell whose digits are 1, or 0 where a number begins with it."""
    if re.match(NOTHING, skeleton):
        return NO_SHAPE
    dash = _DASH.fullmatch(skeleton)
    if dash:
        return NO_SHAPE._replace(currency=dash[1])
    found = _CELL.fullmatch(skeleton)
    if found is None or bool(found[1] or found[3]) != bool(found[8]):
        return None
    in_brackets = bool(found[8])
    money, body, power, gap, after = (found[i] or "" for i in (2, 4, 5, 6, 7))
    after = after.strip()
    if after in CURRENCIES and money in {"", after}:
        money, after = after, ""
    if after and not re.fullmatch(UNIT, after):
        return None
    if after in {"st", "nd", "rd", "th"}:
        return None
    if len(after) == 1 and after.isalpha() and not gap and after not in LETTERS:
        return None  # 12A names something
    styles = [s for s in STYLES if re.fullmatch(_digits(*s), body + power)]
    digits = sum(letter in "01" for letter in body)
    if digits > MAX_DIGITS and not set(body) & set(".,"):
        return None  # a code: more than a number keeps
    zero = body in {"0", "0.0", "0,0"}
    plain = (".", "") in styles and not (money or after or in_brackets)
    plain = plain and "\u2212" not in skeleton and "," not in body
    return Shape(frozenset(styles), money, after, in_brackets, digits, zero, plain)
