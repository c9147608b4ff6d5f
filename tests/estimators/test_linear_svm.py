"""LinearSVC against liblinear, the dual, and plain descent on the hinge."""

import numpy as np
import pytest
from sklearn import datasets, svm
from sklearn.pipeline import make_pipeline

from likely.core import InputError, float64
from likely.estimators import SVC, LinearSVC, Nystroem

rng = np.random.default_rng(0)


def overlapping(n=300, d=4):
    X = rng.normal(size=(n, d)) * [1, 2, 0.5, 1] + 3
    w = np.array([1.0, -1.0, 2.0, 0.0])
    return X, ((X - 3) @ w + rng.normal(size=n) > 0.3).astype(int)


def objective(X, y, w, b, C, power):
    slack = np.maximum(0, 1 - np.where(y, 1, -1) * (X @ w + b))
    return 0.5 * w @ w + C * (slack**power).sum()


def test_squared_hinge_equals_liblinear():
    X, y = overlapping()
    ours = LinearSVC(C=0.5).fit(X, y)
    peer = svm.LinearSVC(C=0.5, intercept_scaling=1e3, tol=1e-10, max_iter=10**6)
    peer.fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-3)
    low = objective(X, y, ours.coef_[0], ours.intercept_[0], 0.5, 2)
    np.testing.assert_allclose(ours.objective_[0], low)
    assert low <= objective(X, y, peer.coef_[0], peer.intercept_[0], 0.5, 2) + 1e-9
    assert abs(ours.gap_[0]) < 1e-6 * low


def test_hinge_equals_the_dual():
    X, y = overlapping()
    primal = LinearSVC(C=0.7, loss="hinge").fit(X, y)
    dual = SVC(C=0.7, kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(primal.coef_, dual.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(primal.objective_, -dual.objective_, rtol=1e-6)
    assert primal.gap_[0] < 1e-5 * primal.objective_[0]


def test_hinge_by_gradient_descent_comes_close():
    """½‖w‖² + C Σ hinge by subgradient steps, the recipe's own way (D21)."""
    import jax

    from likely.models import Linear
    from likely.objectives import GaussianPrior, SurrogateLoss, hinge
    from likely.solvers import GradientDescent
    from likely.typing import Batch

    X, y = overlapping(120)
    X, C = X - X.mean(0), 0.5
    s = np.where(y > 0, 1.0, -1.0)
    with float64():
        data = Batch(X, s, np.ones(120))
        loss = SurrogateLoss.of(hinge, data, GaussianPrior(1 / C))
        solver = GradientDescent(0.02, steps=3000)
        found = solver.minimize(loss, Linear.zeros(4), data, key=jax.random.key(0))
        w, b = np.asarray(found.model.weight)[:, 0], float(found.model.bias[0])
    exact = LinearSVC(C=C, loss="hinge").fit(X, y)
    assert objective(X, y, w, b, C, 1) < 1.02 * exact.objective_[0]


def test_more_columns_than_rows():
    X, y = rng.normal(size=(20, 60)), np.arange(20) % 2
    wide = LinearSVC().fit(X, y)
    assert wide.score(X, y) == 1
    s, w = np.where(y, 1.0, -1.0), wide.coef_[0]
    slack = np.maximum(0, 1 - s * wide.decision_function(X))
    np.testing.assert_allclose(
        w, 2 * (s * slack) @ X, atol=1e-7
    )  # the gradient is zero
    np.testing.assert_allclose((s * slack).sum(), 0, atol=1e-7)


def test_many_rows_start_from_a_part():
    """Above 40,000 rows the start is the plane of a tenth; the answer is the same."""
    X = rng.normal(size=(41_000, 3))
    y = (X[:, 0] + rng.normal(size=41_000) > 0).astype(int)
    model = LinearSVC().fit(X, y)
    assert model.gap_[0] < 1e-6 * model.objective_[0]


def test_several_classes_and_probabilities():
    X, y = datasets.load_iris(return_X_y=True)
    model = LinearSVC(probability=True).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.score(X, y) > 0.93
    assert model.nll(X, y) < 0.35
    with pytest.raises(InputError, match="hard margin"):
        LinearSVC(C=float("inf")).fit(X, y)
    with pytest.raises(InputError, match="loss is 'log'"):
        LinearSVC(loss="log").fit(X, y)


def test_nystroem_features_approach_the_kernel():
    X, y = datasets.make_circles(400, noise=0.1, factor=0.4, random_state=0)
    exact = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    errors = []
    for m in (5, 20, 80):
        phi = Nystroem(gamma=0.5, n_components=m).fit_transform(X)
        errors.append(np.abs(phi @ phi.T - exact).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-4
    some = Nystroem(gamma=50.0, n_components=400).fit(X)
    phi = some.transform(X)
    K = np.exp(-50 * ((X[:, None] - X[None]) ** 2).sum(-1))
    np.testing.assert_allclose(phi @ phi.T, K, atol=1e-6)
    machine = make_pipeline(Nystroem(gamma=1.0, n_components=50), LinearSVC())
    assert machine.fit(X, y).score(X, y) > 0.97


def test_landmarks_do_not_depend_on_the_order_of_rows():
    X = rng.normal(size=(50, 3))
    one = Nystroem(n_components=10).fit(X).components_
    other = Nystroem(n_components=10).fit(X[::-1]).components_
    np.testing.assert_array_equal(one, other)
    with pytest.raises(InputError, match="give the kernel"):
        Nystroem("precomputed").fit(X)
