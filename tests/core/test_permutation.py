"""Random orders: each row once, every position as likely as any other."""

import jax
import numpy as np
import pytest
from scipy import stats

from likely.core.permutation import permutation


@pytest.mark.parametrize("n", [1, 2, 64, 65, 101, 8192, 10_007])
def test_every_row_once_and_a_function_of_the_key(n):
    first, again = (np.asarray(permutation(jax.random.key(n), n)) for _ in range(2))
    np.testing.assert_array_equal(np.sort(first), np.arange(n))
    np.testing.assert_array_equal(first, again)
    if n > 2:
        assert (first != np.asarray(permutation(jax.random.key(n + 1), n))).any()


def test_only_the_first_rows_are_permuted():
    """The order of the first k is that of k rows, also for k known only at run time."""
    n, of = 130, jax.jit(lambda key, k: permutation(key, 130, k))
    for k in (1, 2, 3, 65, 100, 101, 120, 121, 122, 130):
        order = np.asarray(of(jax.random.key(k), np.int32(k)))
        np.testing.assert_array_equal(np.sort(order[:k]), np.arange(k))
        np.testing.assert_array_equal(order[k:], np.arange(k, n))
        if k > 64:  # fewer are sorted
            alone = permutation(jax.random.key(k), k)
            np.testing.assert_array_equal(order[:k], alone)


@pytest.mark.parametrize("n", [100, 127])
def test_as_random_as_a_sort_of_random_numbers(n):
    m, keys = 20_000, jax.random.split(jax.random.key(0), 20_000)
    P = np.asarray(jax.jit(jax.vmap(lambda key: permutation(key, n)))(keys))
    counts = np.stack([np.bincount(column, minlength=n) for column in P.T])
    # a cell has variance m(1/n)(1 − 1/n), and the margins are fixed
    places = ((counts - m / n) ** 2).sum() / (m / n) * (n - 1) / n
    assert 1e-4 < stats.chi2.sf(places, (n - 1) ** 2) < 1 - 1e-4
    ascents = (np.diff(P) > 0).sum(1)
    assert abs(ascents.mean() - (n - 1) / 2) < 4 * np.sqrt((n + 1) / 12 / m)
    assert abs(ascents.var() / ((n + 1) / 12) - 1) < 5 * np.sqrt(2 / m)
    steps = np.bincount((P[:, 0] - P[:, 1]) % n, minlength=n)[1:]
    assert stats.chisquare(steps).pvalue > 1e-4
    fixed = (np.arange(n) == P).sum(1)
    assert abs(fixed.mean() - 1) < 4 / np.sqrt(m)
