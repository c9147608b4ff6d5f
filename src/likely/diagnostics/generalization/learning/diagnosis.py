r"""Does a learner underfit or overfit? A diagnosis from losses on training and held-out rows.

It overfits where much of what it gains on training rows, over one prediction for all rows, is
lost on held-out rows. It underfits where it does worse on its own training rows than a more
flexible learner does on held-out rows. What is smaller than two standard errors is not shown. A
small gap and a high loss may also be noise: without a more flexible learner to compare with, the
two cannot be told apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from likely.core.written_numbers import percent
from likely.diagnostics.generalization.wording import shown
from likely.diagnostics.result import Result
from likely.evaluate.scores import Score

MAX_LOST = 0.2
"""The share of the gain on training rows that may be lost on held-out rows."""


@dataclass(frozen=True, repr=False, eq=False)
class FitDiagnosis(Result):
    """Whether a learner underfits or overfits.

    Attributes:
        loss: the name of the loss.
        rows: training rows of a fit.
        train: the loss on training rows.
        held_out: the loss on held-out rows.
        gap: held-out minus training loss, by the same rows.
        null: the held-out loss of one prediction for all rows.
        gain: null minus held-out loss, by the same rows.
        train_gain: null minus training loss, by the same rows.
        reference: the held-out loss of a more flexible learner, or None.
        behind: training loss minus held-out loss of the reference, by the same rows, or None.
        reference_name: what the reference is.
    """

    loss: str
    rows: int
    train: Score
    held_out: Score
    gap: Score
    null: Score
    gain: Score
    train_gain: Score
    reference: Score | None = None
    behind: Score | None = None
    reference_name: str = ""

    @property
    def lost(self) -> float:
        """The share of what can be gained that is lost on held-out rows.

        That is the gain on training rows, or that of the reference if it is larger.
        """
        gained = self.train_gain.value
        if self.reference is not None:
            gained = max(gained, self.null.value - self.reference.value)
        return self.gap.value / gained if gained > 0 else float("nan")

    @property
    def kind(self) -> str:
        """One of "overfits", "underfits", "both", "fits" and "learns nothing"."""
        learned = self._shown(self.train_gain)
        over = learned and self._shown(self.gap) and self.lost > MAX_LOST
        under = self.behind is not None and self._shown(self.behind)
        if over or under:
            return "both" if over and under else "overfits" if over else "underfits"
        return "fits" if self._shown(self.gain) else "learns nothing"

    @staticmethod
    def _shown(score: Score) -> bool:
        return score.value > 2 * score.error

    @property
    def verdict(self) -> str:
        """What is wrong, by which numbers, and what to do."""
        zero = abs(self.train.value) < 1e-12 * abs(self.null.value)
        losses = (
            f"the {self.loss} loss is {'0' if zero else shown(self.train)} on training rows and "
            f"{shown(self.held_out)} on held-out rows; one prediction for all has "
            f"{shown(self.null)}"
        )
        kind = self.kind
        if kind == "learns nothing":
            return (
                f"Nothing is learned that could be shown: {losses}. The model is too simple for "
                "these columns, or they do not say anything about y, or rows are too few."
            )
        if kind in ("overfits", "both"):
            found = (
                f"It overfits: {losses}, so {percent(min(self.lost, 1), 0)} of the gain on "
                "training rows is lost on new ones. More rows, a stronger penalty, fewer "
                "columns or an average of several fits would help."
            )
            return found if kind == "overfits" else f"{found} {self._better_model()}"
        if kind == "underfits":
            return f"It underfits: {losses}. {self._better_model()}"
        known = (
            f"{self.reference_name} is not better"
            if self.reference is not None
            else "whether a more flexible model would do better was not tried"
        )
        return f"No overfitting is shown: {losses}, and {known}."

    def _better_model(self) -> str:
        assert self.reference is not None
        return (
            "On its own training rows it does worse than a more flexible model on held-out "
            f"rows ({self.reference_name}: {shown(self.reference)})."
        )

    def table(self) -> Mapping[str, Any]:
        """A row for each loss."""
        rows = {
            "training rows": self.train,
            "held-out rows": self.held_out,
            "gap": self.gap,
            "one prediction for all": self.null,
            self.reference_name or "reference": self.reference,
        }
        known = {name: score for name, score in rows.items() if score is not None}
        return {
            "loss": list(known),
            self.loss: [score.value for score in known.values()],
            "error": [score.error for score in known.values()],
        }

    def plot(self) -> Any:
        """The losses with two standard errors."""
        from likely import plots

        return plots.fit_diagnosis(self)
