"""Dates as numbers: year, month, weekday, ... and the days elapsed."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, no_type_check

import numpy as np

from likely.core.checks import InputError
from likely.data.columns import as_timestamps
from likely.preprocess.transformer import AbstractTransformer
from likely.preprocess.validation import row_weights, table_columns

DAY = 86_400_000_000
"""Microseconds of a day."""
MONTHS = "datetime64[M]"


def _days(times: np.ndarray) -> np.ndarray:
    return times.astype("datetime64[D]")


PARTS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float | None]] = {
    "elapsed": (lambda t: t.astype("int64") / DAY, None),
    "year": (lambda t: t.astype("datetime64[Y]").astype(int) + 1970, None),
    "month": (lambda t: t.astype(MONTHS).astype(int) % 12 + 1, 12.0),
    "day": (lambda t: (_days(t) - t.astype(MONTHS)).astype(int) + 1, 31.0),
    "day_of_year": (
        lambda t: (_days(t) - t.astype("datetime64[Y]")).astype(int) + 1,
        365.25,
    ),
    "weekday": (lambda t: (_days(t).astype(int) + 3) % 7, 7.0),
    "hour": (lambda t: t.astype("int64") // (DAY // 24) % 24, 24.0),
}
"""Each part as a function of timestamps, and the period after which it repeats."""


class DateParts(AbstractTransformer):
    """Encodes each column of dates as numbers that a model can use.

    Parts that are the same in all rows are left out; Monday is weekday 0; `elapsed`
    counts days from the first date seen. A missing date is NaN in every part. Names are
    `sold_year`, or `sold_month_sin` and `sold_month_cos`.

    Args:
        parts: of "elapsed", "year", "month", "day", "day_of_year", "weekday", "hour".
        cyclic: give periodic parts (all but the first two) as sine and cosine, so that
            December is next to January.

    Attributes:
        start_: the first date of each column, (d,) days since 1970.
        kept_: which parts vary, (d, parts) of bool.

    Examples:
        >>> dates = np.array([["2024-03-01"], ["2024-12-31"]], dtype="datetime64[D]")
        >>> lk.preprocess.DateParts(parts=("month", "weekday")).fit_transform(dates)
        array([[ 3.,  4.],
               [12.,  1.]])
    """

    _input_tags = ("allow_nan",)

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        parts: Sequence[str] = ("elapsed", "year", "month", "day", "weekday", "hour"),
        cyclic: bool = False,
    ):
        self.parts = parts
        self.cyclic = cyclic

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        for part in self.parts:
            if part not in PARTS:
                raise InputError(f"there is no part {part!r}; give {', '.join(PARTS)}.")
        columns = self._timestamps(X, reset=True)
        present = row_weights(sample_weight, len(columns[0])) > 0
        self.fit_chunks([[column[present] for column in columns]])

    def fit_chunks(self, chunks: Iterable[Sequence[np.ndarray]]) -> "DateParts":
        """Learn from columns of datetime64, chunk by chunk."""
        ranges = [[self._range(column) for column in columns] for columns in chunks]
        low = np.fmin.reduce(np.array(ranges)[:, :, 0])
        high = np.fmax.reduce(np.array(ranges)[:, :, 1])
        self.start_ = np.nan_to_num(low[:, 0])
        self.kept_ = low[:, 1:] < high[:, 1:]
        return self

    def _range(self, times: np.ndarray) -> list[np.ndarray]:
        """The smallest and largest values: of the elapsed days, then of each part."""
        present = times[~np.isnat(times)]
        if not len(present):
            return [np.full(1 + len(self.parts), np.nan)] * 2
        values = [PARTS[part][0](present) for part in ("elapsed", *self.parts)]
        smallest = np.array([value.min() for value in values], float)
        return [smallest, np.array([value.max() for value in values], float)]

    def _transform(self, X: Any) -> np.ndarray:
        return self.apply(self._timestamps(X))

    def apply(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """The parts of columns of datetime64, (n, parts)."""
        out = []
        for j, times in enumerate(columns):
            missing = np.isnat(times)
            times = np.where(missing, np.datetime64(0, "us"), times)
            for part in self._kept(j):
                value = PARTS[part][0](times).astype(float)
                value -= self.start_[j] if part == "elapsed" else 0.0
                numbers = self._cycled(value, PARTS[part][1])
                out += [np.where(missing, np.nan, number) for number in numbers]
        n = len(columns[0])
        return np.stack(out, axis=1) if out else np.empty((n, 0))

    def _cycled(self, value: np.ndarray, period: float | None) -> list[np.ndarray]:
        """The value itself, or its sine and cosine where it is periodic."""
        if period is None or not self.cyclic:
            return [value]
        angle = 2 * np.pi * value / period
        return [np.sin(angle), np.cos(angle)]

    def _kept(self, j: int) -> list[str]:
        return [
            part for part, kept in zip(self.parts, self.kept_[j], strict=True) if kept
        ]

    def _timestamps(self, X: Any, *, reset: bool = False) -> list[np.ndarray]:
        if not hasattr(X, "shape") and not hasattr(X, "columns"):
            X = np.asarray(X)
        return table_columns(self, X, as_timestamps, reset=reset)

    def _names_out(self, names: list[str]) -> list[str]:
        found = []
        for j, feature in enumerate(names):
            for part in self._kept(j):
                periodic = self.cyclic and PARTS[part][1] is not None
                ends = ("_sin", "_cos") if periodic else ("",)
                found += [f"{feature}_{part}{end}" for end in ends]
        return found
