"""Trees, forests, boosting and bagged trees on columns of words and categories."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

import likely as lk
from likely.core import InputError

N = 120
EFFECT = {"red": 2.0, "green": -1.0, "blue": 0.5, "grey": -2.0}
rng = np.random.default_rng(0)
COLOUR = rng.choice(list(EFFECT), N)
SIZE = rng.normal(size=N)
Y = np.array([EFFECT[c] for c in COLOUR]) + SIZE + 0.1 * rng.normal(size=N)
CODES = np.c_[np.unique(COLOUR, return_inverse=True)[1], SIZE]
PANDAS = pd.DataFrame({"colour": COLOUR, "size": SIZE})
POLARS = pl.DataFrame({"colour": COLOUR, "size": SIZE})
OBJECTS = np.empty((N, 2), object)
OBJECTS[:, 0], OBJECTS[:, 1] = COLOUR, SIZE
TABLES = {
    "pandas, text": PANDAS,
    "pandas, objects": PANDAS.astype({"colour": object}),
    "pandas, categories": PANDAS.astype({"colour": "category"}),
    "pandas, numbered columns": PANDAS.set_axis([0, 1], axis=1),
    "polars, text": POLARS,
    "polars, categories": POLARS.with_columns(pl.col("colour").cast(pl.Categorical)),
    "polars, enum": POLARS.with_columns(
        pl.col("colour").cast(pl.Enum(sorted(EFFECT)[::-1]))
    ),
    "objects": OBJECTS,
    "text": OBJECTS.astype(str),
    "lists": OBJECTS.tolist(),
}
MODELS = {
    "tree of classes": lk.DecisionTreeClassifier(),
    "tree": lk.DecisionTreeRegressor(),
    "forest of classes": lk.RandomForestClassifier(5),
    "forest": lk.RandomForestRegressor(5),
    "boosted classes": lk.GradientBoostingClassifier(n_estimators=5),
    "boosting": lk.GradientBoostingRegressor(n_estimators=5),
    "bagged classes": lk.BaggingClassifier(n_estimators=3),
    "bagging": lk.BaggingRegressor(n_estimators=3, max_features=1),
}


def target(name):
    return np.where(Y > 0, "up", "down") if "classes" in name else Y


def fresh(name) -> Any:
    return clone(MODELS[name])


def on_codes(name) -> Any:
    """The same model on codes that it is told are categories."""
    model = fresh(name)
    if "bag" not in name:
        return model.set_params(categorical_features=[0])
    kind = lk.DecisionTreeRegressor
    if "classes" in name:
        kind = lk.DecisionTreeClassifier
    return model.set_params(estimator=kind(categorical_features=[0]))


@pytest.mark.parametrize("name", MODELS)
def test_words_are_categories_in_any_table(name):
    y = target(name)
    expected = on_codes(name).fit(CODES, y).predict(CODES)
    cheap = "tree" in name or name == "forest"
    model: Any = None
    X: Any = None
    for kind in TABLES if cheap else ("pandas, categories", "lists"):
        X = TABLES[kind]
        model = fresh(name).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), expected, err_msg=kind)
    assert not hasattr(model, "feature_names_in_")  # of a list of lists
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), expected)


@pytest.mark.parametrize("name", MODELS)
def test_words_survive_files_and_cross_validation(name, tmp_path):
    y = target(name)
    model = fresh(name).fit(PANDAS, y)
    assert list(model.feature_names_in_) == ["colour", "size"]
    model.save(tmp_path / "model.likely")
    loaded = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(loaded.predict(POLARS), model.predict(PANDAS))
    if "boost" in name or "bag" in name:
        return
    held_out = cross_val_predict(fresh(name), PANDAS, y, cv=2)
    right = held_out == y if "classes" in name else np.abs(held_out - y) < 2
    assert np.mean(right) > 0.6


def test_a_word_that_was_not_seen_is_missing():
    gaps = PANDAS.assign(colour=PANDAS["colour"].where(np.arange(N) % 5 > 0, None))
    model = lk.RandomForestRegressor(5).fit(gaps, Y)
    new, none = PANDAS[:9].assign(colour="violet"), PANDAS[:9].assign(colour=None)
    np.testing.assert_array_equal(model.predict(new), model.predict(none))
    assert not np.array_equal(model.predict(new), model.predict(PANDAS[:9]))


def test_garbage_in_absent_rows_is_no_word():
    w = np.r_[np.zeros(20), np.ones(N - 20)]
    dirty = OBJECTS.copy()
    dirty[:20] = "?"
    model = lk.DecisionTreeRegressor().fit(dirty, Y, sample_weight=w)
    clean = lk.DecisionTreeRegressor().fit(OBJECTS[20:], Y[20:])
    np.testing.assert_array_equal(model.predict(OBJECTS), clean.predict(OBJECTS))
    assert model.scale_ == clean.scale_


def test_several_outputs_and_validation_rows_of_words():
    Y2 = np.c_[Y, -Y]
    model = lk.GradientBoostingRegressor(n_estimators=5)
    model.fit(PANDAS, Y2, X_val=PANDAS[:30], y_val=Y2[:30])
    one = lk.GradientBoostingRegressor(n_estimators=5)
    one.fit(PANDAS, Y, X_val=PANDAS[:30], y_val=Y[:30])
    np.testing.assert_array_equal(model.predict(PANDAS)[:, 0], one.predict(PANDAS))


def test_a_tree_is_told_in_words():
    text = lk.DecisionTreeRegressor(max_depth=1).fit(PANDAS, Y).text()
    assert text.startswith(("colour in {blue, red}?", "colour in {green, grey}?"))


def test_numbers_and_dates_in_the_place_of_words_are_refused():
    model = lk.DecisionTreeRegressor().fit(PANDAS, Y)
    with pytest.raises(InputError, match=r"column 'colour' held words .* holds 1"):
        model.predict(PANDAS.assign(colour=1.0))
    days = pd.date_range("2020-01-01", periods=N)
    with pytest.raises(
        InputError, match="column 'colour' holds values of type Datetime"
    ):
        model.fit(PANDAS.assign(colour=days), Y)
    numbers = lk.DecisionTreeRegressor().fit(CODES, Y)
    with pytest.raises(ValueError, match="could not convert string to float"):
        numbers.predict(OBJECTS)
