r"""Zero with a probability of its own in each row, else a predicted positive number."""

from typing import Any

import numpy as np
from jaxtyping import Float

from likely.families.compound import AbstractCompound
from likely.families.crps_formulas import crps_of_hurdle
from likely.families.prediction import BOTH


class Hurdled(AbstractCompound):
    r"""The distribution of y that is 0 with probability π, else of a given distribution.

    $P(Y = 0) = π$ and $p(y) = (1 - π)\,p_+(y)$ above 0: the product of two models, one of
    whether there is anything and one of how much.

    Args:
        base: the distribution of positive numbers.
        zero: (n,) π of each row.

    Examples:
        >>> base = lk.families.Predictive(lk.families.Gamma(2.0), np.log([[3.0]]))
        >>> print(lk.families.Hurdled(base, np.array([0.5])).mean.round(2))
        [1.5]
    """

    def __init__(self, base: Any, zero: Float[np.ndarray, " n"]):
        self.base, self.zero = base, np.asarray(zero, np.float64)

    def __len__(self) -> int:
        return len(self.zero)

    def log_prob(self, y: Any) -> np.ndarray:
        """log π at 0, log(1 − π) + log p₊(y) above, −∞ below."""
        y = np.broadcast_to(np.asarray(y, np.float64), self.zero.shape)
        above = y > 0
        with np.errstate(divide="ignore"):
            log_zero, log_rest = np.log(self.zero), np.log1p(-self.zero)
        inside = self.base.log_prob(np.where(above, y, 1.0)) + log_rest
        found = np.where(above, inside, np.where(y == 0, log_zero, -np.inf))
        return np.where(np.isnan(y), np.nan, found)

    def cdf(self, y: Any) -> np.ndarray:
        """π + (1 − π) P₊(Y ≤ y) from 0 on."""
        y = np.broadcast_to(np.asarray(y, np.float64), self.zero.shape)
        below = np.where(y > 0, self.base.cdf(np.where(y > 0, y, 1.0)), 0.0)
        inside = np.where(y < 0, 0.0, 1 - (1 - self.zero) * (1 - below))
        return np.where(np.isnan(y), np.nan, inside)

    def _quantile(self, q: np.ndarray) -> np.ndarray:
        """0 up to q = π, then the quantile of the positive part at (q − π)/(1 − π)."""
        above = q > self.zero
        rest = np.where(above, 1 - self.zero, 1.0)
        level = np.where(above, np.clip(1 - (1 - q) / rest, 0.0, 1.0), 0.5)
        return np.where(above, self.base._quantile(level), 0.0)

    def sample(self, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """(n, rows) draws: zeros, or draws of the positive part."""
        rng = np.random.default_rng(random_state)
        draws = self.base.sample(n, random_state=int(rng.integers(2**31)))
        return np.where(rng.random(draws.shape) < self.zero, 0.0, draws)

    @property
    def discrete(self) -> bool:
        """Whether y is a whole number: never."""
        return False

    @property
    def mean(self) -> np.ndarray:
        """(1 − π) times the mean of the positive part."""
        return (1 - self.zero) * self.base.mean

    @property
    def var(self) -> np.ndarray:
        """(1 − π) v + π (1 − π) m² with mean m and variance v of the positive part."""
        rest = 1 - self.zero
        return rest * self.base.var + self.zero * rest * self.base.mean**2

    @property
    def mode(self) -> np.ndarray:
        """0, or the mode of the positive part where p is higher there."""
        above = np.asarray(self.base.mode, np.float64)
        higher = self.log_prob(above) > self.log_prob(0.0)
        return np.where(higher, above, 0.0)

    @property
    def _is_class(self) -> bool:
        return False

    @property
    def _kind(self) -> str:
        return BOTH

    def _take(self, rows: np.ndarray) -> "Hurdled":
        return Hurdled(self.base[rows], self.zero[rows])

    def _outputs(self) -> None:
        return None

    def _closed_crps(self, y: np.ndarray) -> np.ndarray:
        return crps_of_hurdle(self.zero, self.base, y)
