"""What many fits are asked, and at which points."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likely.diagnostics.generalization.refits.answers import Want


@dataclass(frozen=True)
class Question:
    """What fits are asked, and where.

    Attributes:
        want: what is asked at each point.
        X: (t, d) the points; None for all rows of the table that the sets are parts of.
        y: (t,) targets there.
        asked: (m, t) where each fit is asked; None for everywhere. What a loop is not asked
            for is NaN.
        classes: all labels, sorted; None where y is a number.
    """

    want: Want
    X: Any = None
    y: Any = None
    asked: np.ndarray | None = None
    classes: np.ndarray | None = None
