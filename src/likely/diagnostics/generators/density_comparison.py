"""What a comparison of generative models found: nats, samples and cost in one table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.core.written_numbers import counted, listed, with_error
from likely.diagnostics.generators.contenders import BASELINE
from likely.diagnostics.generators.trial import Trial
from likely.diagnostics.result import Result
from likely.evaluate.scores import Score, paired_difference

SHOWN_ERRORS = 2.0
"""Standard errors from which on a difference is called shown."""


@dataclass(frozen=True, repr=False, eq=False)
class DensityComparison(Result):
    """Generative models of one table, judged on the same held-out rows.

    Attributes:
        trials: what came of each model, the most probable held-out rows first, then models
            that only draw rows, then those that failed.
        rows: how many rows were trained on and held out.
        moved: held-out rows that were given to training, as they had a level that no
            training row had.
    """

    trials: tuple[Trial, ...]
    rows: tuple[int, int]
    moved: int = 0

    @property
    def judged(self) -> tuple[Trial, ...]:
        """The models that say how probable held-out rows are, the best first."""
        return tuple(t for t in self.trials if t.likelihood is not None)

    @property
    def best(self) -> Any:
        """The fitted model that finds held-out rows most probable."""
        if not self.judged:
            raise InputError("no model says how probable held-out rows are.")
        return self.judged[0].model

    def trial(self, name: str) -> Trial:
        """What came of a model."""
        for found in self.trials:
            if found.name == name:
                return found
        raise InputError(f"there is no model {name!r} in this comparison.")

    def difference(self, a: str, b: str) -> Score:
        """Nats per row by which a model is worse than another, on the same rows.

        Args:
            a: the name of a model.
            b: the name of another.
        """
        losses = [self.trial(name).losses for name in (a, b)]
        if losses[0] is None or losses[1] is None:
            raise InputError("one of the models does not say how probable rows are.")
        return paired_difference(*losses)

    @property
    def verdict(self) -> str:
        """Which model predicts held-out rows best, and whether that is shown."""
        failed = [t.name for t in self.trials if t.failure]
        tail = f" Failed: {listed(failed)}." if failed else ""
        if not self.judged:
            return f"No model says how probable held-out rows are.{tail}"
        first = self.judged[0]
        likelihood: Any = first.likelihood
        most = "at most " if likelihood.bound else ""
        said = (
            f"{first.name} finds held-out rows most probable: {most}"
            f"{with_error(*likelihood.nats)} nats per row"
        )
        return f"{said}{self._beside(first)}.{tail}"

    def _beside(self, first: Trial) -> str:
        """The best model beside the others, in words."""
        tied, parts = [], []
        for other in self.judged[1:]:
            gap = self.difference(other.name, first.name)
            if not gap.value > SHOWN_ERRORS * gap.error and np.isfinite(gap.value):
                tied.append(other.name)
        if tied:
            parts.append(f"not shown to be better than {listed(tied, 'or')}")
        others = [t for t in self.judged[1:] if t.name not in tied]
        if others:
            gap = self.difference(others[0].name, first.name)
            parts.append(f"{with_error(*gap)} better than {others[0].name}")
        names = [t.name for t in others[1:]]
        if BASELINE in names:
            gap = self.difference(BASELINE, first.name)
            parts.append(f"{with_error(*gap)} better than {BASELINE}")
        return f", {' and '.join(parts)}" if parts else ""

    def table(self) -> Mapping[str, Any]:
        """A row for each model."""
        columns: dict[str, list[Any]] = {
            name: []
            for name in (
                "model", "taxonomy", "nats", "±", "worse by", "± ", "told apart",
                "coverage", "near training", "seconds", "note",
            )
        }  # fmt: skip
        for trial in self.trials:
            for name, value in zip(columns, self._cells(trial), strict=True):
                columns[name].append(value)
        if not any(columns["note"]):
            del columns["note"]
        return columns

    def _cells(self, trial: Trial) -> list[Any]:
        nats = trial.likelihood.nats if trial.likelihood else (None, None)
        gap: Any = (None, None)
        if trial.losses is not None:
            gap = self.difference(trial.name, self.judged[0].name)
        samples = trial.samples
        scores: list[Any] = [None] * 3
        if samples is not None:
            scores = [
                samples.told_apart.value,
                samples.support.coverage.value,
                samples.memorization.excess,
            ]
        seconds = None if np.isnan(trial.seconds) else round(trial.seconds, 1)
        kind = trial.taxonomy
        return [trial.name, kind, *nats, *gap, *scores, seconds, trial.failure]

    def __str__(self) -> str:
        train, out = self.rows
        moved = (
            f" {counted(self.moved, 'row')} with a level of its own stayed in training."
            if self.moved
            else ""
        )
        size = f"Trained on {counted(train, 'row')}, judged on {out:,} others.{moved}"
        return f"{super().__str__()}\n\n{size}"

    __repr__ = __str__

    def plot(self) -> Any:
        """Nats of each model beside the best, and the cost of each."""
        from likely import plots

        return plots.density_comparison(self)
