import numpy as np
import pytest
from sklearn import datasets, linear_model

import likely as lk
from likely.core import InputError
from likely.estimators.linear.logistic import SeparationWarning


@pytest.fixture(scope="module")
def cancer():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return X[:, :6], y


@pytest.fixture(scope="module")
def wine():
    X, y = datasets.load_wine(return_X_y=True)
    return X[:, :3], y


@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
def test_binary_equals_scikit_learn_on_unscaled_columns(solver, cancer):
    X, y = cancer
    ours = lk.LogisticRegression(alpha=0.5, solver=solver).fit(X, y)
    peer = linear_model.LogisticRegression(
        C=2.0, solver="newton-cholesky", tol=1e-10, max_iter=500
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-7)
    assert "converged" in ours.status_


@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
def test_multinomial_equals_scikit_learn(solver, wine):
    X, y = wine
    ours = lk.LogisticRegression(alpha=1.0, solver=solver).fit(X, y)
    peer = linear_model.LogisticRegression(
        solver="newton-cholesky", tol=1e-10, max_iter=500
    ).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    assert ours.coef_.shape == peer.coef_.shape == (3, 3)


def test_gradient_is_zero_without_penalty(cancer):
    X, y = cancer
    model = lk.LogisticRegression().fit(X[:, :2], y)
    h = model.predict_proba(X[:, :2])[:, 1]
    assert np.abs((h - y) @ X[:, :2] / len(y)).max() < 1e-6


def test_two_softmax_outputs_are_one_sigmoid(cancer):
    import jax

    from likely.core import float64
    from likely.families import Categorical
    from likely.models import Linear
    from likely.recipe import fit
    from likely.solvers import Newton
    from likely.typing import Batch

    X, y = cancer[0][:, :2], cancer[1].astype(float)
    one = lk.LogisticRegression().fit(X, y)
    with float64():
        data = Batch(X, y, np.ones(len(y)))
        start = Linear.zeros(2, 2)
        two = fit(Categorical(2), start, data, solver=Newton(), key=jax.random.key(0))
    difference = np.asarray(two.model.weight[:, 1] - two.model.weight[:, 0])
    np.testing.assert_allclose(difference, one.coef_[0], rtol=1e-5)


def test_labels_come_back_as_they_were_given(wine):
    X, y = wine
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    model = lk.LogisticRegression(alpha=1.0).fit(X, names)
    assert set(model.predict(X)) <= set(names)
    dist = model.predict_dist(X)
    assert set(dist.sample(2, random_state=0).ravel()) <= set(names)
    own = model.predict_proba(X)[
        np.arange(len(y)), np.searchsorted(model.classes_, names)
    ]
    np.testing.assert_allclose(dist.log_prob(names), np.log(own), rtol=1e-10)
    np.testing.assert_allclose(model.nll(X, names), -np.log(own).mean(), rtol=1e-10)


def test_prediction_sets_hold_their_probability(wine):
    X, y = wine
    model = lk.LogisticRegression(alpha=1.0).fit(X, y)
    chosen = model.predict_set(X, coverage=0.9)
    probs = model.predict_proba(X)
    held = (probs * chosen).sum(1)
    assert (held >= 0.9).all()
    smallest = np.where(chosen, probs, np.inf).min(1)
    assert (held - smallest < 0.9).all()


def test_separable_classes_are_said_and_answered():
    X = np.r_[np.linspace(-2, -1, 10), np.linspace(1, 2, 10)][:, None]
    y = np.r_[np.zeros(10), np.ones(10)]
    with pytest.warns(SeparationWarning, match="separates the classes"):
        model = lk.LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert np.isfinite(model.coef_).all()


def test_settings_get_sentences(cancer):
    with pytest.raises(InputError, match="C is 1/alpha"):
        lk.LogisticRegression(alpha=1.0, C=1.0).fit(*cancer)
    with pytest.raises(InputError, match="solver is 'sag'"):
        lk.LogisticRegression(solver="sag").fit(*cancer)
    with pytest.raises(InputError, match="one class only"):
        lk.LogisticRegression().fit(cancer[0], np.ones(len(cancer[1])))


def test_c_is_one_over_alpha(cancer):
    one = lk.LogisticRegression(C=4.0).fit(*cancer)
    other = lk.LogisticRegression(alpha=0.25).fit(*cancer)
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_automatic_penalty_is_safe_where_classes_are_separated(classes, rng):
    X = rng.normal(size=(430, 2))
    signal = 2 * X[:, 0] - X[:, 1] + 0.2 * rng.logistic(size=430)
    y = np.digitize(signal, [0] if classes == 2 else [-1, 1])
    with pytest.warns(SeparationWarning, match='alpha="auto"'):
        plain = lk.LogisticRegression().fit(X[:30, :2], np.digitize(X[:30, 0], [0]))
    assert np.isfinite(plain.predict_proba(X)).all()
    model = lk.LogisticRegression("auto").fit(X[:30], y[:30])
    assert model.alpha_ >= 0.9 * 0.04 * X[:30].var(0).mean()
    assert model.nll(X[30:], y[30:]) < 0.5
    with pytest.raises(InputError, match="penalty"):
        model.summary()
    few = lk.LogisticRegression("auto").fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert np.isfinite(few.predict_proba([[0.5]])).all()
    with pytest.raises(InputError, match='give a number, or "cv"'):
        lk.Ridge("auto").fit(X, signal)
