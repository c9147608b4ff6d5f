"""The distributions of rows that come from several predictions, one for each block of rows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from likely.families.compound import AbstractCompound
from likely.families.prediction import BOTH


class Joined(AbstractCompound):
    """Predictions of disjoint sets of rows as the prediction of all of these rows.

    Args:
        parts: the distributions.
        rows: the numbers of the rows of each part; together 0 ... n − 1.
    """

    def __init__(self, parts: Sequence[Any], rows: Sequence[Int[np.ndarray, " m"]]):
        self.parts, self.rows = list(parts), list(rows)
        self.classes = self.parts[0].classes

    def __len__(self) -> int:
        return sum(map(len, self.rows))

    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y) of each row, in nats."""
        return self.by_part(lambda part, y: part.log_prob(y), y)

    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y) of each row."""
        return self.by_part(lambda part, y: part.cdf(y), y)

    def _quantile(self, q: np.ndarray) -> np.ndarray:
        return self.by_part(lambda part, q: part._quantile(q), q)

    @property
    def discrete(self) -> bool:
        """Whether every part is discrete."""
        return all(part.discrete for part in self.parts)

    @property
    def mean(self) -> np.ndarray:
        """E[y]; for classes, the probabilities."""
        return self.by_part(lambda part: part.mean)

    @property
    def var(self) -> np.ndarray:
        """The variance of y."""
        return self.by_part(lambda part: part.var)

    @property
    def mode(self) -> np.ndarray:
        """The most probable y."""
        return self.by_part(lambda part: part.mode)

    @property
    def probs(self) -> np.ndarray:
        """(n, c) class probabilities."""
        return self.by_part(lambda part: part.probs)

    @property
    def _is_class(self) -> bool:
        return self.parts[0]._is_class

    @property
    def _kind(self) -> str:
        kinds = {part._kind for part in self.parts}
        return kinds.pop() if len(kinds) == 1 else BOTH

    def _take(self, rows: np.ndarray) -> "Joined":
        place = np.empty(len(self), int)
        owner = np.empty(len(self), int)
        for k, own in enumerate(self.rows):
            place[own], owner[own] = np.arange(len(own)), k
        used = np.unique(owner[rows]) if len(rows) else [0]
        parts = [self.parts[k][place[rows[owner[rows] == k]]] for k in used]
        return Joined(parts, [np.flatnonzero(owner[rows] == k) for k in used])

    def _outputs(self) -> None:
        return None

    def _closed_crps(self, y: np.ndarray) -> np.ndarray:
        return self.by_part(lambda part, y: part.crps(y), y)

    def by_part(self, f: Callable[..., Any], values: Any = None) -> np.ndarray:
        """f of each part, and of its share of `values`, in the order of the rows."""
        if values is not None:
            values = np.asarray(values)
            values = np.broadcast_to(values, (len(self), *values.shape[1:]))
        found: Any = None
        for part, rows in zip(self.parts, self.rows, strict=True):
            own = np.asarray(f(part) if values is None else f(part, values[rows]))
            if found is None:
                found = np.empty((len(self), *own.shape[1:]), own.dtype)
            found[rows] = own
        return found
