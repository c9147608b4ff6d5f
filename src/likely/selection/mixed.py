"""A mixture of predictive distributions of any families, with the face of `Predictive`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.families import Predictive

BISECTIONS, LEAST = 60, 1e-300


@dataclass(frozen=True)
class MixedPredictive:
    """p(y | x) = Σ_j π_j p_j(y | x) for each of n rows.

    Attributes:
        members: a `Predictive` of each member.
        weights: (m,) π.
    """

    members: tuple[Predictive, ...]
    weights: Float[np.ndarray, " m"]

    @classmethod
    def of(cls, members: Sequence[Any], weights: Any) -> "MixedPredictive":
        """Members of weight zero are left out."""
        weights = np.asarray(weights, np.float64)
        kept = [m for m, w in zip(members, weights, strict=True) if w > 0]
        return cls(tuple(kept), weights[weights > 0] / weights.sum())

    def __len__(self) -> int:
        return len(self.members[0])

    @property
    def mean(self) -> np.ndarray:
        """E[y]."""
        return self._average([m.mean for m in self.members])

    @property
    def std(self) -> np.ndarray:
        """The variance within members and that of their means."""
        means = [m.mean for m in self.members]
        centre = self._average(means)
        spreads = [
            m.std**2 + (mean - centre) ** 2
            for m, mean in zip(self.members, means, strict=True)
        ]
        return np.sqrt(self._average(spreads))

    def log_prob(self, y: Any) -> np.ndarray:
        """log Σ_j π_j p_j(y), in nats."""
        L = np.stack([m.log_prob(y) for m in self.members], axis=1)
        top = L.max(1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return np.log(np.exp(L - top) @ self.weights) + top[:, 0]

    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y) of each row."""
        return self._average([m.cdf(y) for m in self.members])

    def quantile(self, q: Any) -> np.ndarray:
        """The y with P(Y ≤ y) = q, by bisection between those of the members."""
        ends = np.stack([m.quantile(q) for m in self.members])
        low, high = ends.min(0), ends.max(0)
        q = np.broadcast_to(np.asarray(q, np.float64), low.shape)
        for _ in range(BISECTIONS):
            middle = low + 0.5 * (high - low)
            below = self.cdf(middle) < q
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high

    def interval(self, coverage: float | int = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central interval of this coverage."""
        if not 0 <= coverage <= 1:
            raise InputError(f"coverage is {coverage}; give a number from 0 to 1.")
        tail = (1 - coverage) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, rows) independent draws: a member for each, then from it."""
        rng = np.random.default_rng(random_state)
        chosen = rng.choice(len(self.members), size=(n, len(self)), p=self.weights)
        seeds = rng.integers(2**31, size=len(self.members))
        draws = np.stack(
            [
                m.sample(n, random_state=int(s))
                for m, s in zip(self.members, seeds, strict=True)
            ]
        )
        return np.take_along_axis(draws, chosen[None], 0)[0]

    def _average(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.tensordot(self.weights, np.stack(parts), 1)
