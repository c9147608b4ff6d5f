r"""The code of one column of a table: cells to numbers that models take, and back.

    number      v = (x − center)/scale
    positive    v = (t(x) − center)/scale with t as in `positive`: x stays above 0
    whole       v = (x − center)/scale for whole x, so v has steps of width 1/scale
    count       v = x, one of 0, 1, 2, ...
    category    v = the number of the level among `levels`

Each kind has a family of v: densities for the first two, probabilities for the others.
"""

import dataclasses

import numpy as np

from likely.families import (
    AbstractFamily,
    Bernoulli,
    Categorical,
    NegativeBinomial,
    Normal,
    RoundedNormal,
)
from likely.preprocess.codec import positive

CONTINUOUS = ("number", "positive")
CODES = ("number", "positive", "whole", "count", "category")


@dataclasses.dataclass(frozen=True)
class ColumnCode:
    """One modelled column: its kind, its units, its levels."""

    name: str
    kind: str
    """One of `CODES`."""
    read: str
    """What its cells are read as: "number", "date" or "levels"."""
    center: float = 0.0
    scale: float = 1.0
    softness: float | None = None
    levels: tuple[str, ...] = ()
    """The levels of a category, in the order of their codes."""
    rounded: bool = False
    """Whether its numbers are whole."""
    incomplete: bool = False
    """Whether cells were missing."""
    low: float = -np.inf
    """The smallest number that was seen; counted in days for dates."""
    high: float = np.inf
    resolution: float = 0.0
    """The smallest distance of two different numbers, in units of v; 0 where there is none."""

    @property
    def discrete(self) -> bool:
        """Whether v has probabilities rather than a density."""
        return self.kind not in CONTINUOUS

    @property
    def n_levels(self) -> int:
        """How many levels a category has; 0 for numbers."""
        return len(self.levels)

    @property
    def step(self) -> float:
        """The distance of neighbouring values of v; 0 where it is continuous."""
        if not self.discrete:
            return 0.0
        return 1.0 / self.scale if self.kind == "whole" else 1.0

    @property
    def family(self) -> AbstractFamily:
        """The family of v."""
        if self.kind == "category":
            return Bernoulli() if self.n_levels == 2 else Categorical(self.n_levels)
        if self.kind == "count":
            return NegativeBinomial()
        if self.kind == "whole":
            return RoundedNormal(self.step, -self.center / self.scale)
        return Normal()

    # Numbers ---------------------------------------------------------------------------

    def encoded(self, x: np.ndarray) -> np.ndarray:
        """v of numbers; NaN where x is."""
        if self.kind == "count":
            return x
        with np.errstate(divide="ignore", invalid="ignore"):
            return (positive.forward(x, self.softness) - self.center) / self.scale

    def decoded(self, v: np.ndarray) -> np.ndarray:
        """The numbers of v, whole where the column's are, never below a bound of it."""
        if self.kind == "count":
            return np.maximum(np.round(v), 0.0)
        x = self.decoded_reals(v)
        if self.low == 0 and self.kind != "positive":
            x = np.maximum(x, 0.0)
        if not self.rounded:
            return x
        return np.maximum(np.round(x), 1.0 if self.kind == "positive" else -np.inf)

    def decoded_reals(self, v: np.ndarray) -> np.ndarray:
        """The numbers of v before they are rounded."""
        return positive.backward(v * self.scale + self.center, self.softness)

    def log_slope(self, v: np.ndarray) -> np.ndarray:
        """log |dv/dx| at each v; 0 for counts and categories."""
        if self.kind in ("count", "category"):
            return np.zeros_like(v)
        x = self.decoded_reals(v)
        return positive.log_slope(x, self.softness) - np.log(self.scale)

    def projected(self, v: np.ndarray) -> np.ndarray:
        """The nearest v that a cell can have."""
        if self.kind == "category":
            return np.clip(np.round(v), 0, self.n_levels - 1)
        if self.kind == "count":
            return np.maximum(np.round(v), 0.0)
        return self.encoded(self.decoded(v)) if self.rounded else v
