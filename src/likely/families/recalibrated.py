r"""A prediction whose distribution function is corrected: $G(F(y))$ in the place of $F(y)$.

Where a model is right, $F(y)$ is uniform. Where held-out rows show another distribution G of
it, $G(F(y))$ is the one that is right. G is linear on each of k cells of [0, 1], so its
density there is the share of the cell over its width, $g_j = s_j / (l_{j+1} - l_j)$, and

$$p(y) = f(y)\, g(F(y)), \qquad Q(q) = F^{-1}(G^{-1}(q)).$$

Counts, and points that have a probability, get $G(F(y)) - G(F(y^-))$.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.families.compound import AbstractCompound
from likely.families.prediction import MIN_ATOM

NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
NODES, WEIGHTS = 0.5 * (1 + NODES), 0.5 * WEIGHTS


class Recalibrated(AbstractCompound):
    """A distribution with a corrected distribution function.

    Args:
        base: a distribution of numbers.
        levels: (k + 1,) the ends of the cells of F(y), rising from 0 to 1.
        shares: (k,) the probability of each cell, above zero, with sum 1.
    """

    def __init__(
        self,
        base: Any,
        levels: Float[np.ndarray, " l"],
        shares: Float[np.ndarray, " k"],
    ):
        self.base = base
        self.levels = np.asarray(levels, np.float64)
        self.shares = np.asarray(shares, np.float64)
        if base._is_class or base._outputs() is not None:
            raise InputError("only the distribution of one number can be recalibrated.")
        ends = self.levels[[0, -1]].tolist()
        if ends != [0.0, 1.0] or not (np.diff(self.levels) > 0).all():
            raise InputError("levels must rise from 0 to 1.")
        if len(self.shares) != len(self.levels) - 1 or not (self.shares > 0).all():
            raise InputError("give one share above 0 for each cell between two levels.")
        if abs(self.shares.sum() - 1) > 1e-8:
            raise InputError("the shares must have the sum 1.")

    def __len__(self) -> int:
        return len(self.base)

    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y) = log f(y) + log g, g averaged over the probability of y itself."""
        reached, before = self.base.cdf(y), self.base.below(y)
        mass = reached - before
        atom = mass > MIN_ATOM
        averaged = (self._mapped(reached) - self._mapped(before)) / np.where(
            atom, mass, 1.0
        )
        density = np.where(atom, averaged, self._density[self._cell(reached)])
        return self.base.log_prob(y) + np.log(density)

    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y) = G(F(y)) of each row."""
        return self._mapped(self.base.cdf(y))

    def _quantile(self, q: np.ndarray) -> np.ndarray:
        return self.base._quantile(np.interp(q, self._reached, self.levels))

    @property
    def discrete(self) -> bool:
        """Whether y is a whole number."""
        return self.base.discrete

    @property
    def mean(self) -> np.ndarray:
        """E[y], by Gauss's rule on each cell, corrected by the mean of the base."""
        return self._moment(lambda y: y, self.base.mean)

    @property
    def var(self) -> np.ndarray:
        """The variance of y, in the same way."""
        centre, mean = self.base.mean, self.mean
        about = self._moment(lambda y: (y - centre) ** 2, self.base.var)
        return np.maximum(about - (mean - centre) ** 2, 0.0)

    @property
    def mode(self) -> np.ndarray:
        """The most probable of the mode of the base and the ends of the cells."""
        sides = (self.levels[1:-1, None] + np.array([-1e-9, 1e-9])).ravel()
        ends = [self.base._quantile(np.full(len(self), q)) for q in sides]
        points = np.stack([np.asarray(self.base.mode, float), *ends])
        height = np.stack([self.log_prob(point) for point in points])
        return points[height.argmax(0), np.arange(len(self))]

    @property
    def _is_class(self) -> bool:
        return False

    @property
    def _kind(self) -> str:
        return self.base._kind

    def _take(self, rows: np.ndarray) -> "Recalibrated":
        return Recalibrated(self.base[rows], self.levels, self.shares)

    def _outputs(self) -> None:
        return None

    def _closed_crps(self, y: np.ndarray) -> None:
        return None

    @property
    def _reached(self) -> np.ndarray:
        """G at the levels."""
        return np.concatenate([[0.0], np.cumsum(self.shares)[:-1], [1.0]])

    @property
    def _density(self) -> np.ndarray:
        return self.shares / np.diff(self.levels)

    def _mapped(self, u: np.ndarray) -> np.ndarray:
        return np.interp(u, self.levels, self._reached)

    def _cell(self, u: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.levels[1:-1], np.where(np.isnan(u), 0.0, u))

    def _moment(
        self, f: Callable[[np.ndarray], np.ndarray], known: np.ndarray
    ) -> np.ndarray:
        """E[f(y)]; `known` is that of the base, which corrects the two cells at the ends."""
        parts = []
        for low, high in zip(self.levels[:-1], self.levels[1:], strict=True):
            u, weight = _nodes(low, high)
            values = [f(self.base._quantile(np.full(len(self), q))) for q in u]
            parts.append(np.tensordot(weight, np.stack(values), axes=1))
        rest = 0.5 * (known - np.sum(parts, axis=0))
        for end in (0, -1):
            parts[end] = parts[end] + rest
        return np.tensordot(self._density, np.stack(parts), axes=1)


def _nodes(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on a cell; denser towards 0 and 1, where quantiles run away."""
    width = high - low
    if low == 0:
        return high * NODES**3, high * 3 * NODES**2 * WEIGHTS
    if high == 1:
        return 1 - width * NODES**3, width * 3 * NODES**2 * WEIGHTS
    return low + width * NODES, width * WEIGHTS
