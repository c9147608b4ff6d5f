import numpy as np
from scipy import stats

import likely as lk
from likely.estimators import RoundedRegression


def test_probabilities_are_cells_of_a_normal_between_half_integers(rng):
    X = rng.normal(size=(200, 2))
    y = np.clip(np.round(1.5 + X[:, 0] + 0.4 * rng.normal(size=200)), 0, 3).astype(int)
    model = RoundedRegression().fit(X, y)
    line = lk.LinearRegression().fit(X, y)
    edges = np.array([-np.inf, 0.5, 1.5, 2.5, np.inf])
    cdf = stats.norm.cdf(edges[None], line.predict(X)[:, None], line.scale_)
    np.testing.assert_allclose(model.predict_proba(X), np.diff(cdf, axis=1), atol=1e-12)
    # the likeliest cell is the rounded number, but for the endless outer cells
    mean = line.predict(X)
    inner = (mean > 0.6) & (mean < 2.4)
    np.testing.assert_array_equal(model.predict(X)[inner], np.round(mean[inner]))
    assert set(model.predict(X[(mean < 0.4) | (mean > 2.6)])) == {0, 3}


def test_a_false_order_costs_what_a_softmax_does_not_pay(rng):
    """Groups along a line, numbered 0, 2, 1: the number of a class means nothing."""
    kind = rng.integers(0, 3, size=300)
    X = np.array([[0.0], [4.0], [2.0]])[kind] + 0.5 * rng.normal(size=(300, 1))
    wrong = RoundedRegression().fit(X, kind)
    right = lk.LogisticRegression(alpha=0.1).fit(X, kind)
    assert right.score(X, kind) > 0.9
    assert wrong.score(X, kind) < 0.6
    assert right.nll(X, kind) < wrong.nll(X, kind) - 0.5
