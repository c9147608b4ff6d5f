"""Training and test error by capacity, over repeated draws: double descent, or its absence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import binom

from likely.core.written_numbers import counted, number
from likely.diagnostics.result import Result

PEAK = 1.1
"""How many times the higher of the minima beside it a peak has to be."""


@dataclass(frozen=True, repr=False, eq=False)
class CapacityCurve(Result):
    r"""The errors of models of growing capacity, each fitted to several training sets.

    Medians over the training sets are reported, with the distribution-free error of a median: at
    the interpolation threshold the error of least-norm least squares has no finite mean (for
    normal features it is as large as 1/z² of a normal z now and then).

    Attributes:
        model: what was fitted.
        axis: what its capacity is called.
        sizes: (s,) capacities, rising.
        labels: (s,) the settings, where capacities are not all there is to say; else empty.
        rows: training rows.
        train_errors: (m, s) mean loss on the training rows of each set.
        test_errors: (m, s) mean loss on new rows.
        noise: the loss of the best possible model, or None.
        tolerance: the training error that counts as zero.
        loss: the name of the loss.
    """

    model: str
    axis: str
    sizes: Float[np.ndarray, " s"]
    labels: tuple[str, ...]
    rows: int
    train_errors: Float[np.ndarray, "m s"]
    test_errors: Float[np.ndarray, "m s"]
    noise: float | None
    tolerance: float
    loss: str

    @property
    def train(self) -> Float[np.ndarray, " s"]:
        """The median training error at each capacity."""
        return np.median(self.train_errors, axis=0)

    @property
    def test(self) -> Float[np.ndarray, " s"]:
        """The median test error."""
        return np.median(self.test_errors, axis=0)

    @property
    def train_error(self) -> Float[np.ndarray, " s"]:
        """The standard error of the median training error."""
        return median_error(self.train_errors)

    @property
    def test_error(self) -> Float[np.ndarray, " s"]:
        """The standard error of the median test error."""
        return median_error(self.test_errors)

    @property
    def threshold(self) -> float | None:
        """The interpolation threshold: the smallest capacity with zero training error.

        Zero in at least half of the training sets; None where it is not reached.
        """
        zero = np.flatnonzero(self.train <= self.tolerance)
        return None if not zero.size else float(self.sizes[zero[0]])

    @property
    def peak(self) -> float | None:
        """The capacity at which the test error peaks between two lower values, or None.

        A peak is at least a tenth above the lowest test error before it and after it, and the 95 %
        intervals of the median differences, by the same training sets, are above zero.
        """
        at = self._peak_index
        return None if at is None else float(self.sizes[at])

    @property
    def _peak_index(self) -> int | None:
        test = self.test
        for at in np.argsort(-test).tolist():
            if at in (0, len(test) - 1):
                continue
            minima = [int(test[:at].argmin()), at + 1 + int(test[at + 1 :].argmin())]
            high = test[at] >= PEAK * test[minima].max()
            if high and all(self._is_shown(at, low) for low in minima):
                return at
        return None

    def _is_shown(self, high: int, low: int) -> bool:
        """Whether the test error is larger at one capacity, by paired training sets."""
        gap = self.test_errors[:, [high]] - self.test_errors[:, [low]]
        return bool(median_interval(gap, 0.95)[0][0] > 0)

    @property
    def ratio(self) -> float:
        """The largest test error divided by the smallest."""
        return float(self.test.max() / self.test.min())

    @property
    def verdict(self) -> str:
        """Whether there is a double descent, and where."""
        at, threshold = self._peak_index, self.threshold
        zero = (
            f"The training error does not reach zero up to {self.axis} = "
            f"{number(self.sizes[-1], 4)}."
            if threshold is None
            else f"The training error is zero from {self.axis} = {number(threshold, 4)} on "
            f"(the interpolation threshold; there are {counted(self.rows, 'row')})."
        )
        if at is None:
            low = int(self.test.argmin())
            return (
                f"{zero} No double descent is shown: the test error is lowest, "
                f"{number(self.test[low])}, at {self.axis} = {number(self.sizes[low], 4)}, and has "
                "no peak between two lower values."
            )
        before = int(self.test[:at].argmin())
        after = at + 1 + int(self.test[at + 1 :].argmin())
        first, second = self.test[before], self.test[after]
        order = "level with"
        if self._is_shown(before, after) or self._is_shown(after, before):
            order = "below" if second < first else "above"
        return (
            f"{zero} The test error peaks at {self.axis} = {number(self.sizes[at], 4)} with "
            f"{number(self.test[at])}, {number(self.ratio, 2)} times its minimum, and descends "
            f"again to {number(second)} at {number(self.sizes[after], 4)}: {order} the first "
            f"minimum, {number(first)} at {number(self.sizes[before], 4)}."
        )

    def table(self) -> Mapping[str, Any]:
        """A row for each capacity."""
        columns: dict[str, Any] = {self.axis: [_whole(size) for size in self.sizes]}
        if self.labels:
            columns["setting"] = list(self.labels)
        return columns | {
            "train": self.train.tolist(),
            "train ±": self.train_error.tolist(),
            "test": self.test.tolist(),
            "test ±": self.test_error.tolist(),
        }

    def plot(self) -> Any:
        """Both errors by capacity, with the interpolation threshold."""
        from likely import plots

        return plots.capacity_curve(self)


def median_interval(
    values: Float[np.ndarray, "m s"], coverage: float
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]:
    """The order statistics between which a median lies, whatever the distribution.

    Args:
        values: draws, along the first axis.
        coverage: the least probability of the interval; the extremes where there are too few.
    """
    m = len(values)
    below = int(binom.ppf((1 - coverage) / 2, m, 0.5))
    ordered = np.sort(values, axis=0)
    return ordered[max(below - 1, 0)], ordered[min(m - below, m - 1)]


def median_error(values: Float[np.ndarray, "m s"]) -> Float[np.ndarray, " s"]:
    """The standard error of a median: half the width of its 68 % interval."""
    low, high = median_interval(values, 0.68)
    return (high - low) / 2


def _whole(size: float) -> Any:
    return int(size) if size == int(size) else float(size)
