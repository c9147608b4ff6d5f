"""What a learning curve found: losses by size, a diagnosis, what more rows would bring."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from likely.core.written_numbers import number
from likely.diagnostics.generalization.learning.diagnosis import FitDiagnosis
from likely.diagnostics.generalization.learning.forecast import Forecast
from likely.diagnostics.result import Result
from likely.evaluate.scores import Score

MIN_RELATIVE_GAIN = 0.01
"""The share of a loss below which a gain is next to nothing."""
MIN_SHARE = 0.02
"""The share of its upper end below which the lower end of a band is zero."""


@dataclass(frozen=True, repr=False, eq=False)
class LearningCurve(Result):
    """The loss of a learner by the number of training rows.

    Attributes:
        loss: the name of the loss.
        learner: the name of the learner.
        sizes: (s,) training rows.
        train: the loss on training rows at each size.
        held_out: the loss on held-out rows.
        gap: held-out minus training loss.
        rows: rows of the table.
        diagnosis: whether the learner underfits or overfits with all training rows.
        forecast: the held-out loss with more rows, or None where there are too few sizes.
    """

    loss: str
    learner: str
    sizes: Int[np.ndarray, " s"]
    train: tuple[Score, ...]
    held_out: tuple[Score, ...]
    gap: tuple[Score, ...]
    rows: int
    diagnosis: FitDiagnosis
    forecast: Forecast | None

    @property
    def kind(self) -> str:
        """One of "overfits", "underfits", "both", "fits" and "learns nothing"."""
        return self.diagnosis.kind

    @property
    def verdict(self) -> str:
        """The diagnosis, and what twice the rows would bring."""
        return f"{self.diagnosis.verdict} {self._more_rows()}"

    def _more_rows(self) -> str:
        ahead = self.forecast
        if ahead is None:
            return "There are too few sizes to say what more rows would bring."
        if not ahead.trustworthy:
            return f"What more rows would bring cannot be said: {ahead.reason}."
        gain, low, high = ahead.gain
        least = max(low, 0.0)
        band = f"{number(least, 2)} to {number(high, 2)}"
        found = (
            f"Twice the rows would lower the held-out loss by about {number(gain, 2)} "
            f"({band})"
        )
        if high < MIN_RELATIVE_GAIN * abs(self.held_out[-1].value):
            return f"{found}: next to nothing."
        if least < MIN_SHARE * high:
            return f"{found}, which is not shown to be more than nothing."
        return f"{found}, to {number(ahead.loss[-1])}."

    def table(self) -> Mapping[str, Any]:
        """A row for each size."""
        columns: dict[str, Any] = {"rows": self.sizes.tolist()}
        for name in ("train", "held_out", "gap"):
            scores: tuple[Score, ...] = getattr(self, name)
            label = name.replace("_", " ")
            columns[label] = [score.value for score in scores]
            columns[f"{label} ±"] = [score.error for score in scores]
        return columns

    def values(self, name: str) -> Float[np.ndarray, " s"]:
        """The losses as an array: of "train", "held_out" or "gap"."""
        return np.array([score.value for score in getattr(self, name)])

    def errors(self, name: str) -> Float[np.ndarray, " s"]:
        """Their standard errors."""
        return np.array([score.error for score in getattr(self, name)])

    def plot(self) -> Any:
        """Both losses by size, with the forecast and its band."""
        from likely import plots

        return plots.learning_curve(self)
