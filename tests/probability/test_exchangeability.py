"""Exchangeability: urns and coins with a random bias have the same law."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from likely.core.checks import InputError
from likely.probability import Table, de_finetti, exchangeable, mixture_law, urn_law


@pytest.mark.parametrize(("white", "black", "added"), [(1, 1, 1), (2, 3, 1), (2, 3, 4)])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_an_urn_is_a_mixture_of_coins(white, black, added, n):
    found = de_finetti(white, black, n=n, added=added)
    assert found.equal  # fractions: not a digit of difference
    np.testing.assert_allclose(found.urn.values, found.mixture.values, rtol=1e-12)
    assert exchangeable(found.urn).holds
    ones = found.urn.values.reshape(-1)
    count = np.indices((2,) * n).sum(0).reshape(-1)
    shares = np.bincount(count, weights=ones)
    peer = stats.betabinom(n, white / added, black / added)
    np.testing.assert_allclose(shares, peer.pmf(np.arange(n + 1)), rtol=1e-10)


def test_the_law_of_an_urn_by_drawing_every_sequence():
    law = urn_law(2, 1, n=3, added=1)
    for sequence in itertools.product((0, 1), repeat=3):
        balls, p = {1: 2, 0: 1}, Fraction(1)
        for colour in sequence:
            p *= Fraction(balls[colour], sum(balls.values()))
            balls[colour] += 1
        assert law.values[sequence] == pytest.approx(float(p), rel=1e-15)


def test_draws_from_an_urn_depend_on_each_other():
    polya, coin = urn_law(1, 1, n=3), urn_law(1, 1, n=3, added=0)
    assert not polya.independent("x1", "x2")
    assert coin.independent("x1", "x2")
    assert polya.covariance("x1", "x2")[0, 1] == pytest.approx(1 / 12)
    # without replacement: exchangeable, but a mixture of coins never has this sign
    hyper = urn_law(3, 2, n=4, added=-1)
    assert exchangeable(hyper).holds
    assert hyper.covariance("x1", "x4")[0, 1] < 0


def test_a_law_that_is_not_exchangeable_has_a_witness():
    first = Table([[0.1, 0.4], [0.2, 0.3]], ["x1", "x2"], [["h", "t"]] * 2)
    found = exchangeable(first)
    assert not found.holds
    assert found.gap == pytest.approx(0.2)
    assert {found.sequence, found.swapped} == {("h", "t"), ("t", "h")}


def test_mixtures_of_any_law_are_exchangeable(rng):
    z = Table(rng.dirichlet(np.ones(3)), "z")
    x = Table(rng.dirichlet(np.ones(4), size=3), ["z", "x"], given="z")
    law = mixture_law(z, x, n=3)
    assert exchangeable(law).holds
    known = np.einsum("z,za,zb,zc->abc", z.values, x.values, x.values, x.values)
    np.testing.assert_allclose(law.values, known, rtol=1e-12)
    assert not law.independent("x1", "x2")


def test_bad_input():
    with pytest.raises(InputError, match="Use urn_law"):
        de_finetti(added=0)
    with pytest.raises(InputError, match="give 1 to 16 draws"):
        urn_law(1, 1, n=40)
    with pytest.raises(InputError, match="cannot be drawn from 2"):
        urn_law(1, 1, n=3, added=-1)
    with pytest.raises(InputError, match="at least one"):
        urn_law(0, 0, n=3)
    with pytest.raises(InputError, match="different levels"):
        exchangeable(Table(np.full((2, 3), 1 / 6), ["a", "b"]))
