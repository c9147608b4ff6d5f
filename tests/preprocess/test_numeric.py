"""Scalers and the imputer: scikit-learn's answers at unit weights."""

import numpy as np
import pytest
from sklearn import preprocessing
from sklearn.impute import SimpleImputer

from likely.core import InputError
from likely.preprocess import Imputer, MinMaxScaler, RobustScaler, StandardScaler


@pytest.fixture
def X(rng):
    X = rng.normal(size=(101, 4)) * [1, 10, 1e4, 1e-3] + [0, 5, 1e6, 3]
    X[:, 3] = 7.0
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


PAIRS = {
    "standard": (StandardScaler(), preprocessing.StandardScaler()),
    "uncentred": (
        StandardScaler(with_mean=False),
        preprocessing.StandardScaler(with_mean=False),
    ),
    "unscaled": (
        StandardScaler(with_std=False),
        preprocessing.StandardScaler(with_std=False),
    ),
    "robust": (RobustScaler(), preprocessing.RobustScaler()),
    "wide": (
        RobustScaler(quantile_range=(5.0, 95.0)),
        preprocessing.RobustScaler(quantile_range=(5.0, 95.0)),
    ),
    "min-max": (MinMaxScaler(), preprocessing.MinMaxScaler()),
    "range": (
        MinMaxScaler(feature_range=(-1.0, 3.0)),
        preprocessing.MinMaxScaler(feature_range=(-1.0, 3.0)),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_scalers_are_scikit_learns_at_unit_weights(name, X):
    ours, theirs = PAIRS[name]
    found = ours.fit(X).transform(X)
    np.testing.assert_allclose(found, theirs.fit_transform(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.inverse_transform(found), X)


def test_weighted_standard_scaler_is_scikit_learns(X, rng):
    w = rng.uniform(0, 2, len(X))
    ours = StandardScaler().fit(X, sample_weight=w)
    theirs = preprocessing.StandardScaler().fit(X, sample_weight=w)
    np.testing.assert_allclose(ours.mean_, theirs.mean_)
    np.testing.assert_allclose(ours.scale_, theirs.scale_)


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent"])
def test_imputer_is_scikit_learns_at_unit_weights(strategy, X):
    X = X.round(0)
    found = Imputer(strategy=strategy).fit_transform(X)
    expected = SimpleImputer(strategy=strategy, add_indicator=True).fit_transform(X)
    np.testing.assert_allclose(found, expected)


def test_indicators_mark_what_was_missing():
    X = np.array([[1.0, np.nan], [3.0, 4.0]])
    imputer = Imputer().fit(X)
    assert imputer.get_feature_names_out(["a", "b"]).tolist() == ["a", "b", "b_missing"]
    assert imputer.transform([[np.nan, np.nan]]).tolist() == [[2.0, 4.0, 1.0]]
    assert Imputer(add_indicator=False).fit_transform(X).tolist() == [[1, 4], [3, 4]]


def test_column_of_nothing():
    X = np.array([[np.nan], [np.nan]])
    assert Imputer().fit_transform(X).tolist() == [[0.0, 1.0]] * 2
    constant = Imputer(strategy="constant", fill_value=-1.0, add_indicator=False)
    assert constant.fit_transform(X).tolist() == [[-1.0]] * 2
    assert np.isnan(StandardScaler().fit_transform(X)).all()


WRONG = {
    "strategy": (Imputer(strategy="mode"), "strategy is 'mode'; give one of mean"),
    "quantiles": (RobustScaler(quantile_range=(60.0, 90.0)), "on either side of 50"),
    "range": (MinMaxScaler(feature_range=(1.0, 0.0)), "give the lower end first"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_settings_are_sentences(name, X):
    transformer, sentence = WRONG[name]
    with pytest.raises(InputError, match=sentence):
        transformer.fit(X)


def test_infinity_is_named():
    X = np.array([[1.0, 2.0], [1.0, np.inf]])
    with pytest.raises(InputError, match=r"infinity \(column 1, the 2\. row"):
        StandardScaler().fit(X)
