r"""Distributions made of other predictive distributions: mixed, exponentiated, stretched.

Each has the methods of `Predictive`, computed from those of its parts, so they nest:

    Mixed          $p(y) = \sum_j π_j p_j(y)$, parts of any families
    Exponentiated  $y = e^z$ with z of a known distribution: $p(y) = p_z(\log y) / y$
    Stretched      $y = m + s (z - m)$ about the median m: intervals s times as wide
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp, roots_legendre, softmax

from likely.core.checks import InputError
from likely.families.inversion import bisected_quantile
from likely.families.mixture import Mixture
from likely.families.normal import Normal
from likely.families.predictive import Predictive

QUADRATURE_NODES = 32


class AbstractCompound(ABC):
    """A distribution given by log_prob, cdf and quantile; the rest follows from these."""

    classes: np.ndarray | None = None

    @property
    def discrete(self) -> bool:
        """Whether y is a whole number."""
        return False

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y) of each row, in nats; −∞ where y is impossible."""

    @abstractmethod
    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y) of each row."""

    @abstractmethod
    def quantile(self, q: Any) -> np.ndarray:
        """The smallest y with P(Y ≤ y) ≥ q."""

    @property
    def mean(self) -> np.ndarray:
        r"""E[y] $= \int_0^1 Q(u)\,du$, by Gauss's rule."""
        return self._integral(lambda y: y)

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of y."""
        mean = self.mean
        return np.sqrt(self._integral(lambda y: (y - mean) ** 2))

    def interval(self, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central interval of this coverage."""
        if not 0 <= coverage <= 1:
            raise InputError(f"coverage is {coverage}; give a number from 0 to 1.")
        tail = (1 - coverage) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, rows) independent draws, by the quantiles of uniform numbers."""
        rng = np.random.default_rng(random_state)
        return np.stack([self.quantile(rng.random(len(self))) for _ in range(n)])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={len(self)})"

    def _integral(self, f: Any) -> np.ndarray:
        """E[f(y)] of each row, by Gauss's rule over the quantiles."""
        nodes, weights = roots_legendre(QUADRATURE_NODES)
        values = [f(self.quantile(0.5 * (1 + u))) for u in nodes]
        return 0.5 * np.tensordot(weights, np.stack(values), axes=1)


class Mixed(AbstractCompound):
    """A mixture of predictive distributions of the same rows.

    Args:
        parts: the distributions.
        weights: the weight of each part, not negative, with sum 1.
    """

    def __init__(self, parts: Sequence[Any], weights: Float[np.ndarray, " m"]):
        self.parts, self.weights = list(parts), np.asarray(weights, np.float64)
        if len(self.parts) != len(self.weights) or not self.parts:
            raise InputError("give one weight for each part, and at least one part.")
        if self.weights.min() < 0 or abs(self.weights.sum() - 1) > 1e-8:
            raise InputError("weights must not be negative, and their sum must be 1.")
        self.classes = self.parts[0].classes

    @classmethod
    def of(cls, parts: Sequence[Any], weights: Any) -> "Mixed":
        """The mixture of the parts with weight above zero, the weights divided by their sum."""
        weights = np.asarray(weights, np.float64)
        kept = [part for part, w in zip(parts, weights, strict=True) if w > 0]
        return cls(kept, weights[weights > 0] / weights.sum())

    def __len__(self) -> int:
        return len(self.parts[0])

    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y) of each row, in nats."""
        logs = np.stack([part.log_prob(y) for part in self.parts])
        return np.asarray(logsumexp(logs, axis=0, b=self.weights[:, None]))

    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y) of each row."""
        return self._average([part.cdf(y) for part in self.parts])

    def quantile(self, q: Any) -> np.ndarray:
        """The quantiles, by bisection between those of the parts."""
        ends = np.stack([np.asarray(part.quantile(q), float) for part in self.parts])
        used = ends[self.weights > 0]
        low, high = used.min(0), used.max(0)
        found = bisected_quantile(self.cdf, q, low, high)
        return np.ceil(found - 1e-6) if self.discrete else found

    @property
    def discrete(self) -> bool:
        """Whether every part is discrete."""
        return all(part.discrete for part in self.parts)

    @property
    def mean(self) -> np.ndarray:
        """E[y]; for classes, the probabilities."""
        return self._average([part.mean for part in self.parts])

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of y."""
        squares = [part.std**2 + part.mean**2 for part in self.parts]
        return np.sqrt(np.maximum(self._average(squares) - self.mean**2, 0.0))

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, rows) draws: a random part for each, then a draw from it."""
        rng = np.random.default_rng(random_state)
        seeds = rng.integers(2**31, size=len(self.parts))
        pairs = zip(self.parts, seeds.tolist(), strict=True)
        draws = np.stack([part.sample(n, random_state=seed) for part, seed in pairs])
        chosen = rng.choice(len(self.parts), size=draws.shape[1:], p=self.weights)
        return np.take_along_axis(draws, chosen[None], axis=0)[0]

    @property
    def probs(self) -> np.ndarray:
        """(n, c) class probabilities."""
        return self._average([part.probs for part in self.parts])

    @property
    def mode(self) -> np.ndarray:
        """The most probable class."""
        best = self.probs.argmax(1)
        return best if self.classes is None else self.classes[best]

    def _average(self, answers: list) -> np.ndarray:
        return np.tensordot(self.weights, np.stack(answers), axes=1)


class Exponentiated(AbstractCompound):
    """The distribution of y = e^z, with z of a given distribution.

    Args:
        base: the distribution of z = log y.
    """

    def __init__(self, base: Any):
        self.base = base

    def __len__(self) -> int:
        return len(self.base)

    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y) = log p_z(log y) − log y."""
        y, z = _logs(y)
        return np.where(y > 0, self.base.log_prob(z) - z, -np.inf)

    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y) of each row."""
        y, z = _logs(y)
        return np.where(y > 0, self.base.cdf(z), 0.0)

    def quantile(self, q: Any) -> np.ndarray:
        """The exponential of the quantile of z."""
        return np.exp(np.minimum(self.base.quantile(q), 700.0))

    @property
    def mean(self) -> np.ndarray:
        r"""E[y]: for normal z (or a mixture of normals) $\sum_j π_j e^{μ_j + σ_j^2/2}$."""
        theta = _normals(self.base)
        if theta is None:
            return super().mean
        log_mean = np.minimum(theta["loc"] + 0.5 * theta["scale"] ** 2, 700.0)
        if "mixture_logits" not in theta:
            return np.exp(log_mean)
        return (softmax(theta["mixture_logits"], axis=1) * np.exp(log_mean)).sum(1)


def _normals(dist: Any) -> dict[str, np.ndarray] | None:
    """The parameters of a normal or a mixture of normals; None for others."""
    if not isinstance(dist, Predictive):
        return None
    family = dist.family
    inner = family.family if isinstance(family, Mixture) else family
    return dist.theta if isinstance(inner, Normal) else None


def _logs(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Each y and its logarithm, which is 0 where y is not positive."""
    y = np.asarray(y, np.float64)
    return y, np.log(np.where(y > 0, y, 1.0))


class Stretched(AbstractCompound):
    """A distribution with all distances from the median multiplied: recalibrated.

    Args:
        base: a distribution of numbers.
        factor: s; above 1 makes every interval wider.
    """

    def __init__(self, base: Any, factor: float):
        self.base, self.factor = base, float(factor)
        self.middle = np.asarray(base.quantile(0.5))

    def __len__(self) -> int:
        return len(self.base)

    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y) = log p_z(m + (y − m)/s) − log s."""
        return self.base.log_prob(self._inner(y)) - np.log(self.factor)

    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y) of each row."""
        return self.base.cdf(self._inner(y))

    def quantile(self, q: Any) -> np.ndarray:
        """The quantile m + s (Q_z(q) − m)."""
        return self.middle + self.factor * (self.base.quantile(q) - self.middle)

    @property
    def mean(self) -> np.ndarray:
        """The mean m + s (E[z] − m)."""
        return self.middle + self.factor * (self.base.mean - self.middle)

    @property
    def std(self) -> np.ndarray:
        """The standard deviation of z, times s."""
        return self.factor * self.base.std

    def _inner(self, y: Any) -> np.ndarray:
        return self.middle + (np.asarray(y, np.float64) - self.middle) / self.factor


AnyPredictive = Predictive | AbstractCompound
