"""Kernels, feature maps, planes and the structural-risk bound against plain formulas."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from likely.core import InputError
from likely.models.kernels import (
    definiteness,
    disc_feature,
    gram,
    polynomial_features,
    structural_risk,
)
from likely.models.linear.hyperplane import Hyperplane, perceptron

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(30, 4)) + 100, rng.normal(size=(20, 4)) + 100


def test_gram_matrices_are_their_formulas():
    np.testing.assert_allclose(
        gram(X, Z, gamma=0.3), np.exp(-0.3 * cdist(X, Z, "sqeuclidean")), rtol=1e-9
    )
    np.testing.assert_allclose(gram(X, Z, kernel="linear"), X @ Z.T)
    np.testing.assert_allclose(
        gram(X, Z, kernel="poly", degree=3, coef0=2.0, gamma=0.5),
        (0.5 * X @ Z.T + 2) ** 3,
    )
    np.testing.assert_allclose(
        gram(X, Z, kernel="sigmoid", gamma=1e-5, coef0=-0.1),
        pairwise.sigmoid_kernel(X, Z, gamma=1e-5, coef0=-0.1),
    )
    scale = 1 / (4 * X.var())
    np.testing.assert_allclose(gram(X), gram(X, X, gamma=scale), rtol=1e-12)


def test_positive_definiteness_is_seen():
    assert definiteness(gram(X, gamma=0.5))
    assert definiteness(gram(X, kernel="poly", degree=2, coef0=1.0, gamma=1e-3))
    points = np.linspace(0, 1, 12)[:, None]
    never = definiteness(cdist(points, points))  # distances are no inner products
    assert not never
    v = never.vector
    np.testing.assert_allclose(v @ cdist(points, points) @ v, never.smallest)
    assert never.smallest < 0
    assert not definiteness(gram(X - 100, kernel="sigmoid", gamma=1.0, coef0=-1.0))
    with pytest.raises(InputError, match="not symmetric"):
        definiteness([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(InputError, match="square"):
        definiteness(np.ones((2, 3)))


@pytest.mark.parametrize(("degree", "coef0"), [(1, 0.0), (2, 1.0), (3, 0.5)])
def test_polynomial_features_are_the_kernel_written_out(degree, coef0):
    A, B = X - 100, Z - 100
    phi = polynomial_features(A, degree, gamma=0.7, coef0=coef0)
    psi = polynomial_features(B, degree, gamma=0.7, coef0=coef0)
    K = gram(A, B, kernel="poly", degree=degree, gamma=0.7, coef0=coef0)
    np.testing.assert_allclose(phi @ psi.T, K, rtol=1e-9, atol=1e-9)


def test_a_feature_makes_a_disc_linear():
    """φ = max(0, 1 − ‖x‖²): inside the disc is φ > 0, one threshold on a line."""
    points = rng.uniform(-2, 2, size=(300, 2))
    inside = (points**2).sum(1) < 1
    np.testing.assert_array_equal(disc_feature(points)[:, 0] > 0, inside)
    with pytest.raises(InputError, match="no separating plane was found"):
        perceptron(points, np.where(inside, 1, -1), max_epochs=50)
    clear = ~inside | ((points**2).sum(1) < 0.6)
    line = perceptron(disc_feature(points[clear]), np.where(inside[clear], 1, -1))
    np.testing.assert_array_equal(
        line.neuron(disc_feature(points[clear])), inside[clear]
    )


def test_distance_and_projection():
    plane = Hyperplane.through([1.0, 1.0, 0.0], [1.0, 2.0, 2.0])
    points = rng.normal(size=(50, 3))
    feet, d = plane.project(points), plane.distance(points)
    np.testing.assert_allclose(plane.value(feet), 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(points - feet, axis=1), np.abs(d))
    np.testing.assert_allclose(plane.distance([[1.0, 1.0, 0.0]]), 0, atol=1e-15)
    np.testing.assert_allclose(plane.distance([[2.0, 3.0, 2.0]]), 3.0)  # p + w
    with pytest.raises(InputError, match="no plane"):
        Hyperplane(np.zeros(2), 1.0)


def test_a_threshold_neuron_has_a_linear_boundary():
    plane = Hyperplane(np.array([1.0, 1.0]), -1.5)  # AND
    np.testing.assert_array_equal(
        plane.neuron([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 0, 0, 1]
    )
    with pytest.raises(InputError, match="may not be separable"):  # XOR is beyond it
        perceptron([[0, 0], [0, 1], [1, 0], [1, 1]], [-1, 1, 1, -1], max_epochs=50)


def test_structural_risk_is_vapniks_bound():
    n, h, eta = 1000, 11, 0.05
    bound = np.sqrt((h * (np.log(2 * n / h) + 1) - np.log(eta / 4)) / n)
    np.testing.assert_allclose(structural_risk(0.1, n, h, eta=eta), 0.1 + bound)
    assert structural_risk(0.0, n, 5) < structural_risk(0.0, n, 50)
    assert structural_risk(0.0, 10**7, h) < 0.01
    with pytest.raises(InputError, match="give n > 0"):
        structural_risk(0.1, 0, 3)
