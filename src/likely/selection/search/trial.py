"""A trial: one setting with its score on every fold."""

from typing import Any, NamedTuple

import numpy as np


class Trial(NamedTuple):
    """One setting, judged on every fold; more is better."""

    number: int
    params: dict[str, Any]
    scores: tuple[float, ...]
    """The score of each fold, NaN where there is none."""
    failure: str = ""
    """Why there is no score, in a sentence; empty where there is one."""
    seconds: float = float("nan")
    """Time of the fits and scores; NaN where it was read from a journal."""
    resource: int | None = None
    """Rows, or iterations, that each fit was given; None where there is no budget."""
    rung: int = 0
    """How often the candidates had been reduced before."""

    @property
    def mean(self) -> float:
        """The mean score over folds, NaN for a failure."""
        return float("nan") if self.failure else float(np.mean(self.scores))

    @property
    def standard_error(self) -> float:
        """The standard error of `mean`, from the spread over folds."""
        j = len(self.scores)
        if self.failure or j < 2:
            return float("nan")
        return float(np.std(self.scores, ddof=1) / np.sqrt(j))
