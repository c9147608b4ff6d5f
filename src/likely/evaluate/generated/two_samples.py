r"""Maximum mean discrepancy: a kernel test of whether two sets of rows have one distribution.

$$\mathrm{MMD}^2 = E\,k(a, a') + E\,k(b, b') - 2 E\,k(a, b)$$

with independent rows a, a' of the first set and b, b' of the second; its estimate leaves out
k(a, a), and is unbiased. k is the mean of Gaussian kernels $\exp(-\lVert x - y\rVert^2 / 2
s^2)$ of several widths s around the median distance. Under the hypothesis that both have one
distribution, which rows are called A is arbitrary: the p-value by permutations is exact.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.core.written_numbers import p_value
from likely.evaluate.assignment import generator_of
from likely.evaluate.generated.rows import feature_rows

BLOCK_NUMBERS = 4_000_000
"""Kernel values that are in memory at once."""
MEDIAN_ROWS = 1000
"""Rows of which the median distance is taken."""
WIDTHS = (0.5, 1.0, 2.0)
"""Widths of the kernels as multiples of the median distance."""


class TwoSampleTest(NamedTuple):
    """A test of whether two sets of rows have one distribution."""

    value: float
    """The squared discrepancy: about 0 where the distributions are the same."""
    error: float
    """Its standard deviation where the distributions are the same."""
    p_value: float
    """The probability of so large a value where the distributions are the same."""
    widths: tuple[float, ...]

    def __str__(self) -> str:
        return f"MMD² {self.value:.4g} (p {p_value(self.p_value)})"


def mmd_test(
    A: Any,
    B: Any,
    *,
    widths: Any = None,
    n_permutations: int = 200,
    random_state: Any = 0,
) -> TwoSampleTest:
    """The maximum mean discrepancy of two sets of rows, and a permutation test.

    It takes time in proportion to (n + m)², and memory for some rows of that at a time.

    Args:
        A: (n, d) rows.
        B: (m, d) rows.
        widths: of the Gaussian kernels, in units of the rows; half, once and twice the
            median distance by default.
        n_permutations: random labellings of the rows; the p-value is at least
            1/(n_permutations + 1).
        random_state: seed of the labellings.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> found = lk.evaluate.mmd_test(rng.normal(size=(30, 2)), 2 + rng.normal(size=(30, 2)))
        >>> found.p_value < 0.05
        True
    """
    A, B = feature_rows(A=A, B=B)
    if n_permutations < 1:
        raise InputError(f"n_permutations is {n_permutations}; give at least 1.")
    rng = generator_of(random_state)
    X = np.concatenate([A, B])
    X = X - X.mean(0)
    s = _widths(X, widths, rng)
    first = np.arange(len(X)) < len(A)
    labels = np.stack([first, *(rng.permutation(first) for _ in range(n_permutations))])
    values = _discrepancies(X, labels.astype(np.float64).T, s)
    value, null = float(values[0]), values[1:]
    reached = int((null >= value - 1e-12).sum())
    p = (1 + reached) / (1 + n_permutations)
    return TwoSampleTest(value, float(null.std()), p, tuple(s.tolist()))


def _discrepancies(
    X: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, "n b"],
    widths: Float[np.ndarray, " s"],
) -> Float[np.ndarray, " b"]:
    """MMD² for each labelling, from one pass over the kernel matrix, some rows at a time."""
    N = len(X)
    squares, scales = (X**2).sum(1), -0.5 / widths**2
    within, crossed, total = np.zeros(labels.shape[1]), np.zeros(labels.shape[1]), 0.0
    size = max(1, BLOCK_NUMBERS // N)
    for start in range(0, N, size):
        own = slice(start, min(N, start + size))
        D = squares[own, None] + squares - 2 * X[own] @ X.T
        np.maximum(D, 0.0, out=D)
        K = np.zeros_like(D)
        for scale in scales:
            K += np.exp(D * scale) / len(scales)
        K[np.arange(len(K)), np.arange(start, start + len(K))] = 0.0
        sums = K.sum(1)
        within += (labels[own] * (K @ labels)).sum(0)
        crossed += sums @ labels[own]
        total += float(sums.sum())
    n = labels[:, 0].sum()
    m = N - n
    between = crossed - within  # Σ k(a, b); those within B are what is left
    rest = total - 2 * crossed + within
    return within / (n * (n - 1)) + rest / (m * (m - 1)) - 2 * between / (n * m)


def _widths(
    X: Float[np.ndarray, "n d"], widths: Any, rng: np.random.Generator
) -> Float[np.ndarray, " s"]:
    if widths is not None:
        found = np.atleast_1d(np.asarray(widths, np.float64))
        if found.ndim != 1 or not found.size or not (found > 0).all():
            raise InputError(f"widths is {widths}; give positive numbers.")
        return found
    some = X[rng.permutation(len(X))[:MEDIAN_ROWS]]
    squares = (some**2).sum(1)
    D = squares[:, None] + squares - 2 * some @ some.T
    apart = D[np.triu_indices(len(some), 1)]
    apart = apart[apart > 1e-12 * max(float(squares.max()), 1e-300)]
    middle = float(np.sqrt(np.median(apart))) if apart.size else 1.0
    return middle * np.array(WIDTHS)
