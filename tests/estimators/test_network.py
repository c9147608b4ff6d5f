"""Networks as estimators: exact weights, early stopping, units of the data."""

import numpy as np
import pytest

import likely as lk
from likely.core import InputError
from likely.solvers import LBFGS, Adam
from likely.solvers.training import Checkpoints, History

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def wave(rng, n=120):
    X = rng.uniform(-2, 2, size=(n, 2)) * [1.0, 100.0] + [0.0, 1e3]
    return X, 1e4 + 500 * np.sin(2 * X[:, 0]) + 20 * rng.normal(size=n)


def test_a_small_table_is_fitted_exactly_and_in_its_units(rng):
    X, y = wave(rng)
    model = lk.MLPRegressor((8,), "tanh", max_iter=2000).fit(X, y)
    assert isinstance(model.learner_.solver, LBFGS)
    assert model.phi_.solution.model.model.layers[0].weight.dtype == np.float64
    assert model.score(X, y) > 0.98
    low, high = model.predict_interval(X, 0.9)
    inside = ((low < y) & (y < high)).mean()
    assert 0.85 < inside < 0.97
    residual = np.sqrt(np.mean((y - model.predict(X)) ** 2))
    np.testing.assert_allclose(model.predict_dist(X).std, residual, rtol=1e-2)
    assert model.nll(X, y) == pytest.approx(
        np.log(residual * np.sqrt(2 * np.pi * np.e)), abs=0.01
    )


def test_weights_are_exact(rng):
    """2 is the row twice, and an absent row may hold anything."""
    X, y = wave(rng, 40)
    w = rng.integers(0, 3, size=40).astype(float)
    X[w == 0] = 1e6
    make = lambda: lk.MLPRegressor((3,), "tanh", alpha=3.0, max_iter=600, tol=1e-9)  # noqa: E731
    rows = np.repeat(np.arange(40), w.astype(int))
    weighted = make().fit(X, y, sample_weight=w)
    repeated = make().fit(X[rows], y[rows])
    at = X[w > 0]
    np.testing.assert_allclose(weighted.predict(at), repeated.predict(at), rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(classes, rng):
    X = rng.normal(size=(150, 2))
    y = np.array(["a", "b", "c"])[
        (np.hypot(*X.T) > 1).astype(int) + (classes == 3) * (X[:, 0] > 1)
    ]
    model = lk.MLPClassifier((8,), max_iter=200).fit(X, y)
    assert model.score(X, y) > 0.95
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1, rtol=1e-6)


def test_minibatches_with_validation_given_or_split_off(rng):
    X, y = wave(rng, 200)
    history = History()
    given = lk.MLPRegressor(
        (16,), solver="adam", learning_rate_init=0.02, max_iter=200, batch_size=32
    ).fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:], callbacks=history)
    assert isinstance(given.learner_.solver, Adam)
    assert "validation loss no longer falls" in given.status_ or given.n_iter_ == 200
    assert {"start", "epoch", "validation", "stop"} <= set(history.kinds)
    assert given.phi_.solution.model.model.layers[0].weight.dtype == np.float32
    assert given.score(X[150:], y[150:]) > 0.8
    lowest = given.history_["validation"].min()
    log_prob = given.predict_dist(X[150:]).log_prob(y[150:])
    nats = -log_prob.mean() - np.log(given.phi_.scaling.spread)
    assert nats == pytest.approx(lowest, abs=0.01)  # the penalty is small
    split = lk.MLPRegressor((8,), early_stopping=True, max_iter=5).fit(X, y)
    again = lk.MLPRegressor((8,), early_stopping=True, max_iter=5).fit(X, y)
    np.testing.assert_array_equal(split.predict(X), again.predict(X))


def test_a_fit_can_be_resumed(rng, tmp_path):
    X, y = wave(rng, 100)
    make = lambda: lk.MLPRegressor((8,), solver="adam", batch_size=16, max_iter=10)  # noqa: E731
    places = Checkpoints(tmp_path, every_steps=8)
    stop = lambda e: "stop" if e.step >= 16 else None  # noqa: E731
    make().fit(X, y, checkpoints=places, callbacks=stop)
    resumed = make().fit(X, y, checkpoints=places, resume=True)
    np.testing.assert_array_equal(resumed.predict(X), make().fit(X, y).predict(X))


def test_members_of_a_grid_are_one_program(rng):
    X, y = wave(rng, 60)
    model = lk.MLPRegressor((4,), "tanh", max_iter=30)
    found = lk.cross_validate(model, X, y, grid={"alpha": [0.01, 10.0]}, cv=3)
    assert found.nll.shape == (2, 3)
    assert np.isfinite(found.nll).all()


def test_settings_that_cannot_be(rng):
    X, y = wave(rng, 30)
    for settings, words in [
        ({"solver": "sgd"}, "solver is 'sgd'"),
        ({"early_stopping": True, "validation_fraction": 2}, "between 0 and 1"),
        ({"activation": "step up"}, "activation"),
    ]:
        with pytest.raises(InputError, match=words):
            lk.MLPRegressor((4,), **settings).fit(X, y)
    with pytest.raises(InputError, match="without y_val"):
        lk.MLPRegressor((4,)).fit(X, y, X_val=X)
    with pytest.raises(InputError, match="y_val has the class 'c'"):
        lk.MLPClassifier((4,)).fit(
            X, np.where(y > y.mean(), "a", "b"), X_val=X[:1], y_val=["c"]
        )
