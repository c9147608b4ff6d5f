"""Columns by name, of arrays and of frames, in what describes a model."""

import numpy as np
import pandas as pd
import pytest

import likely as lk
from likely import selection
from likely.core import InputError

N = 40
rng = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "area": rng.uniform(1, 3, N),
        "rooms": rng.integers(1, 4, N),
        "town": np.array(["ulm", "ems"])[np.arange(N) % 2],
    },
    index=np.arange(N)[::-1],
)
Y = 2 * FRAME["area"].to_numpy() + (FRAME["town"] == "ulm").to_numpy()
NUMBERS = FRAME[["area", "rooms"]]


def test_a_column_by_name_is_the_column_by_number():
    model = lk.Ridge().fit(NUMBERS, Y)
    named = selection.partial_dependence(model, NUMBERS, "rooms")
    assert named.grid.tolist() == [1.0, 2.0, 3.0]
    for number in (1, -1, np.int64(1)):
        found = selection.partial_dependence(model, NUMBERS, number)
        np.testing.assert_array_equal(found.mean, named.mean)
    np.testing.assert_allclose(np.diff(named.mean), model.coef_[1])
    plain = lk.Ridge().fit(NUMBERS.to_numpy(), Y)
    found = selection.partial_dependence(plain, NUMBERS.to_numpy(), 1)
    np.testing.assert_allclose(found.mean, named.mean)


@pytest.mark.parametrize(
    "make", [lambda f: f, lambda f: _polars(f)], ids=["pandas", "polars"]
)
def test_columns_of_words(make):
    frame = make(FRAME)
    model = lk.LinearRegression.from_formula("y ~ area + C(town)", _with_y(frame))
    found = selection.partial_dependence(model, frame, "town")
    assert found.grid.tolist() == ["ems", "ulm"]
    np.testing.assert_allclose(np.diff(found.mean), [1.0])
    w = np.r_[np.zeros(10), np.ones(N - 10)]
    part = selection.partial_dependence(model, frame, "area", points=3, sample_weight=w)
    assert part.rows.shape == (N - 10, 3)
    importance = selection.permutation_importance(model, frame, Y)
    assert importance.mean[1] == 0.0
    assert importance.mean[2] > 0.0


def _polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def _with_y(frame):
    if isinstance(frame, pd.DataFrame):
        return frame.assign(y=Y)
    return frame.with_columns(y=Y)


def test_importances_of_a_frame_are_those_of_its_array():
    model, plain = lk.Ridge().fit(NUMBERS, Y), lk.Ridge().fit(NUMBERS.to_numpy(), Y)
    a = selection.permutation_importance(model, NUMBERS, Y)
    b = selection.permutation_importance(plain, NUMBERS.to_numpy(), Y)
    np.testing.assert_allclose(a.shuffles, b.shuffles)


def test_unknown_columns_get_a_sentence():
    model = lk.LinearRegression().fit(NUMBERS, Y)
    calls = [
        lambda c: selection.partial_dependence(model, NUMBERS, c),
        lambda c: lk.partial_effect(model, NUMBERS, c),
        lambda c: lk.linearity_test(NUMBERS, Y, column=c),
    ]
    for call in calls:
        call("area")
        with pytest.raises(
            InputError, match="no column 'Area'; its columns are 'area', 'r"
        ):
            call("Area")
        with pytest.raises(InputError, match="no column 5; give a number, 0 to 1"):
            call(5)
    plain = lk.LinearRegression().fit(NUMBERS.to_numpy(), Y)
    with pytest.raises(InputError, match="have no names"):
        selection.partial_dependence(plain, NUMBERS.to_numpy(), "area")
