"""What every predictive distribution of n rows has in common.

A class writes log_prob, cdf, the quantile at one level for each row, and how its rows are
chosen; indexing, quantiles at several levels, the median, intervals, densities and the
continuous ranked probability score follow.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.families.crps import crps_of_counts, crps_of_numbers
from likely.families.row_numbers import row_numbers

DENSITY, PROBABILITIES, BOTH = "density", "probabilities", "both"
ATOM_STEP, MIN_ATOM_STEP, MIN_ATOM = 1e-12, 1e-290, 1e-9
"""The step to the left of y, relative and least, by which the probability of y is found; a
smaller one than `MIN_ATOM` is that of a density over the step."""
KIND_SENTENCES = {
    DENSITY: "y has a density here, and no single value has a probability; use pdf.",
    PROBABILITIES: "y is a whole number or a class here, with a probability; use pmf.",
    BOTH: "some parts of y have a density and others probabilities; use log_prob.",
}


class AbstractPrediction(ABC):
    """A distribution of y for each of n rows."""

    classes: np.ndarray | None = None
    """The labels, where y is a class."""

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def discrete(self) -> bool:
        """Whether y is a whole number."""

    @property
    @abstractmethod
    def _is_class(self) -> bool:
        """Whether y is a class."""

    @property
    @abstractmethod
    def _kind(self) -> str:
        """Whether y has a density, probabilities, or parts with either."""

    @property
    @abstractmethod
    def mean(self) -> np.ndarray:
        """E[y]; for classes, the probabilities."""

    @property
    @abstractmethod
    def var(self) -> np.ndarray:
        """The variance of y (of the indicator of each class, for classes)."""

    @property
    @abstractmethod
    def mode(self) -> np.ndarray:
        """The most probable y, as a label where y is a class."""

    @abstractmethod
    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y) of each row, in nats; −∞ where y is impossible."""

    @abstractmethod
    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y) of each row (and output); `y` for all rows, or for each."""

    @abstractmethod
    def _quantile(self, q: np.ndarray) -> np.ndarray:
        """The quantile of each row at its own level; q has shape (n,)."""

    @abstractmethod
    def _take(self, rows: np.ndarray) -> "AbstractPrediction":
        """The distribution of the rows with these numbers."""

    @abstractmethod
    def _outputs(self) -> list[Any] | None:
        """The distribution of each output on its own, where one observation is a vector."""

    @abstractmethod
    def _closed_crps(self, y: Float[np.ndarray, " n"]) -> np.ndarray | None:
        """The continuous ranked probability score, where there is a formula."""

    @abstractmethod
    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, rows, ...) independent draws."""

    def __getitem__(self, rows: Any) -> Any:
        """The distribution of some rows: a number, a slice, a mask or a list of numbers.

        One number gives a distribution of one row.
        """
        return self._take(row_numbers(rows, len(self)))

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of y (of the indicator of each class, for classes)."""
        return np.sqrt(self.var)

    @property
    def median(self) -> np.ndarray:
        """The quantile at 0.5."""
        return self.quantile(0.5)

    def quantile(self, q: Any) -> np.ndarray:
        """The smallest y with P(Y ≤ y) ≥ q, in every row at every level.

        Args:
            q: one level, which gives (n,); or m levels, which give (n, m). Levels of their
                own for each row have shape (n, m) (or (n, 1)). With several outputs,
                the levels are again the last axis: (n, outputs, m).
        """
        q = np.asarray(q, np.float64)
        if not ((q >= 0) & (q <= 1)).all():
            raise InputError("q must lie between 0 and 1; it is a probability.")
        n = len(self)
        if q.ndim == 0:
            return self._quantile(np.broadcast_to(q, (n,)))
        if q.ndim > 2 or (q.ndim == 2 and len(q) not in (1, n)):
            raise InputError(
                f"q has shape {q.shape}; give one level, m levels for all rows, or shape "
                f"({n}, m) for levels of their own in each row."
            )
        levels = np.broadcast_to(q, (n, q.shape[-1])).T
        if not len(levels):
            return self._quantile(np.full(n, 0.5))[..., None][..., :0]
        return np.stack([self._quantile(level) for level in levels], axis=-1)

    def below(self, y: Any) -> np.ndarray:
        """P(Y < y) of each row: `cdf` without the probability of y itself."""
        reached = self.cdf(y)
        if self._kind == DENSITY:
            return reached
        if self._kind == PROBABILITIES:
            return np.maximum(reached - np.exp(self.log_prob(y)), 0.0)
        y = np.asarray(y, np.float64)  # a density, and a probability at some points
        before = self.cdf(y - np.maximum(ATOM_STEP * np.abs(y), MIN_ATOM_STEP))
        return np.where(reached - before > MIN_ATOM, before, reached)

    def interval(self, coverage: float | int = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central interval of this coverage."""
        if not 0 <= coverage <= 1:
            raise InputError(f"coverage is {coverage}; give a number from 0 to 1.")
        tail = (1 - coverage) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def pdf(self, y: Any) -> np.ndarray:
        """The density p(y) of each row; of all outputs together where there are several."""
        return self._exp_log_prob(y, DENSITY)

    def pmf(self, y: Any) -> np.ndarray:
        """The probability P(Y = y) of each row, where y is a whole number or a class."""
        return self._exp_log_prob(y, PROBABILITIES)

    def crps(self, y: Any) -> np.ndarray:
        r"""The continuous ranked probability score of each row (and output).

        $\int (F(t) - 1[t \ge y])^2 dt$, in the units of y: it is |y − m| for a prediction
        that is the point m, and the lower the better. It is computed by a formula for normals,
        their mixtures, log-normals, Student's t, Laplace, exponential, gamma and Weibull
        distributions and all families of counts, by sums for mixtures of counts, and by
        Gauss's rule between quantiles for the rest.
        """
        if self._is_class:
            raise InputError(
                "the continuous ranked probability score is one of numbers, and y is a "
                "class here; use log_prob, or evaluate.brier with probs."
            )
        outputs, y = self._outputs(), np.asarray(y, np.float64)
        if outputs is not None:
            columns = np.broadcast_to(y, (len(self), len(outputs))).T
            pairs = zip(outputs, columns, strict=True)
            return np.stack([output.crps(column) for output, column in pairs], axis=1)
        y = np.broadcast_to(y, (len(self),))
        score = self._closed_crps(y)
        if score is None:
            integrate = crps_of_counts if self.discrete else crps_of_numbers
            score = integrate(self, y)
        return np.where(np.isnan(y), np.nan, score)

    def _exp_log_prob(self, y: Any, wanted: str) -> np.ndarray:
        """exp log p(y), or a sentence where the distribution is of another kind."""
        if self._kind != wanted:
            raise InputError(KIND_SENTENCES[self._kind])
        return np.exp(self.log_prob(y))
