"""Softmax, sigmoid, logsumexp and the simplex."""

import numpy as np
import pytest
from scipy import special

from likely.core import float64
from likely.families import in_simplex, logit, logsumexp, sigmoid, softmax

X = np.array([[1.0, 2.0, 4.0], [-1000.0, 0.0, 1000.0], [3.0, 3.0, 3.0]])


def test_softmax_lies_on_the_simplex():
    with float64():
        p = np.asarray(softmax(X))
    np.testing.assert_allclose(p, special.softmax(X, -1), rtol=1e-14)
    assert in_simplex(p).all()


def test_softmax_temperature_and_its_limits():
    """τ → ∞ is the constant vector 1/m, τ → 0 the one-hot argmax (X002-16)."""
    with float64():
        np.testing.assert_allclose(softmax(X, 2.0), special.softmax(X / 2, -1))
        np.testing.assert_allclose(softmax(X[:1], 1e6), 1 / 3, atol=1e-6)
        np.testing.assert_array_equal(softmax(X, np.inf), np.full((3, 3), 1 / 3))
        cold = np.asarray(softmax(X, 0.0))
        np.testing.assert_allclose(softmax(X[:2], 1e-3), cold[:2], atol=1e-12)
    np.testing.assert_array_equal(cold[:2], [[0, 0, 1], [0, 0, 1]])
    np.testing.assert_allclose(cold[2], 1 / 3)


def test_two_outputs_are_a_sigmoid():
    x = np.linspace(-5, 5, 11)
    with float64():
        two = softmax(np.stack([np.zeros(11), x], -1))[:, 1]
        np.testing.assert_allclose(two, sigmoid(x), rtol=1e-14)


def test_logit_inverts_the_sigmoid():
    s = np.array([-30.0, -1.0, 0.0, 2.5])
    with float64():
        np.testing.assert_allclose(logit(sigmoid(s)), s, atol=1e-12)
        np.testing.assert_allclose(logit(np.array(0.8)), np.log(4))


def test_logsumexp_moves_with_its_input():
    """lse(p) = lse(p − c) + c, which keeps e^1000 from overflowing."""
    p = np.array([1.0, 3.0, 2.0])
    with float64():
        np.testing.assert_allclose(logsumexp(p), np.log(np.exp(p).sum()))
        np.testing.assert_allclose(logsumexp(p + 1000) - 1000, logsumexp(p))


@pytest.mark.parametrize(
    ("p", "inside"),
    [
        ([0.2, 0.5, 0.3], True),
        ([1.0, 0.0, 0.0], True),
        ([0.2, 0.3, 0.4], False),
        ([1.2, -0.2, 0.0], False),
    ],
)
def test_membership(p, inside):
    assert in_simplex(np.array(p)) == inside
