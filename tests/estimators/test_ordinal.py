"""Ordinal regression: statsmodels' numbers, orders of labels, separation."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import likely as lk
from likely.base.order import names_levels, natural_order
from likely.core import InputError
from likely.estimators.linear.ordinal import level_separation

WORDS = np.array(["poor", "fair", "good", "excellent"])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3)) * [1.0, 5.0, 0.2]
    position = X @ [1.0, -0.2, 2.0] + rng.logistic(size=150)
    return X, np.digitize(position, [-1.5, 0.0, 2.0])


@pytest.fixture(scope="module")
def fitted(rows):
    return lk.OrdinalRegression().fit(*rows)


def test_it_is_statsmodels_ordered_model(rows, fitted):
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    X, y = rows
    model = OrderedModel(y, X, distr="logit")
    peer = model.fit(method="newton", start_params=_start(fitted), disp=0)
    found, d = fitted.summary(), X.shape[1]
    cuts = model.transform_threshold_params(peer.params)[1:-1]
    close: Any = {"rtol": 1e-5, "atol": 1e-7}
    np.testing.assert_allclose(fitted.coef_, peer.params[:d], **close)
    np.testing.assert_allclose(fitted.thresholds_, cuts, **close)
    np.testing.assert_allclose(fitted.predict_proba(X), peer.predict(X), **close)
    # statsmodels' errors are of the first threshold and of log-gaps
    errors = found.standard_errors
    np.testing.assert_allclose(errors[: d + 1], peer.bse[: d + 1], **close)
    steps = np.r_[1.0, np.exp(peer.params[d + 1 :])]
    J = np.tril(np.tile(steps, (len(steps), 1)))
    C = J @ peer.cov_params()[d:, d:] @ J.T
    np.testing.assert_allclose(errors[d:], np.sqrt(np.diagonal(C)), **close)
    facts = found.log_likelihood, found.estimate.null_log_likelihood, found.estimate.aic
    np.testing.assert_allclose(facts, (peer.llf, peer.llnull, peer.aic), rtol=1e-6)
    assert found.estimate.df_residual == peer.df_resid
    assert list(found.names) == ["x0", "x1", "x2", "0|1", "1|2", "2|3"]


def _start(fitted) -> np.ndarray:
    cuts = fitted.thresholds_
    return np.r_[fitted.coef_, cuts[0], np.log(np.diff(cuts))]


@pytest.mark.slow
def test_two_levels_are_logistic_regression(rows):
    X, y = rows
    a = lk.OrdinalRegression().fit(X, y > 1)
    b = lk.LogisticRegression().fit(X, y > 1)
    np.testing.assert_allclose(a.coef_, b.coef_[0], rtol=1e-7)
    np.testing.assert_allclose(a.thresholds_, -b.intercept_, rtol=1e-7)
    errors = a.summary().standard_errors, b.summary().standard_errors[[1, 2, 3, 0]]
    np.testing.assert_allclose(*errors, rtol=1e-6)


def test_words_are_ordered_and_columns_sorted(rows, fitted):
    X, y = rows
    named = lk.OrdinalRegression().fit(X, WORDS[y])
    assert named.classes_.tolist() == sorted(WORDS)
    assert named.levels_.tolist() == WORDS.tolist()
    order = np.argsort(WORDS)
    probs = named.predict_proba(X)
    np.testing.assert_allclose(probs, fitted.predict_proba(X)[:, order], rtol=1e-12)
    np.testing.assert_array_equal(named.predict(X), WORDS[fitted.predict(X)])
    np.testing.assert_allclose(named.nll(X, WORDS[y]), fitted.nll(X, y), rtol=1e-12)
    assert named.score(X, WORDS[y]) == fitted.score(X, y)
    assert "poor < fair < good < excellent" in str(named.summary())


def test_an_order_is_given_or_pandas_knows_it(rows, fitted):
    X, y = rows
    letters = np.array(["w", "b", "q", "a"])
    given = lk.OrdinalRegression(order=["w", "b", "q", "a", "z"]).fit(X, letters[y])
    np.testing.assert_allclose(given.coef_, fitted.coef_, rtol=1e-12)
    column = pd.Series(pd.Categorical(letters[y], list("wbqa"), ordered=True))
    known = lk.OrdinalRegression().fit(X, column)
    np.testing.assert_allclose(known.coef_, fitted.coef_, rtol=1e-12)
    with pytest.raises(InputError, match="order of the levels 'a', 'b', 'q'"):
        lk.OrdinalRegression().fit(X, letters[y])
    with pytest.raises(InputError, match="y has 'a', which is not in order"):
        lk.OrdinalRegression(order=["w", "b", "q"]).fit(X, letters[y])


def test_levels_that_can_be_told_apart_are_named():
    X = np.linspace(-2, 2, 40)[:, None] + np.array([[0.0, 5.0]])
    X[:, 1] = np.random.default_rng(0).normal(size=40)
    y = np.digitize(X[:, 0], [-0.7, 0.7])
    with pytest.warns(UserWarning, match="tells levels apart"):
        model = lk.OrdinalRegression().fit(X, y)
    with pytest.raises(InputError, match="no standard errors"):
        model.summary()
    assert np.isfinite(model.nll(X, y))
    y[[10, 30]] = y[[30, 10]]
    assert level_separation(X[:, :1], y, 3) is None


@pytest.mark.slow
def test_a_penalty_chosen_by_folds_shrinks(rows):
    X, y = rows
    found = lk.OrdinalRegression("cv", alphas=[100.0, 1.0]).fit(X, y)
    free = lk.OrdinalRegression().fit(X, y)
    assert found.alpha_ in (1.0, 100.0)
    assert np.linalg.norm(found.coef_) < np.linalg.norm(free.coef_)
    assert list(found.summary(errors="none").names)[-1] == "2|3"


@pytest.mark.parametrize(
    "levels",
    [
        ("low", "medium", "high"),
        ("Very Low", "low", "Moderate", "high", "very_high"),
        ("never", "sometimes", "often", "always"),
        ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
        ("S", "M", "L", "XL"),
        ("small", "medium", "large"),
        ("poor", "fair", "good", "very good", "excellent"),
        ("1 - none", "2 - some", "10 - all"),
        ("<18", "18-24", "25-64", "65+"),
        ("F", "D", "C", "B", "A"),
        ("C", "B-", "B", "B+", "A"),
    ],
)
def test_natural_orders(levels):
    assert natural_order(sorted(levels)) == levels


@pytest.mark.parametrize(
    "labels",
    [
        ("setosa", "versicolor", "virginica"),
        ("A", "B", "C"),
        ("low", "medium", "blue"),
        ("red", "green", "blue"),
        ("low", "lo", "high"),
        ("2019", "2020", "2021-x"),
        ("north", "east", "south"),
    ],
)
def test_no_order_is_guessed(labels):
    assert natural_order(labels) is None


def test_names_of_scales():
    assert names_levels("overall_quality")
    assert names_levels("jobSatisfaction")
    assert not names_levels("target")
    assert not names_levels("cultivar")
