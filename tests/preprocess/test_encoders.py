"""Encoders of words and dates."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn import preprocessing

from likely.core import InputError
from likely.preprocess import (
    DateParts,
    OneHotEncoder,
    OrdinalEncoder,
    TargetEncoder,
    one_hot,
)


@pytest.fixture
def words(rng):
    """Two columns of words, 200 rows."""
    color = rng.choice(["red", "green", "blue", "grey"], 200, p=[0.5, 0.3, 0.15, 0.05])
    return pd.DataFrame({"color": color, "size": rng.choice(["s", "m"], 200)})


# One-hot ------------------------------------------------------------------------------


@pytest.mark.parametrize("xp", [np, jnp])
def test_one_hot_classes_are_root_two_apart(xp):
    """C20, W36: |e_i − e_j| = √2 = 1.4142136 for any two classes."""
    E = np.asarray(one_hot(xp.arange(4), 4), np.float64)
    np.testing.assert_array_equal(E, np.eye(4))
    for i, j in itertools.combinations(range(4), 2):
        assert np.linalg.norm(E[i] - E[j]) == pytest.approx(1.4142136, abs=5e-8)


def test_one_hot_runs_in_a_program():
    found = jax.jit(lambda y: one_hot(y, 3))(jnp.array([2, 0, 5, -1]))
    assert found.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_one_hot_encoder_is_scikit_learns(words):
    ours = OneHotEncoder().fit(words)
    theirs = preprocessing.OneHotEncoder(sparse_output=False).fit(words)
    np.testing.assert_array_equal(ours.transform(words), theirs.transform(words))
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    first = OneHotEncoder(drop="first").fit(words)
    expected = preprocessing.OneHotEncoder(sparse_output=False, drop="first")
    np.testing.assert_array_equal(first.transform(words), expected.fit_transform(words))
    assert first.get_feature_names_out()[0] == "color_green"


@pytest.mark.parametrize("setting", [{"max_categories": 3}, {"min_frequency": 45}])
def test_rare_categories_share_a_column(setting, words):
    ours = OneHotEncoder(**setting).fit(words)
    theirs = preprocessing.OneHotEncoder(sparse_output=False, **setting)
    np.testing.assert_array_equal(ours.transform(words), theirs.fit_transform(words))
    assert "color_other" in ours.get_feature_names_out()
    assert ours.categories_[0] == ["green", "red"]
    new = pd.DataFrame({"color": ["pink"], "size": ["s"]})
    assert ours.transform(new).tolist() == [[0, 0, 1, 0, 1]]


def test_unknown_categories(words):
    new = pd.DataFrame({"color": ["pink", "red"], "size": ["xl", "s"]})
    assert OneHotEncoder().fit(words).transform(new).sum(axis=1).tolist() == [0, 2]
    strict = OneHotEncoder(handle_unknown="error").fit(words)
    with pytest.raises(InputError, match="column 'color' has 'pink' in row 0"):
        strict.transform(new)
    ignoring = OneHotEncoder(max_categories=3, handle_unknown="ignore").fit(words)
    assert ignoring.transform(new)[0].sum() == 0


def test_missing_is_a_category_where_it_was_seen():
    frame = pd.DataFrame({"w": ["a", None, "b"]})
    encoder = OneHotEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["w_a", "w_b", "w_missing"]
    assert encoder.transform(frame).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    unseen = OneHotEncoder().fit(frame.iloc[[0, 2]])
    assert unseen.transform(frame).tolist() == [[1, 0], [0, 0], [0, 1]]


def test_numbers_are_categories_too():
    X = np.array([[10.0], [2.0], [2.5], [np.nan]])
    encoder = OneHotEncoder().fit(X)
    assert encoder.categories_ == [["2", "2.5", "10"]]
    assert encoder.transform([[2], [10]]).tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]]
    whole = OneHotEncoder().fit(pd.DataFrame({"n": [10, 2, 2]}))
    with_gap = pd.DataFrame({"n": [2.0, None]})
    assert whole.transform(with_gap).tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"handle_unknown": "warn"}, "handle_unknown is 'warn'"),
        ({"drop": "last"}, "drop is 'last'"),
        ({"max_categories": 0}, "at least 1"),
    ],
)
def test_wrong_settings_are_sentences(setting, sentence, words):
    with pytest.raises(InputError, match=sentence):
        OneHotEncoder(**setting).fit(words)


# Ordinal ------------------------------------------------------------------------------


def test_ordinal_encoder_is_scikit_learns(words):
    found = OrdinalEncoder().fit(words).transform(words)
    expected = preprocessing.OrdinalEncoder().fit_transform(words)
    np.testing.assert_array_equal(found, expected)
    new = pd.DataFrame({"color": ["pink", None], "size": ["s", "m"]})
    odd = OrdinalEncoder().fit(words).transform(new)
    assert odd[0].tolist() == [-1, 1]
    assert np.isnan(odd[1, 0])


# Target -------------------------------------------------------------------------------


@pytest.fixture(params=["continuous", "binary", "multiclass"])
def target(request, words, rng):
    score = (words["color"] == "red") + rng.normal(size=len(words))
    if request.param == "continuous":
        return score.to_numpy()
    if request.param == "binary":
        return np.where(score > 0.5, "yes", "no")
    return np.digitize(score, [0, 1])


@pytest.mark.parametrize("smooth", ["auto", 0.0, 5.0])
def test_target_encoder_is_scikit_learns_at_unit_weights(smooth, words, target):
    ours = TargetEncoder(smooth=smooth).fit(words, target)
    theirs = preprocessing.TargetEncoder(smooth=smooth).fit(words, target)
    np.testing.assert_allclose(ours.transform(words), theirs.transform(words))
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    new = pd.DataFrame({"color": ["pink"], "size": ["s"]})
    np.testing.assert_allclose(ours.transform(new), theirs.transform(new))


def test_cross_fitting_does_not_leak(rng):
    """A category for each row tells nothing, so it must not tell the target."""
    n = 400
    X = pd.DataFrame({"id": [f"k{i}" for i in range(n)]})
    y = rng.normal(size=n)
    leaked = TargetEncoder(smooth=0.0).fit(X, y).transform(X)[:, 0]
    assert np.corrcoef(leaked, y)[0, 1] > 0.99
    fitted = TargetEncoder(smooth=0.0).fit_transform(X, y)[:, 0]
    assert abs(np.corrcoef(fitted + 1e-9 * y, y)[0, 1]) < 0.2


def test_folds_of_cross_fitting_are_those_of_the_seed(words, target):
    first = TargetEncoder(random_state=1).fit_transform(words, target)
    again = TargetEncoder(random_state=1).fit_transform(words, target)
    np.testing.assert_array_equal(first, again)
    other = TargetEncoder(random_state=2).fit_transform(words, target)
    assert not np.array_equal(first, other)


def test_each_fold_is_encoded_by_the_others(words, rng):
    """By hand: fold after fold, with the encoder fitted to the rest."""
    y = rng.normal(size=len(words))
    encoder = TargetEncoder()
    found = encoder.fit_transform(words, y)
    fold = encoder._folds(y[:, None], np.ones(len(y)))
    assert np.bincount(fold).tolist() == [40] * 5
    for k in range(5):
        rest = TargetEncoder().fit(words[fold != k], y[fold != k])
        np.testing.assert_allclose(found[fold == k], rest.transform(words[fold == k]))


def test_missing_is_a_category_for_targets():
    X = pd.DataFrame({"w": ["a", "a", None, None]})
    encoder = TargetEncoder(smooth=0.0).fit(X, [1.5, 2.5, 10.5, 20.5])
    assert encoder.transform(X)[:, 0].tolist() == [2.0, 2.0, 15.5, 15.5]


def test_wrong_targets_are_sentences(words):
    with pytest.raises(InputError, match="X has 200 rows but y has 3"):
        TargetEncoder().fit(words, [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="at least 2 folds"):
        TargetEncoder(cv=1).fit_transform(words, np.arange(200) / 7)
    bad = np.arange(200) / 7
    bad[9] = np.nan
    with pytest.raises(InputError, match=r"y contains NaN \(row 9"):
        TargetEncoder(target_type="continuous").fit(words, bad)
    with pytest.raises(InputError, match="the target is ranks"):
        TargetEncoder(target_type="ranks").fit(words, bad)


# Dates --------------------------------------------------------------------------------


def test_date_parts_are_pandas():
    days = pd.date_range("2019-12-25 13:30", periods=500, freq="31h")
    frame = pd.DataFrame({"when": days})
    encoder = DateParts(
        parts=("year", "month", "day", "day_of_year", "weekday", "hour")
    )
    found = encoder.fit(frame).transform(frame)
    names = ["year", "month", "day", "day_of_year", "day_of_week", "hour"]
    expected = np.stack([getattr(days, name) for name in names], axis=1)
    np.testing.assert_array_equal(found, expected)
    assert encoder.get_feature_names_out()[3] == "when_day_of_year"


def test_parts_that_do_not_vary_are_left_out():
    frame = pd.DataFrame({"d": pd.to_datetime(["2024-03-01", "2024-03-15", None])})
    encoder = DateParts().fit(frame)
    names = encoder.get_feature_names_out()
    assert names.tolist() == ["d_elapsed", "d_day"]
    found = encoder.transform(frame)
    assert found[:2].tolist() == [[0, 1], [14, 15]]
    assert np.isnan(found[2]).all()
    only = DateParts().fit(frame.iloc[:1])
    assert only.transform(frame).shape == (3, 0)


def test_cyclic_parts_put_december_next_to_january():
    days = pd.date_range("2023-01-01", periods=365)
    encoder = DateParts(parts=("month",), cyclic=True).fit(pd.DataFrame({"d": days}))
    assert encoder.get_feature_names_out().tolist() == ["d_month_sin", "d_month_cos"]
    first, last, july = encoder.transform(pd.DataFrame({"d": days[[0, 364, 190]]}))
    assert np.linalg.norm(first - last) < 0.6 < np.linalg.norm(first - july)


def test_dates_as_text():
    encoder = DateParts(parts=("year",)).fit([["2024-01-31"], ["2023-01-31"]])
    assert encoder.transform([["31.12.1999"]]).tolist() == [[1999]]
    with pytest.raises(
        InputError, match="column 'x0' has 'soon' in row 1, which is no date"
    ):
        encoder.transform([["2024-01-31"], ["soon"]])
    with pytest.raises(InputError, match="holds double values, not dates"):
        encoder.transform([[1.5]])
    with pytest.raises(InputError, match="no part 'century'"):
        DateParts(parts=("century",)).fit([["2024-01-31"]])
