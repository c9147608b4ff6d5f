"""What the findings of a run are about."""

from typing import NamedTuple

from likely.diagnostics.checks.collinearity import Inflation
from likely.workbench.ladder import Ladder
from likely.workbench.report.facts import Winner
from likely.workbench.report.measured import (
    Calibration,
    Groups,
    LearningCurve,
    Simple,
    WordFacts,
)

LEVEL = 0.002
"""The level of single tests, of which a run makes dozens."""


class Measured(NamedTuple):
    """What the findings are about."""

    ladder: Ladder
    winner: Winner
    simple: Simple
    calibration: Calibration
    learning_curve: LearningCurve | None
    important: list[str]
    """The columns that matter, the most important first."""
    inflated: tuple[Inflation, ...] = ()
    """Columns that others repeat."""
    words: tuple[WordFacts, ...] = ()
    """Of columns of text, those that matter most first."""
    groups: Groups | None = None
    """Scores and coverage by group."""
