r"""The empirical distribution: a point mass on each observation.

$$q(y) = \sum_i \frac{w_i}{\sum_j w_j}\, δ(y - y_i).$$

It has no density, so no `log_prob`, but a mean, a cdf, quantiles and draws. The KL
divergence from it to a model is the negative log-likelihood up to a constant, `cross_entropy`:
$\mathrm{KL}(q, p_θ) = \text{const} - \sum_i w_i \log p_θ(y_i) / \sum_j w_j$.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError, check_finite, check_weights
from likely.core.precision import float64
from likely.families.family import AbstractFamily


class Empirical:
    """The distribution that puts weight wᵢ / Σw on each of n observations.

    With one observation it is the Dirac delta.

    Args:
        y: (n,) observations.
        w: (n,) weights; each row once unless given.

    Examples:
        >>> dist = lk.families.Empirical(np.array([1.0, 2.0, 3.0, 10.0]))
        >>> print(dist.mean, dist.quantile(0.5))
        4.0 2.0
    """

    def __init__(self, y: Any, w: Any = None):
        y = np.asarray(y, dtype=np.float64)
        if y.ndim != 1 or not len(y):
            raise InputError(f"y has shape {y.shape}; give one or more numbers, (n,).")
        w = check_weights(w, len(y))
        check_finite("y", y, w)
        order = np.argsort(y[w > 0], kind="stable")
        self.y = y[w > 0][order]
        self.w = w[w > 0][order] / w.sum()
        self._below = np.cumsum(self.w)
        self._below[-1] = 1.0

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"Empirical(n={len(self)}, mean={self.mean:.6g}, std={self.std:.6g})"

    @property
    def mean(self) -> float:
        """The mean Σ wᵢ yᵢ / Σw."""
        return float(self.w @ self.y)

    @property
    def var(self) -> float:
        """The variance, with 1/n."""
        return float(self.w @ (self.y - self.mean) ** 2)

    @property
    def std(self) -> float:
        """The standard deviation, with 1/n."""
        return float(np.sqrt(self.var))

    @property
    def median(self) -> float:
        """The smallest observation with half of the weight at or below it."""
        return float(self.quantile(0.5))

    def pmf(self, t: Any) -> np.ndarray:
        """The share of the weight at t."""
        t = np.asarray(t, float)
        before = np.searchsorted(self.y, t, side="left")
        return self.cdf(t) - np.concatenate([[0.0], self._below])[before]

    def pdf(self, t: Any) -> np.ndarray:
        """Refused: the distribution has points of mass, and no density."""
        raise InputError("observations are points of mass, with no density; use pmf.")

    def crps(self, t: Any) -> np.ndarray:
        """The continuous ranked probability score at t: E|Y − t| − ½ E|Y − Y'|."""
        t = np.asarray(t, float)
        gaps = np.diff(self.y)  # between two observations F is constant
        spread = float(self._below[:-1] * (1 - self._below[:-1]) @ gaps)
        totals = np.concatenate([[0.0], np.cumsum(self.w * self.y)])
        index = np.searchsorted(self.y, t, side="right")
        distance = t * (2 * self.cdf(t) - 1) + totals[-1] - 2 * totals[index]
        return np.asarray(distance - spread)

    def cdf(self, t: Any) -> np.ndarray:
        """The share of the weight at or below t."""
        index = np.searchsorted(self.y, np.asarray(t, float), side="right")
        return np.asarray(np.concatenate([[0.0], self._below])[index])

    def quantile(self, q: Any) -> np.ndarray:
        """The smallest observation with cdf ≥ q."""
        q = np.asarray(q, float)
        if not ((q >= 0) & (q <= 1)).all():
            raise InputError("q must lie between 0 and 1; it is a probability.")
        index = np.searchsorted(self._below, q * (1 - 1e-15), side="left")
        return np.asarray(self.y[np.minimum(index, len(self) - 1)])

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n,) independent draws: the bootstrap."""
        return np.random.default_rng(random_state).choice(self.y, size=n, p=self.w)

    def cross_entropy(self, family: AbstractFamily, eta: Any) -> float:
        """The negative log-likelihood −Σ wᵢ log p(yᵢ | η) / Σw per unit of weight."""
        with float64():
            rows = jnp.broadcast_to(jnp.asarray(eta, float), (len(self), family.n_eta))
            return float(
                -self.w @ np.asarray(family.log_prob(rows, jnp.asarray(self.y)))
            )
