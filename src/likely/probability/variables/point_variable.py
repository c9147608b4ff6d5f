"""A random variable that takes finitely many values: draws with weights, or a table."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np

from likely.core.checks import InputError, check_finite, check_weights
from likely.probability.variables.generating import Generating, points
from likely.probability.variables.variable import AbstractVariable


class PointVariable(AbstractVariable):
    """The random variable that takes the value of row i with probability wᵢ / Σw.

    For draws, its moments are those of the sample (with 1/n); for a table, the exact ones.

    Args:
        values: (n,) numbers or (n, d) vectors.
        weights: (n,) weights or probabilities.
    """

    discrete = True

    def __init__(self, values: Any, weights: Any = None):
        values = np.asarray(values, np.float64)
        if values.ndim not in (1, 2) or not len(values):
            raise InputError(
                f"the values have shape {values.shape}; give (n,) or (n, d)."
            )
        w = check_weights(weights, len(values))
        check_finite("the values", values, w)
        self.values, w = values[w > 0], w[w > 0]
        self.weights = w / w.sum()

    def __repr__(self) -> str:
        vectors = "" if self.dimension is None else f", d={self.dimension}"
        return f"PointVariable(n={len(self.values)}{vectors})"

    @property
    def dimension(self) -> int | None:
        """The length of a vector, or None for a number."""
        return None if self.values.ndim == 1 else self.values.shape[1]

    @property
    def mean(self) -> Any:
        """The weighted mean."""
        first = self.weights @ self.values  # once more, for what rounding took
        mean = first + self.weights @ (self.values - first)
        return float(mean) if self.dimension is None else mean

    @property
    def covariance(self) -> Any:
        """The covariance matrix, or the variance of a number; with 1/n for draws."""
        D = self.values - self.mean
        if self.dimension is None:
            return float(self.weights @ D**2)
        return (D * self.weights[:, None]).T @ D

    def expectation(self, g: Callable[[np.ndarray], Any]) -> float:
        """E[g(X)] = Σ p g(x)."""
        values = np.asarray(g(self.values), np.float64)
        return float(self.weights @ np.broadcast_to(values, self.weights.shape))

    def central_moment(self, k: int) -> float:
        """E[(X − EX)^k], by the sum."""
        return self._integrated_central_moment(k)

    def cdf(self, t: Any) -> Any:
        """P(X ≤ t)."""
        x, below = self._steps()
        index = np.searchsorted(x, np.asarray(t, np.float64), side="right")
        return np.concatenate([[0.0], below])[index]

    def pdf(self, t: Any) -> Any:
        """The probability of t: single values have no density."""
        t = np.asarray(t, np.float64)
        x, below = self._steps()
        sums = np.concatenate([[0.0], below])
        ends = [np.searchsorted(x, t, side=side) for side in ("left", "right")]
        return sums[ends[1]] - sums[ends[0]]

    def quantile(self, q: Any) -> Any:
        """The smallest value with at least this probability at or below it."""
        x, below = self._steps()
        index = np.searchsorted(below, np.asarray(q, np.float64) * (1 - 1e-15))
        return x[np.minimum(index, len(x) - 1)]

    def sample(self, n: int, *, random_state: Any = None) -> np.ndarray:
        """(n,) or (n, d) rows, drawn with replacement."""
        rng = np.random.default_rng(random_state)
        return self.values[rng.choice(len(self.values), size=n, p=self.weights)]

    def generating(self) -> Generating:
        """log Σ p exp(tᵀx), which is finite everywhere."""
        return Generating(eqx.Partial(points, self.values, np.log(self.weights)))

    def _steps(self) -> tuple[np.ndarray, np.ndarray]:
        """The values in order, and the probability at or below each."""
        self._check_number("a cdf or quantile")
        order = np.argsort(self.values, kind="stable")
        below = np.cumsum(self.weights[order])
        below[-1] = 1.0
        return self.values[order], below
