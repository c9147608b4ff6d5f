r"""The Indian buffet process: a distribution over binary matrices of any number of columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int
from scipy.special import gammaln

from likely.base.settings import above_zero
from likely.core.checks import InputError
from likely.core.random import seed_of


@dataclass(frozen=True)
class IndianBuffet:
    r"""Guests take dishes with a probability proportional to the guests who took them.

    Guest i takes dish k with the probability $m_k/i$, and then Poisson(α/i) new dishes. The
    probability of the dishes of n guests, whatever the order of guests and dishes, is

    $$P = \frac{α^K}{\prod_h K_h!}\, e^{-α H_n} \prod_{k=1}^K \frac{(n - m_k)!\,(m_k - 1)!}{n!},$$

    with $H_n = \sum_{i \le n} 1/i$ and $K_h$ the number of dishes with the same guests.
    It is the matrix that draws from a beta process make.

    Args:
        alpha: α, above 0: the mean number of dishes of a guest.
    """

    alpha: float = 1.0

    def sample(self, n: int, *, random_state: Any = None) -> Int[np.ndarray, "n k"]:
        """A binary matrix: which of n guests takes which dish, in the order of first taking."""
        alpha = above_zero("alpha", self.alpha)
        rng = np.random.default_rng(seed_of(random_state))
        taken = np.zeros(0)
        rows = []
        for i in range(1, n + 1):
            old = rng.random(len(taken)) < taken / i
            row = np.concatenate([old, np.ones(rng.poisson(alpha / i))]).astype(int)
            taken = np.concatenate([taken, np.zeros(len(row) - len(taken))]) + row
            rows.append(row)
        Z = np.zeros((n, len(taken)), int)
        for i, row in enumerate(rows):
            Z[i, : len(row)] = row
        return Z

    def log_prob(self, Z: Any) -> float:
        """log P of a binary matrix up to the order of its columns; empty columns are no dishes."""
        alpha, Z = above_zero("alpha", self.alpha), np.asarray(Z)
        if Z.ndim != 2 or not np.isin(Z, (0, 1)).all():
            raise InputError(
                "Z is not a matrix of zeros and ones; give one row for each guest."
            )
        n, Z = len(Z), Z[:, Z.any(0)].astype(int)
        m, K = Z.sum(0), Z.shape[1]
        _, same = np.unique(Z, axis=1, return_counts=True) if K else (None, np.zeros(0))
        dishes = gammaln(n - m + 1) + gammaln(m) - gammaln(n + 1)
        total = K * np.log(alpha) - alpha * harmonic(n)
        return float(total + dishes.sum() - gammaln(np.asarray(same) + 1).sum())

    def expected_dishes(self, n: int) -> float:
        """The mean number of dishes that n guests take, α H_n; it is a Poisson number."""
        return above_zero("alpha", self.alpha) * harmonic(n)


def harmonic(n: int) -> float:
    """H_n = 1 + 1/2 + ... + 1/n."""
    return float((1.0 / np.arange(1, n + 1)).sum())
