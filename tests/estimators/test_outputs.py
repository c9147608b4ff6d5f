"""Several outputs: what the models of single columns say, side by side."""

import functools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import likely as lk
from likely import families, selection
from likely.core import InputError

N = 64
MODELS = {
    "tree": lk.DecisionTreeRegressor(max_depth=3),
    "forest": lk.RandomForestRegressor(2, oob_score=True),
    "boosting": lk.GradientBoostingRegressor(n_estimators=3, min_samples_leaf=5),
    "bagging": lk.BaggingRegressor(
        lk.DecisionTreeRegressor(max_depth=2), 2, oob_score=True
    ),
}
OF_TREES = ["tree", "forest", "boosting"]
every = pytest.mark.parametrize("name", MODELS)


@functools.cache
def rows():
    """Inputs, and three outputs of different size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    Y = np.stack([X[:, 0], 50 * np.sin(X[:, 1]), X[:, 2] ** 2], axis=1)
    return X, Y + rng.normal(size=Y.shape)


@pytest.fixture
def table():
    return rows()


@functools.cache
def _fitted(name, columns):
    X, Y = rows()
    return clone(MODELS[name]).fit(X, Y[:, columns])


def both(name):
    """A model of two outputs, and those of its columns."""
    return _fitted(name, (0, 1)), [_fitted(name, 0), _fitted(name, 1)]


@every
def test_each_output_is_the_fit_of_its_column(name, table):
    X, _ = table
    model, single = both(name)
    np.testing.assert_array_equal(
        model.predict(X), np.stack([m.predict(X) for m in single], axis=1)
    )
    turned = _fitted(name, (1, 0))
    np.testing.assert_array_equal(turned.predict(X), model.predict(X)[:, ::-1])


@every
def test_the_distribution_is_a_product(name, table):
    X, Y = table[0][:8], table[1][:8, :2]
    model, single = both(name)
    dist, alone = model.predict_dist(X), [m.predict_dist(X) for m in single]
    logs = [d.log_prob(y) for d, y in zip(alone, Y.T, strict=True)]
    np.testing.assert_allclose(dist.log_prob(Y), sum(logs), rtol=1e-12)
    np.testing.assert_allclose(dist.mean, model.predict(X), rtol=1e-9, atol=1e-9)
    assert np.isclose(model.nll(X, Y), -np.mean(sum(logs)))


@pytest.mark.parametrize("name", ["tree", "forest"])
def test_quantiles_and_draws_of_each_output(name, table):
    X = table[0][:8]
    model, single = both(name)
    low, high = model.predict_interval(X, 0.8)
    for j, alone in enumerate(single):
        ends = alone.predict_interval(X, 0.8)
        np.testing.assert_allclose((low[:, j], high[:, j]), ends, rtol=1e-9)
    draws = model.predict_dist(X).sample(2000, random_state=0)
    inside = (low <= draws) & (draws <= high)
    assert draws.shape == (2000, 8, 2)
    assert np.abs(inside.mean(axis=(0, 1)) - 0.8).max() < 0.02


@every
def test_saved_and_loaded(name, table, tmp_path):
    X, _ = table
    model, _ = both(name)
    model.save(tmp_path / "model.likely")
    loaded = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_dist(X).eta, model.predict_dist(X).eta)


@every
def test_a_single_column_stays_a_column(name, table):
    X, _ = table
    model = _fitted(name, (0,))
    assert model.predict(X).shape == (N, 1)
    np.testing.assert_array_equal(model.predict(X)[:, 0], both(name)[1][0].predict(X))


@every
def test_another_fit_forgets_the_first(name, table):
    X, Y = table
    model = clone(MODELS[name]).fit(X, Y)
    again = clone(MODELS[name]).fit(X, Y[:, 0])
    assert vars(model.fit(X, Y[:, 0])).keys() == vars(again).keys()
    assert not {"trees_", "estimators_"} & vars(model.fit(X, Y)).keys()


@pytest.mark.parametrize("name", ["tree", "boosting"])
def test_weights_and_frames(name, table):
    """Weight 2 is the row twice, weight 0 absent; columns are known by their names."""
    X, Y = table
    w = np.random.default_rng(1).integers(0, 3, N)
    frame = pd.DataFrame(np.round(X), columns=["a", "b", "c"])
    spoiled = pd.DataFrame(np.where(w[:, None] > 0, Y, np.nan), columns=list("pqr"))
    settings = {"categorical_features": ["b"]}
    model = clone(MODELS[name]).set_params(**settings)
    weighted = clone(model).fit(frame, spoiled, sample_weight=w)
    twice = np.repeat(np.arange(N), w)
    repeated = clone(model).fit(frame.iloc[twice], Y[twice])
    np.testing.assert_allclose(weighted.predict(frame), repeated.predict(frame))
    assert weighted.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        weighted.predict(frame[["b", "a", "c"]])


@pytest.mark.parametrize("name", OF_TREES)
def test_importances_are_the_mean_and_shap_values_side_by_side(name, table):
    X, _ = table
    model, single = both(name)
    mean = np.mean([m.feature_importances_ for m in single], axis=0)
    np.testing.assert_array_equal(model.feature_importances_, mean)
    phi, base = model.shap_values(X)
    total, first = phi.sum(axis=1) + base, slice(None, None, 2)  # each has two numbers
    np.testing.assert_allclose(total[:, first], model.predict(X), atol=1e-9)
    curve = selection.partial_dependence(model, X, 0, points=3)
    assert curve.mean.shape == (3, 2)


@pytest.mark.parametrize("name", ["forest", "bagging"])
def test_out_of_bag_is_the_mean_of_the_outputs(name):
    model, single = both(name)
    assert np.isclose(model.oob_score_, np.mean([m.oob_score_ for m in single]))
    np.testing.assert_array_equal(model.scale_, [m.scale_ for m in single])
    if name == "forest":
        assert model.oob_prediction_.shape == (N, 2)


def test_each_output_stops_by_its_own_validation_rows(table):
    X, Y = table
    new = {"X_val": X[:20], "y_val": Y[:20]}
    settings = {"n_estimators": 30, "min_samples_leaf": 5, "n_iter_no_change": 2}
    model = lk.GradientBoostingRegressor(**settings).fit(X[20:], Y[20:], **new)
    alone = [
        lk.GradientBoostingRegressor(**settings).fit(
            X[20:], y[20:], None, X[:20], y[:20]
        )
        for y in Y.T
    ]
    assert model.n_estimators_.tolist() == [m.n_estimators_ for m in alone]
    np.testing.assert_array_equal(
        model.predict(X), np.stack([m.predict(X) for m in alone], axis=1)
    )
    with pytest.raises(InputError, match="the 3 columns that y has"):
        model.fit(X, Y, X_val=X, y_val=Y[:, :2])


def test_any_family_and_any_learner(table):
    X, Y = table
    counts = np.abs(Y[:, :2]).round()
    tree = lk.DecisionTreeRegressor(criterion=families.Poisson(), max_depth=2)
    assert (tree.fit(X, counts).predict(X) > 0).all()
    assert tree.family_.n_outputs == 2
    bag = lk.BaggingRegressor(LinearRegression(), 2).fit(X, Y)
    assert bag.predict_dist(X).log_prob(Y).shape == (N,)


def test_what_belongs_to_one_tree_is_asked_of_one_output(table):
    model, single = both("tree")
    for ask in (model.text, model.get_depth, lambda: model.apply(table[0])):
        with pytest.raises(InputError, match=r"ask the model of one: outputs_\[0\]"):
            ask()
    assert model.outputs_[1].text() == single[1].text()
