"""Null models: any family for y, and nothing but the number of rows from X."""

import numpy as np
import pandas as pd
import pytest

import likely as lk
from likely import families
from likely.core import InputError

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
Y = rng.gamma(2.0, size=30)


@pytest.mark.parametrize(
    ("family", "y"),
    [
        pytest.param(families.Normal(scale=2.0), Y, id="scale fixed"),
        pytest.param(families.MultivariateNormal(2), np.c_[Y, Y + X[:, 0]], id="joint"),
        pytest.param(families.Gamma(), Y, id="gamma", marks=pytest.mark.slow),
        pytest.param(
            families.Gamma(), np.c_[Y, Y + 1], id="columns", marks=pytest.mark.slow
        ),
        pytest.param(
            families.Product(families.Normal(), families.Gamma()),
            np.c_[Y, Y],
            id="unlike columns",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_family_is_a_setting(family, y, tmp_path):
    model = lk.NullRegressor(family=family).fit(X, y)
    dist = model.predict_dist(X)
    np.testing.assert_allclose(model.nll(X, y), -dist.log_prob(y).mean(), rtol=1e-9)
    assert model.predict(X).shape == y.shape
    model.save(tmp_path / "null.likely")
    again = lk.load(tmp_path / "null.likely")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_family_by_name_is_the_family_itself():
    by_name = lk.NullRegressor("laplace").fit(X, Y)
    itself = lk.NullRegressor(families.Laplace()).fit(X, Y)
    np.testing.assert_array_equal(by_name.eta_, itself.eta_)


@pytest.mark.parametrize(
    ("family", "y", "sentence"),
    [
        ("gauss", Y, "give one of .*, or a family of likely.families"),
        (families.Gamma, Y, "such as Gamma"),
        (families.Gamma(), -Y, "Gamma needs"),
        (families.MultivariateNormal(3), Y, "has 3 outputs, but y has 1 column;"),
        (families.MultivariateNormal(3), np.c_[Y, Y], "3 outputs, but y has 2 columns"),
    ],
)
def test_what_is_no_family_for_y_is_a_sentence(family, y, sentence):
    with pytest.raises(InputError, match=sentence):
        lk.NullRegressor(family=family).fit(X, y)


@pytest.mark.parametrize("garbage", [np.nan, np.inf, 1e300, "words", None, {}])
def test_x_may_hold_anything(garbage):
    """In rows that count too: columns are only counted."""
    table, labels = X.astype(object), np.arange(30) % 2
    table[3:9] = garbage
    w = (np.arange(30) != 4).astype(float)
    y = np.where(w > 0, Y, np.nan)
    plain = lk.NullRegressor().fit(X, Y, sample_weight=w)
    found = lk.NullRegressor().fit(table, y, sample_weight=w)
    np.testing.assert_array_equal(found.predict(table), plain.predict(X))
    classes = lk.NullClassifier().fit(table, labels, sample_weight=w)
    expected = lk.NullClassifier().fit(X, labels, sample_weight=w)
    np.testing.assert_array_equal(
        classes.predict_proba(table), expected.predict_proba(X)
    )


def test_frames_of_words_keep_their_names():
    frame = pd.DataFrame({"town": list("abc") * 10, "size": np.arange(30)})
    model = lk.NullRegressor().fit(frame, Y)
    assert list(model.feature_names_in_) == ["town", "size"]
    assert model.predict(frame[:3]).shape == (3,)
    with pytest.raises(ValueError, match="feature"):
        model.predict(frame[["size"]])
