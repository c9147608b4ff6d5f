"""SHAP values, permutation importance, partial dependence."""

import itertools
import math

import numpy as np
import pytest

import likely as lk
from likely import plots, selection


@pytest.fixture(scope="module")
def boosted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[rng.random((300, 4)) < 0.1] = np.nan
    X[:, 3] = rng.integers(0, 6, 300)
    y = np.nan_to_num(X[:, 0] * X[:, 1]) + (X[:, 3] == 2) + 0.1 * rng.normal(size=300)
    model = lk.GradientBoostingRegressor(
        n_estimators=3, min_samples_leaf=5, categorical_features=[3]
    )
    return model.fit(X, y), X, y


def value_of(trees, t, x, known):
    """The value v(S): E[tree], where splits on features outside S go both ways."""
    codes = trees.bins.encode(x[None])

    def below(i):
        left, f, low = trees.left[i], trees.feature[i], trees.low[i]
        if left < 0:
            return trees.value[i, 0]
        if f not in known:
            pair = trees.weight[left : left + 2]
            return pair @ [below(left), below(left + 1)] / pair.sum()
        c = int(codes[f >> 2, 0, f & 3])
        if low == 2:
            goes_left = int(trees.sets[trees.set_at[i]][c >> 6]) >> (c & 63) & 1
        else:
            goes_left = (c - low) % 256 <= trees.cut[i] - low
        return below(left if goes_left else left + 1)

    return below(trees.roots[t])


def test_shap_values_are_shapleys(boosted):
    model, X, _ = boosted
    trees, d = model.trees_, 4
    phi, _ = model.shap_values(X[:3])
    for row, j in itertools.product(range(3), range(d)):
        total = 0.0
        for k in range(d):
            share = math.factorial(k) * math.factorial(d - k - 1) / math.factorial(d)
            for S in itertools.combinations(set(range(d)) - {j}, k):
                for t in range(len(trees)):
                    more = value_of(trees, t, X[row], {*S, j})
                    total += share * (more - value_of(trees, t, X[row], set(S)))
        np.testing.assert_allclose(phi[row, j, 0], total, atol=1e-12)


def test_shap_values_sum_to_the_prediction(boosted):
    model, X, y = boosted
    phi, base = model.shap_values(X)
    eta = model.predict_dist(X).eta
    np.testing.assert_allclose(phi.sum(axis=1) + base, eta, atol=1e-10)
    forest = lk.RandomForestClassifier(5).fit(X, y > 0)
    phi, base = forest.shap_values(X)
    np.testing.assert_allclose(phi.sum(1) + base, forest.votes(X), atol=1e-10)


def test_permutation_importance_finds_what_is_needed(rng):
    X = rng.normal(size=(600, 3))
    y = 2 * X[:, 0] + 0.7 * X[:, 1] + 0.3 * rng.normal(size=600)
    model = lk.LinearRegression().fit(X[:300], y[:300])
    found = selection.permutation_importance(model, X[300:], y[300:])
    assert found.mean[0] > found.mean[1] > 10 * abs(found.mean[2])
    assert abs(found.mean[2]) < 4 * found.error[2] + 1e-3
    # shuffled, the error of squares grows by 2 w² var x: in nats, over 2σ²
    w, sigma = model.coef_[1], model.scale_
    expected = w**2 * X[300:, 1].var() / sigma**2
    assert abs(found.mean[1] - expected) < 4 * found.error[1]


def test_permutation_importance_does_not_favour_many_values(rng):
    """Impurity importance does: noise with many values is split again and again."""
    X = np.column_stack([rng.integers(0, 2, 600), rng.normal(size=600)]).astype(float)
    y = np.where(rng.random(600) < 0.3, 1 - X[:, 0], X[:, 0])
    forest = lk.RandomForestClassifier(20, max_features=None).fit(X[:300], y[:300])
    assert forest.feature_importances_[1] > 0.5
    found = selection.permutation_importance(forest, X[300:], y[300:])
    assert found.mean[0] > found.mean[1]


def test_weights_of_rows_in_importance(rng):
    X, w = rng.normal(size=(50, 2)), np.r_[np.ones(40), np.zeros(10)]
    y = X[:, 0] + rng.normal(size=50)
    model = lk.LinearRegression().fit(X, y)
    clean = selection.permutation_importance(model, X, y, sample_weight=w)
    X[40:] = np.nan
    dirty = selection.permutation_importance(model, X, y, sample_weight=w)
    np.testing.assert_array_equal(clean.mean, dirty.mean)


def test_partial_dependence_of_a_line_is_its_slope(rng):
    X = rng.normal(size=(100, 3))
    model = lk.LinearRegression().fit(X, X @ [1.0, -2.0, 0.5])
    found = selection.partial_dependence(model, X, 1, points=7)
    np.testing.assert_allclose(np.diff(found.mean), -2 * np.diff(found.grid))
    np.testing.assert_allclose(found.rows.mean(axis=0), found.mean)
    assert found.rows.shape == (100, 7)


def test_pictures(boosted):
    model, X, y = boosted
    found = selection.partial_dependence(model, X, 0)
    drawn = plots.dependence(found.grid, found.mean, found.rows, name="a")
    assert len(drawn.axes[0].lines) > 20
    bars = plots.importances(np.arange(4.0), np.ones(4), names=list("abcd"))
    labels = [text.get_text() for text in bars.axes[0].get_yticklabels()]
    assert labels == list("abcd")
