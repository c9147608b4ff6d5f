"""A number that was computed or estimated, with its error and how it was found."""

from typing import Any, NamedTuple

import numpy as np


class Estimate(NamedTuple):
    """A value with its error: one entry for each row of a distribution, or one number.

    It converts to an array or a number where one is asked for.

    Attributes:
        value: what was asked for.
        error: a bound on the error of quadrature, or the standard error of what is estimated
            from draws; 0 for closed forms and sums.
        method: how it was found, in words.
    """

    value: Any
    error: Any
    method: str

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.value, dtype=dtype)

    def __float__(self) -> float:
        return float(np.asarray(self.value).item())

    def scaled(self, factor: float) -> "Estimate":
        """The estimate in another unit."""
        return Estimate(self.value * factor, self.error * factor, self.method)
