r"""Distributions made of other predictive distributions: mixed, exponentiated, stretched.

Each has the methods of `Predictive`, computed from those of its parts, so they nest:

    Mixed          $p(y) = \sum_j π_j p_j(y)$, parts of any families
    Exponentiated  $y = e^z$ with z of a known distribution: $p(y) = p_z(\log y) / y$
    Stretched      $y = m + s (z - m)$ about the median m: intervals s times as wide
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp, roots_legendre, softmax

from likely.core.checks import InputError
from likely.families.crps_formulas import crps_of_log_normal, crps_of_normals
from likely.families.highest import highest
from likely.families.inversion import searched_count, searched_quantile
from likely.families.mixture import Mixture
from likely.families.normal import Normal
from likely.families.prediction import BOTH, DENSITY, AbstractPrediction
from likely.families.predictive import Predictive

QUADRATURE_NODES = 32


class AbstractCompound(AbstractPrediction):
    """A distribution given by log_prob, cdf and quantile; the rest follows from these."""

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, rows) independent draws, by the quantiles of uniform numbers."""
        rng = np.random.default_rng(random_state)
        return np.stack([self._quantile(rng.random(len(self))) for _ in range(n)])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={len(self)})"

    def _integral(self, f: Any) -> np.ndarray:
        r"""E[f(y)] $= \int_0^1 f(Q(u))\,du$ of each row, by Gauss's rule."""
        nodes, weights = roots_legendre(QUADRATURE_NODES)
        values = [f(self.quantile(0.5 * (1 + u))) for u in nodes]
        return 0.5 * np.tensordot(weights, np.stack(values), axes=1)


class Mixed(AbstractCompound):
    """A mixture of predictive distributions of the same rows.

    Args:
        parts: the distributions.
        weights: the weight of each part, not negative, with sum 1.

    Examples:
        >>> family = lk.families.Normal(1.0)
        >>> parts = [lk.families.Predictive(family, np.full((1, 1), m)) for m in (0.0, 4.0)]
        >>> print(lk.families.Mixed(parts, np.array([0.5, 0.5])).mean)
        [2.]
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

    def _quantile(self, q: np.ndarray) -> np.ndarray:
        """The quantiles, by a search between those of the parts; of classes by their order."""
        if self._is_class:
            below = np.cumsum(self.probs, axis=1)[:, :-1]
            goal = q * (1 - 4 * np.finfo(float).eps)
            return self._label((below < goal[:, None]).sum(1))
        ends = np.stack([np.asarray(part._quantile(q), float) for part in self.parts])
        used = ends[self.weights > 0]
        low, high = used.min(0), used.max(0)
        q = np.broadcast_to(q[:, None], low.shape) if low.ndim == 2 else q
        search = searched_count if self.discrete else searched_quantile
        return search(self.cdf, q, low, high)

    @property
    def discrete(self) -> bool:
        """Whether every part is discrete."""
        return all(part.discrete for part in self.parts)

    @property
    def mean(self) -> np.ndarray:
        """E[y]; for classes, the probabilities."""
        return self._average([part.mean for part in self.parts])

    @property
    def var(self) -> np.ndarray:
        """The variance: the mean of those of the parts, and that of their means."""
        mean = self.mean
        return self._average([p.var + (p.mean - mean) ** 2 for p in self.parts])

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
        """The most probable y: a label where y is a class, else by a search."""
        if self._is_class:
            return self._label(self.probs.argmax(1))
        if self._outputs() is not None:
            raise AttributeError(
                "the mode of a mixture of several outputs has no formula; ask for mean."
            )
        modes = [np.asarray(part.mode, float) for part in self.parts]
        return highest(self.log_prob, np.stack(modes), whole=self.discrete)

    def _label(self, codes: np.ndarray) -> np.ndarray:
        return codes if self.classes is None else self.classes[codes]

    @property
    def _is_class(self) -> bool:
        return self.parts[0]._is_class

    @property
    def _kind(self) -> str:
        kinds = {part._kind for part in self.parts}
        return kinds.pop() if len(kinds) == 1 else BOTH

    def _take(self, rows: np.ndarray) -> "Mixed":
        return Mixed([part[rows] for part in self.parts], self.weights)

    def _outputs(self) -> "list[Mixed] | None":
        """The mixture of each output on its own."""
        parts = [part._outputs() for part in self.parts]
        if parts[0] is None:
            return None
        return [Mixed(output, self.weights) for output in zip(*parts, strict=True)]

    def _closed_crps(self, y: np.ndarray) -> np.ndarray | None:
        """The formula of a mixture of normals, if all parts are such."""
        shares, locs, scales = [], [], []
        for weight, part in zip(self.weights, self.parts, strict=True):
            normals = _normal_components(part)
            if normals is None:
                return None
            shares.append(weight * normals[0])
            locs.append(normals[1])
            scales.append(normals[2])
        weights, loc, scale = map(np.hstack, (shares, locs, scales))
        return crps_of_normals(weights, loc, scale, y)

    def _average(self, answers: list) -> np.ndarray:
        return np.tensordot(self.weights, np.stack(answers), axes=1)


class Exponentiated(AbstractCompound):
    """The distribution of y = e^z, with z of a given distribution.

    Args:
        base: the distribution of z = log y.

    Examples:
        >>> base = lk.families.Predictive(lk.families.Normal(1.0), np.zeros((1, 1)))
        >>> print(lk.families.Exponentiated(base).quantile(0.5).round(2))
        [1.]
    """

    def __init__(self, base: Any):
        self.base = base

    def __len__(self) -> int:
        return len(self.base)

    def log_prob(self, y: Any) -> np.ndarray:
        """log p(y) = log p_z(log y) − log y."""
        y, z = _logs(y)
        inside = self.base.log_prob(z) - z
        return np.where(np.isnan(y), np.nan, np.where(y > 0, inside, -np.inf))

    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y) of each row."""
        y, z = _logs(y)
        inside = np.where(y > 0, self.base.cdf(z), 0.0)
        return np.where(np.isnan(y), np.nan, inside)

    @property
    def discrete(self) -> bool:
        """Whether y is a whole number: never."""
        return False

    def _quantile(self, q: np.ndarray) -> np.ndarray:
        """The exponential of the quantile of z."""
        return np.exp(np.minimum(self.base._quantile(q), 700.0))

    @property
    def mean(self) -> np.ndarray:
        """E[y]: exact for normal z or a mixture of normals, else by Gauss's rule."""
        return self._moment(1)

    @property
    def var(self) -> np.ndarray:
        """The variance of y."""
        normals, mean = _normal_components(self.base), self.mean
        if normals is None:
            return self._integral(lambda y: (y - mean) ** 2)
        weights, loc, scale = normals
        if weights.shape[1] == 1:
            return mean**2 * np.expm1(np.minimum(scale[:, 0] ** 2, 700.0))
        return np.maximum(self._moment(2) - mean**2, 0.0)

    @property
    def mode(self) -> np.ndarray:
        """The most probable y: e^(μ − σ²) for normal z, else by a search."""
        normals = _normal_components(self.base)
        if normals is not None and normals[0].shape[1] == 1:
            return np.exp(normals[1][:, 0] - normals[2][:, 0] ** 2)
        # log p_z(z) − z is highest where log p_z rises: below the mode of z
        ends = np.stack([self.base.quantile(1e-4), self.base.mode])
        return np.exp(highest(lambda z: self.base.log_prob(z) - z, ends))

    def _moment(self, k: int) -> np.ndarray:
        r"""E[yᵏ]: for normal z (or a mixture) $\sum_j π_j e^{kμ_j + k^2σ_j^2/2}$."""
        normals = _normal_components(self.base)
        if normals is None:
            return self._integral(lambda y: y**k)
        weights, loc, scale = normals
        return (
            weights * np.exp(np.minimum(k * loc + 0.5 * (k * scale) ** 2, 700.0))
        ).sum(1)

    @property
    def _is_class(self) -> bool:
        return False

    @property
    def _kind(self) -> str:
        return DENSITY

    def _take(self, rows: np.ndarray) -> "Exponentiated":
        return Exponentiated(self.base[rows])

    def _outputs(self) -> None:
        return None

    def _closed_crps(self, y: np.ndarray) -> np.ndarray | None:
        normals = _normal_components(self.base)
        if normals is None or normals[0].shape[1] > 1:
            return None
        return crps_of_log_normal(normals[1][:, 0], normals[2][:, 0], y)


def _normal_components(dist: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The weights, means and scales (n, m) of a mixture of normals; None for others."""
    if not isinstance(dist, Predictive):
        return None
    family = dist.family
    if isinstance(family, Normal):
        theta = {name: value[:, None] for name, value in dist.theta.items()}
        return np.ones_like(theta["loc"]), theta["loc"], theta["scale"]
    if not (isinstance(family, Mixture) and isinstance(family.family, Normal)):
        return None
    theta = dist.theta
    return softmax(theta["mixture_logits"], axis=1), theta["loc"], theta["scale"]


def _logs(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Each y and its logarithm, which is 0 where y is not positive."""
    y = np.asarray(y, np.float64)
    return y, np.asarray(np.log(np.where(y > 0, y, 1.0)))


class Stretched(AbstractCompound):
    """A distribution with all distances from the median multiplied: recalibrated.

    Args:
        base: a distribution of numbers.
        factor: s; above 1 makes every interval wider.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Normal(1.0), np.zeros((1, 1)))
        >>> print(lk.families.Stretched(dist, 2.0).quantile(0.95).round(2))
        [3.29]
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

    @property
    def discrete(self) -> bool:
        """Whether y is a whole number: never."""
        return False

    def _quantile(self, q: np.ndarray) -> np.ndarray:
        """The quantile m + s (Q_z(q) − m)."""
        return self._outer(self.base._quantile(q))

    @property
    def mean(self) -> np.ndarray:
        """The mean m + s (E[z] − m)."""
        return self._outer(self.base.mean)

    @property
    def var(self) -> np.ndarray:
        """The variance of z, times s²."""
        return self.factor**2 * self.base.var

    @property
    def mode(self) -> np.ndarray:
        """The mode m + s (mode of z − m)."""
        return self._outer(self.base.mode)

    @property
    def _is_class(self) -> bool:
        return False

    @property
    def _kind(self) -> str:
        return self.base._kind

    def _take(self, rows: np.ndarray) -> "Stretched":
        return Stretched(self.base[rows], self.factor)

    def _outputs(self) -> "list[Stretched] | None":
        outputs = self.base._outputs()
        return outputs and [Stretched(output, self.factor) for output in outputs]

    def _closed_crps(self, y: np.ndarray) -> np.ndarray:
        """The score of z at the inner y, times s: the score has the units of y."""
        return self.factor * self.base.crps(self._inner(y))

    def _outer(self, z: np.ndarray) -> np.ndarray:
        return self.middle + self.factor * (z - self.middle)

    def _inner(self, y: Any) -> np.ndarray:
        return self.middle + (np.asarray(y, np.float64) - self.middle) / self.factor


AnyPredictive = Predictive | AbstractCompound
