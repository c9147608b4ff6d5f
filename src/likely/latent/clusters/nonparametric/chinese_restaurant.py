r"""The Chinese restaurant process: a distribution over partitions of any number of rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln

from likely.base.settings import above_zero
from likely.core.random import seed_of


@dataclass(frozen=True)
class ChineseRestaurant:
    r"""Guests join a table with a probability proportional to the guests who sit there.

    Guest i + 1 joins table k with the probability $n_k/(i + α)$ and takes a new table with
    $α/(i + α)$. The probability of a partition of n guests does not depend on their order:

    $$P = α^K \frac{Γ(α)}{Γ(α + n)} \prod_{k=1}^K (n_k - 1)!$$

    It is the partition that draws from a Dirichlet process make.

    Args:
        alpha: α, above 0; more of it makes more tables.

    Examples:
        >>> lk.ChineseRestaurant(1.0).sample(5, random_state=0).shape
        (5,)
    """

    alpha: float = 1.0

    def sample(self, n: int, *, random_state: Any = None) -> Int[np.ndarray, " n"]:
        """The table of each of n guests, numbered as they are taken."""
        alpha = above_zero("alpha", self.alpha)
        u = np.random.default_rng(seed_of(random_state)).random(n)
        labels, tables = np.empty(n, int), 0
        for i in range(n):
            place = u[i] * (i + alpha)
            labels[i] = (
                labels[int(place)] if place < i else tables
            )  # as an earlier guest
            tables = max(tables, labels[i] + 1)
        return labels

    def log_prob(self, labels: Any) -> float:
        """log P of the partition that labels of any kind make."""
        alpha = above_zero("alpha", self.alpha)
        _, counts = np.unique(np.asarray(labels), return_counts=True)
        n, tables = counts.sum(), len(counts)
        normalised = gammaln(alpha) - gammaln(alpha + n)
        return float(tables * np.log(alpha) + normalised + gammaln(counts).sum())

    def table_count_probs(self, n: int) -> Float[np.ndarray, " m"]:
        """(n + 1,) the probability that n guests sit at 0, 1, ..., n tables."""
        alpha, p = above_zero("alpha", self.alpha), np.zeros(n + 1)
        p[0] = 1.0
        for i in range(n):
            p[1 : i + 2] = (i * p[1 : i + 2] + alpha * p[: i + 1]) / (i + alpha)
            p[0] = 0.0
        return p

    def expected_tables(self, n: int) -> float:
        """The mean number of tables of n guests, Σ α/(α + i): about α log(1 + n/α)."""
        alpha = above_zero("alpha", self.alpha)
        return float((alpha / (alpha + np.arange(n))).sum())
