"""What the risks of a fitted predictor are, and how far apart."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from likely.diagnostics.generalization.wording import difference, shown
from likely.diagnostics.result import Result
from likely.evaluate.scores import Score


@dataclass(frozen=True, repr=False, eq=False)
class Risks(Result):
    """The risks of a fitted predictor; what was not asked for is None.

    Attributes:
        loss: the name of the loss.
        expected: the mean loss on new rows of the generator, with its Monte Carlo error.
        empirical: the mean loss on the training rows.
        held_out: the mean loss on held-out rows.
        noise: the expected loss of the best possible predictor.
        excess: the expected loss beyond the noise.
        rows: rows that were drawn of the generator.
    """

    loss: str
    expected: Score | None
    empirical: Score | None
    held_out: Score | None
    noise: Score | None
    excess: Score | None
    rows: int

    @property
    def gap(self) -> Score | None:
        """The generalisation gap: expected (else held-out) minus empirical risk.

        Its error is that of the new rows and of the training rows together.
        """
        new = self.expected or self.held_out
        if new is None or self.empirical is None:
            return None
        return difference(new, self.empirical)

    @property
    def verdict(self) -> str:
        """How far the risks are from each other."""
        sentences = [self._of_expected(), self._of_gap(), self._of_held_out()]
        return " ".join(filter(None, sentences))

    def _of_expected(self) -> str:
        if self.expected is None:
            return ""
        noise = "" if self.noise is None else f", of which {shown(self.noise)} is noise"
        return f"The expected risk ({self.loss} loss) is {shown(self.expected)}{noise}."

    def _of_gap(self) -> str:
        gap = self.gap
        if gap is None or self.empirical is None:
            return ""
        new = "expected" if self.expected is not None else "held-out"
        if abs(gap.value) <= 2 * gap.error:
            found = f"a difference from the {new} risk is not shown"
        else:
            found = f"the {new} risk is {'larger' if gap.value > 0 else 'smaller'}"
        return (
            f"The risk on the training rows is {shown(self.empirical)}; the generalisation "
            f"gap is {shown(gap)}: {found}."
        )

    def _of_held_out(self) -> str:
        if self.held_out is None or self.expected is None:
            return ""
        off = difference(self.held_out, self.expected)
        agrees = abs(off.value) <= 2 * off.error
        found = (
            "agrees with the expected one"
            if agrees
            else ("differs from the expected one by more than two standard errors")
        )
        return f"The held-out risk, {shown(self.held_out)}, {found}."

    def table(self) -> Mapping[str, Any]:
        """A row for each risk."""
        rows = {
            "expected": self.expected,
            "empirical": self.empirical,
            "held out": self.held_out,
            "noise": self.noise,
            "excess": self.excess,
            "gap": self.gap,
        }
        known = {name: score for name, score in rows.items() if score is not None}
        return {
            "risk": list(known),
            f"{self.loss} loss": [score.value for score in known.values()],
            "error": [score.error for score in known.values()],
        }

    def plot(self) -> Any:
        """The risks with two standard errors."""
        from likely import plots

        return plots.risks(self)
