"""Dates as people write them, each with the same date as year-month-day."""

import datetime
from typing import Any

import numpy as np

from likely.data.dataset import Dataset, generator

FIRST_YEAR, LAST_YEAR = 1950, 2049
"""A year of two digits is one of these hundred."""
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August",
    "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip
FORMATS = (
    "{d} {month} {y}",
    "{month} {d}, {y}",
    "{d} {mon} {y}",
    "{mon} {nth}, {y}",
    "{weekday}, {d} {month} {y}",
    "{day}, {mon} {d} {y}",
    "the {nth} of {month} {y}",
    "{d:02}-{mon}-{yy:02}",
    "{d:02}.{m:02}.{y}",
    "{d}.{m}.{yy:02}",
    "{m:02}/{d:02}/{y}",
    "{m}/{d}/{yy:02}",
    "{y}/{m:02}/{d:02}",
    "{y}{m:02}{d:02}",
)
"""Numbers with points have the day first, those with strokes the month, or the year."""


def date_formats(n: int = 10_000, *, random_state: Any = None) -> Dataset:
    """Dates in many formats (X), and the same dates as 1998-03-03 (y): texts to translate.

    Every format says by itself which number is the day, so that there is one right answer.
    Days are drawn uniformly from 1950 to 2049.

    Args:
        n: rows.
        random_state: seed or NumPy generator.

    Examples:
        >>> len(lk.data.date_formats(20, random_state=0).X)
        20
    """
    rng = generator(random_state)
    first = datetime.date(FIRST_YEAR, 1, 1).toordinal()
    last = datetime.date(LAST_YEAR, 12, 31).toordinal()
    days = [
        datetime.date.fromordinal(k) for k in rng.integers(first, last + 1, n).tolist()
    ]
    format_of = rng.integers(len(FORMATS), size=n)
    X = [_written(day, FORMATS[k]) for day, k in zip(days, format_of, strict=True)]
    y = [day.isoformat() for day in days]
    return Dataset(
        np.array(X, dtype=object),
        np.array(y, dtype=object),
        ("date",),
        ("iso",),
        "Dates in many formats",
        {"format": format_of},
    )


def _written(day: datetime.date, form: str) -> str:
    """A date in one of the `FORMATS`."""
    month, weekday = MONTHS[day.month - 1], WEEKDAYS[day.weekday()]
    return form.format(
        d=day.day, m=day.month, y=day.year, yy=day.year % 100, nth=_nth(day.day),
        month=month, mon=month[:3], weekday=weekday, day=weekday[:3],
    )  # fmt: skip


def _nth(number: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    last = 0 if 10 <= number % 100 <= 20 else number % 10
    return str(number) + {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
