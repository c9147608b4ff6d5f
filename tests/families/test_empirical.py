"""The empirical distribution: point masses on the observations."""

import numpy as np
import pytest

from likely.core import InputError
from likely.families import Empirical


@pytest.fixture
def empirical():
    return Empirical([3.0, 1.0, 2.0, 1.0], [1.0, 1.0, 2.0, 1.0])


def test_moments_and_cdf(empirical):
    np.testing.assert_allclose(empirical.mean, 9 / 5)
    np.testing.assert_allclose(empirical.std, np.std([3, 1, 2, 2, 1]))
    np.testing.assert_allclose(
        empirical.cdf([0.9, 1.0, 1.5, 2.0, 3.0, 9.0]), [0, 0.4, 0.4, 0.8, 1, 1]
    )


def test_quantile_is_the_smallest_observation_that_suffices(empirical):
    ranks = [0.0, 0.4, 0.41, 0.8, 0.81, 1.0]
    np.testing.assert_array_equal(empirical.quantile(ranks), [1, 1, 2, 2, 3, 3])
    y = np.arange(7.0)
    np.testing.assert_array_equal(Empirical(y).quantile(Empirical(y).cdf(y)), y)


def test_weight_two_is_the_row_twice(empirical):
    twice = Empirical([3.0, 1.0, 2.0, 2.0, 1.0])
    np.testing.assert_allclose(empirical.mean, twice.mean)
    np.testing.assert_allclose(empirical.cdf([1, 2]), twice.cdf([1, 2]))


def test_absent_rows_are_absent(empirical):
    spoiled = Empirical([3.0, 1.0, 2.0, 1.0, np.nan], [1.0, 1.0, 2.0, 1.0, 0.0])
    assert repr(spoiled) == repr(empirical) == "Empirical(n=4, mean=1.8, std=0.748331)"


def test_samples_are_observations(empirical):
    draws = empirical.sample(5000, random_state=0)
    assert set(draws) == {1.0, 2.0, 3.0}
    np.testing.assert_allclose((draws == 2).mean(), 0.4, atol=0.03)


def test_bad_input_gets_a_sentence():
    with pytest.raises(InputError, match="give one or more numbers"):
        Empirical([])
    with pytest.raises(InputError, match=r"y contains NaN \(row 1\)"):
        Empirical([0.0, np.nan])
    with pytest.raises(InputError, match="it is a probability"):
        Empirical([0.0]).quantile(2.0)
