"""Dates as numbers: year, month, weekday, ... and the days gone by."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.core.checks import InputError
from likely.data.columns import as_moments
from likely.data.frames import to_arrow
from likely.preprocess.rows import names_in, weights_of

DAY = 86_400_000_000
MONTHS = "datetime64[M]"


def _days(moments: np.ndarray) -> np.ndarray:
    return moments.astype("datetime64[D]")


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
"""Each part, as a function of moments, and the period it comes back after."""


class DateParts(TransformerMixin, BaseEstimator):
    """Numbers that a model can use, for each column of dates.

    Parts that are the same in all rows are left out; Monday is weekday 0; `elapsed`
    counts days from the first one seen. A missing date is NaN in every part.

    Args:
        parts: of "elapsed", "year", "month", "day", "day_of_year", "weekday", "hour".
        cyclic: give parts that come back (all but the first two) as sine and cosine, so
            that December is next to January.

    Attributes:
        start_: the first moment of each column, (d,) days since 1970.
        kept_: which parts vary, (d, parts) of bool.
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        parts: Sequence[str] = ("elapsed", "year", "month", "day", "weekday", "hour"),
        cyclic: bool = False,
    ):
        self.parts = parts
        self.cyclic = cyclic

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "DateParts":
        """Learn the first moment, and what varies, from rows that have weight."""
        for part in self.parts:
            if part not in PARTS:
                raise InputError(f"there is no part {part!r}; give {', '.join(PARTS)}.")
        columns = self._moments(X, reset=True)
        present = weights_of(sample_weight, len(columns[0])) > 0
        return self.fit_chunks([[column[present] for column in columns]])

    def fit_chunks(self, chunks: Iterable[Sequence[np.ndarray]]) -> "DateParts":
        """Learn from columns of datetime64, chunk by chunk."""
        ends = [[self._ends(column) for column in columns] for columns in chunks]
        low = np.fmin.reduce(np.array(ends)[:, :, 0])
        high = np.fmax.reduce(np.array(ends)[:, :, 1])
        self.start_ = np.nan_to_num(low[:, 0])
        self.kept_ = low[:, 1:] < high[:, 1:]
        return self

    def _ends(self, moments: np.ndarray) -> list[np.ndarray]:
        """The least and the largest of each part, the time gone by before them."""
        here = moments[~np.isnat(moments)]
        if not len(here):
            return [np.full(1 + len(self.parts), np.nan)] * 2
        values = [PARTS[part][0](here) for part in ("elapsed", *self.parts)]
        least = np.array([value.min() for value in values], float)
        return [least, np.array([value.max() for value in values], float)]

    def transform(self, X: Any) -> np.ndarray:
        """(n, parts) of numbers."""
        check_is_fitted(self)
        return self.apply(self._moments(X))

    def apply(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """(n, parts) from columns of datetime64."""
        out = []
        for j, moments in enumerate(columns):
            gone = np.isnat(moments)
            moments = np.where(gone, np.datetime64(0, "us"), moments)
            for part in self._kept(j):
                value = PARTS[part][0](moments).astype(float)
                value -= self.start_[j] if part == "elapsed" else 0.0
                turned = self._turned(value, PARTS[part][1])
                out += [np.where(gone, np.nan, number) for number in turned]
        n = len(columns[0])
        return np.stack(out, axis=1) if out else np.empty((n, 0))

    def _turned(self, value: np.ndarray, period: float | None) -> list[np.ndarray]:
        if period is None or not self.cyclic:
            return [value]
        angle = 2 * np.pi * value / period
        return [np.sin(angle), np.cos(angle)]

    def _kept(self, j: int) -> list[str]:
        return [
            part for part, kept in zip(self.parts, self.kept_[j], strict=True) if kept
        ]

    def _moments(self, X: Any, *, reset: bool = False) -> list[np.ndarray]:
        if not hasattr(X, "shape") and not hasattr(X, "columns"):
            X = np.asarray(X)
        validate_data(self, X, skip_check_array=True, reset=reset)
        table = to_arrow(X)
        pairs = zip(table.column_names, table.columns, strict=True)
        return [as_moments(values, name) for name, values in pairs]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """`sold_year`, or `sold_month_sin` and `sold_month_cos`."""
        check_is_fitted(self)
        names = []
        for j, feature in enumerate(names_in(self, input_features)):
            for part in self._kept(j):
                twice = self.cyclic and PARTS[part][1] is not None
                ends = ("_sin", "_cos") if twice else ("",)
                names += [f"{feature}_{part}{end}" for end in ends]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.allow_nan = True
        return tags
