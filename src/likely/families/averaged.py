r"""Rows that are mixtures of several rows of one prediction: $p_i = \frac1k \sum_j p_{ij}$."""

from typing import Any

import numpy as np
from scipy.special import logsumexp

from likely.families.compound import AbstractCompound
from likely.families.highest import highest
from likely.families.inversion import searched_count, searched_quantile


class Averaged(AbstractCompound):
    """The mixtures of k copies of n rows, with equal weights.

    Args:
        base: the prediction of k · n rows: all n rows once, then once again, ...
        copies: k.
    """

    def __init__(self, base: Any, copies: int):
        self.base, self.copies = base, int(copies)
        self.classes = base.classes

    def __len__(self) -> int:
        return len(self.base) // self.copies

    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y) of each row, in nats."""
        logs = self.of_copies(self.base.log_prob(self._repeated(y)))
        return np.asarray(logsumexp(logs, axis=0)) - np.log(self.copies)

    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y) of each row."""
        return self.of_copies(self.base.cdf(self._repeated(y))).mean(0)

    def _quantile(self, q: np.ndarray) -> np.ndarray:
        if self._is_class:
            below = np.cumsum(self.probs, axis=1)[:, :-1]
            goal = q * (1 - 4 * np.finfo(float).eps)
            return self._label((below < goal[:, None]).sum(1))
        ends = np.asarray(self.base._quantile(self._repeated(q)), float)
        ends = self.of_copies(ends)
        search = searched_count if self.discrete else searched_quantile
        return search(self.cdf, q, ends.min(0), ends.max(0))

    @property
    def discrete(self) -> bool:
        """Whether y is a whole number."""
        return self.base.discrete

    @property
    def mean(self) -> np.ndarray:
        """E[y]; for classes, the probabilities."""
        return self.of_copies(self.base.mean).mean(0)

    @property
    def var(self) -> np.ndarray:
        """The variance: the mean of those of the copies, and that of their means."""
        means = self.of_copies(self.base.mean)
        return self.of_copies(self.base.var).mean(0) + means.var(0)

    @property
    def mode(self) -> np.ndarray:
        """The most probable y: a label where y is a class, else by a search."""
        if self._is_class:
            return self._label(self.probs.argmax(1))
        modes = self.of_copies(np.asarray(self.base.mode, float))
        return highest(self.log_prob, modes, whole=self.discrete)

    @property
    def probs(self) -> np.ndarray:
        """(n, c) class probabilities."""
        return self.of_copies(self.base.probs).mean(0)

    def of_copies(self, values: Any) -> np.ndarray:
        """(k, n, ...) the values of all copies, by copy."""
        values = np.asarray(values)
        return values.reshape(self.copies, len(self), *values.shape[1:])

    def _repeated(self, values: Any) -> np.ndarray:
        return np.tile(np.broadcast_to(values, (len(self),)), self.copies)

    def _label(self, codes: np.ndarray) -> np.ndarray:
        return codes if self.classes is None else self.classes[codes]

    @property
    def _is_class(self) -> bool:
        return self.base._is_class

    @property
    def _kind(self) -> str:
        return self.base._kind

    def _take(self, rows: np.ndarray) -> "Averaged":
        starts = len(self) * np.arange(self.copies)
        return Averaged(self.base[(starts[:, None] + rows[None]).ravel()], self.copies)

    def _outputs(self) -> None:
        return None

    def _closed_crps(self, y: np.ndarray) -> None:
        return None
