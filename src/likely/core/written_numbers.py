"""Numbers, counts and errors as people write them: 50,470, 1.23M, 0.0123, 1 column."""

import math
from collections.abc import Sequence
from typing import Any

UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"))
MIN_SHOWN, MAX_SHOWN = 1e-4, 1e15
"""Numbers of other sizes are written with a power of ten."""
MIN_GROUPED = 9999.5
"""From here on digits are grouped; years are not."""


def number(value: Any, digits: int = 3) -> str:
    """A number with about three digits; whole thousands keep theirs."""
    if value is None or not math.isfinite(value):
        return ""
    size = abs(value)
    if size == 0 or size < 1e-300:
        return "0"
    if not MIN_SHOWN <= size < MAX_SHOWN:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{_trimmed(mantissa)}e{int(power)}"
    for unit, letter in UNITS:
        if size >= unit * (1 - 0.5 * 10.0**-digits):
            return f"{_significant(value / unit, digits)}{letter}"
    if size >= 10**digits - 0.5 or value == round(value):
        return f"{value:,.0f}" if size >= MIN_GROUPED else f"{value:.0f}"
    return _significant(value, digits)


def _significant(value: float | int, digits: int) -> str:
    power = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    return f"{value:.{max(digits - 1 - power, 0)}f}"


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def shown(value: Any) -> str:
    """A cell of a table as people write it: yes and no, dates without a time at midnight."""
    if value is None or value != value:
        return "missing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        ordinary = MIN_SHOWN <= abs(value) < MIN_GROUPED
        return f"{value:.4g}" if ordinary else number(value, 4)
    if hasattr(value, "isoformat"):
        return value.isoformat().removesuffix("T00:00:00")
    return str(value)[:40]


def yes_no(value: Any) -> str:
    """A truth value, however it is written, as yes or no."""
    known = {
        "true": "yes",
        "1": "yes",
        "1.0": "yes",
        "false": "no",
        "0": "no",
        "0.0": "no",
    }
    return known.get(str(value).lower(), str(value))


def with_error(value: Any, error: Any, sign: str = "") -> str:
    """A number with its standard error, both rounded to two digits of the error."""
    if value is None:
        return ""
    if not error:
        return f"{'+' if sign and value > 0 else ''}{number(value)}"
    if not MIN_SHOWN <= max(abs(value), error) < 1e6:
        return (
            f"{'+' if sign and value > 0 else ''}{number(value)} ± {number(error, 2)}"
        )
    decimals = min(max(1 - math.floor(math.log10(error)), 0), 4)
    return f"{value:{sign},.{decimals}f} ± {error:,.{decimals}f}"


def percent(share: Any, digits: int = 1) -> str:
    """A share as a percentage; 100 % and 0 % are exact."""
    if share is None:
        return ""
    text = f"{100 * share:.{digits}f}"
    if share < 1 and float(text) >= 100:
        return f"over {100 - 10**-digits:.{digits}f} %"
    return f"{_trimmed(text) if share in (0, 1) else text} %"


def p_value(p: Any) -> str:
    """A p-value with three decimals, or a bound where it is smaller."""
    if p is None:
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun: 1 column, 2 columns, 1,200 rows."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words as a list in a sentence: a, b and c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def ticks(low: float | int, high: float | int, limit: int = 6) -> list[float]:
    """At most so many round numbers between two ends."""
    low, high = min(low, high), max(low, high)
    raw = (high - low) / limit
    if not 1e-300 < raw < 1e300:
        return []
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def tick_labels(values: Sequence[float]) -> list[str]:
    """The labels of the ticks of one axis: the same unit and decimals for all."""
    if not values:
        return []
    top = max(abs(v) for v in values)
    step = min((b - a for a, b in zip(values, values[1:], strict=False)), default=top)
    if top and not MIN_SHOWN <= top < MAX_SHOWN:
        digits = 1 + max(0, math.ceil(math.log10(top / step))) if step else 2
        return [number(v, max(2, digits)) for v in values]
    unit, letter = 1.0, ""
    for size, name in (*UNITS, (1e3, "k")):
        if top >= 10 * size or (top >= size and size >= 1e6):
            unit, letter = size, name
            break
    decimals = max(0, -math.floor(math.log10(step / unit) + 1e-9)) if step else 0
    return [
        "0" if abs(v) < step / 1e6 else f"{v / unit:.{min(decimals, 9)}f}{letter}"
        for v in values
    ]
