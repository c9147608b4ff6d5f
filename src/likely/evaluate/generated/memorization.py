r"""Whether a generator repeats its training rows: a test beside rows that were held out.

Each generated row votes for the nearest row among all n training and m held-out rows, in
parts where several are as near. If generated rows do not depend on which rows were trained on,
the two kinds are exchangeable: training rows get the share n/(n + m) of the votes, and the
distribution of that share under random labels of the rows is known exactly. So the p-value is
exact whatever the distribution, also where generated rows depend on each other.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.written_numbers import p_value, percent
from likely.evaluate.assignment import generator_of
from likely.evaluate.generated.rows import feature_rows

BLOCK_NUMBERS = 4_000_000
"""Distances that are in memory at once."""
MIN_EXCESS = 0.5
"""The share of rows beyond chance from which on they are said to repeat training rows."""


class MemorizationTest(NamedTuple):
    """A test of whether generated rows lie nearer to training rows than to held-out ones."""

    share: float
    """The share of generated rows whose nearest real row is a training row."""
    expected: float
    """That share where the generator does not depend on which rows were trained on."""
    error: float
    """Its standard deviation then."""
    p_value: float
    """The probability of so large a share then."""
    copies: float
    """The share of generated rows that equal a training row."""
    held_out_copies: float
    """The share of held-out rows that equal a training row: what is usual in these data."""

    @property
    def excess(self) -> float:
        """About the share of generated rows that are tied to a training row: 0 at best."""
        room = max(1 - self.expected, 1e-12)
        return max(0.0, (self.share - self.expected) / room)

    @property
    def verdict(self) -> str:
        """What was found, in a sentence."""
        numbers = (
            f"a training row is the nearest to {percent(self.share)} of the generated rows, "
            f"{percent(self.expected)} would be chance (p {p_value(self.p_value)})"
        )
        if self.p_value > 0.05:
            return f"No memorisation shown: {numbers}."
        strong = self.excess >= MIN_EXCESS
        what = "repeat training rows" if strong else "lean towards training rows"
        return f"Generated rows {what}: {numbers}."

    def __str__(self) -> str:
        return self.verdict


def memorization_test(
    generated: Any,
    train: Any,
    held_out: Any,
    *,
    n_permutations: int = 2000,
    random_state: Any = 0,
) -> MemorizationTest:
    """Test whether generated rows are nearer to training rows than to held-out rows.

    Args:
        generated: (r, d) features of generated rows.
        train: (n, d) features of the rows that the generator was fitted to.
        held_out: (m, d) features of rows from the same source that it has not seen.
        n_permutations: random labellings of the real rows.
        random_state: seed of the labellings.

    Examples:
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> found = lk.evaluate.memorization_test(X[:20], X[:20], X[20:40], n_permutations=200)
        >>> found.p_value < 0.05
        True
    """
    G, T, H = feature_rows(1, generated=generated, train=train, held_out=held_out)
    pool = np.concatenate([T, H])
    votes, least = nearest_votes(G, pool)
    n, N = len(T), len(pool)
    share = float(votes[:n].sum()) / len(G)
    rng = generator_of(random_state)
    null = np.array(
        [votes[rng.permutation(N)[:n]].sum() / len(G) for _ in range(n_permutations)]
    )
    reached = int((null >= share - 1e-12).sum())
    return MemorizationTest(
        share,
        n / N,
        float(null.std()),
        (1 + reached) / (1 + n_permutations),
        float((nearest_distances(G, T) == 0).mean()),
        float((nearest_distances(H, T) == 0).mean()),
    )


def nearest_distances(
    Q: Float[np.ndarray, "q d"], X: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, " q"]:
    """(q,) the distance of each query to the nearest row; 0 where they are equal."""
    return nearest_votes(Q, X)[1]


def nearest_votes(
    Q: Float[np.ndarray, "q d"], X: Float[np.ndarray, "n d"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " q"]]:
    """How many queries each row is nearest to, shared where rows tie; and the distances."""
    centre = X.mean(0)
    C, P = X - centre, Q - centre
    squares = (C**2).sum(1)
    slack = 1e-12 * max(float(squares.max()), float((P**2).sum(1).max()))
    votes, least = np.zeros(len(X)), np.empty(len(Q))
    size = max(1, BLOCK_NUMBERS // len(X))
    for start in range(0, len(Q), size):
        own = slice(start, min(len(Q), start + size))
        D = (P[own] ** 2).sum(1)[:, None] + squares - 2 * P[own] @ C.T
        smallest = D.min(1)
        near = smallest + slack >= D.T  # (n, q)
        votes += (near / near.sum(0)).sum(1)
        least[own] = np.where(smallest <= slack, 0.0, np.sqrt(np.abs(smallest)))
    return votes, least
