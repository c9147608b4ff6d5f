"""Values that are equal are one category, whatever their type."""

import numpy as np
import pandas as pd
import pytest

import likely as lk
from likely.base.labels import encode_labels
from likely.core import InputError
from likely.preprocess import OneHotEncoder, OrdinalEncoder, TargetEncoder


def column(*values):
    return np.array(values, dtype=object)[:, None]


ONE = {
    "zeros": np.array([[-0.0], [0.0]]),
    "zeros, the other way": np.array([[0.0], [-0.0]]),
    "zeros as objects": column(0, -0.0, 0.0, False, np.int8(0), np.float32(-0.0)),
    "ones": column(1, 1.0, True, np.True_, np.uint64(1), np.float16(1)),
    "ones beside words": column(1, "1", 1.0, np.uint8(1), np.str_("1"), True),
    "text of two types": column("a", np.str_("a")),
    "categories of pandas": pd.DataFrame({"x": pd.Categorical([-0.0, -0.0])}),
    "missing among words": column("a", None, np.nan, float("nan"), pd.NA, pd.NaT),
    "missing among numbers": column(2, None, np.nan, pd.NA, 2.0),
}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("make", [OneHotEncoder, OrdinalEncoder, TargetEncoder])
def test_equal_values_are_one_category(name, make):
    encoder = make().fit(ONE[name], np.arange(len(ONE[name])) % 2)
    assert len(encoder.categories_[0]) == 1
    assert not encoder.categories_[0][0].startswith("-")


SAME = {
    "zero": [[[0.0]], [[-0.0]], [[0]], column(-0.0), np.array([[0]], np.uint8)],
    "a tenth": [[[0.1]], np.array([[0.1]], np.float32), column(np.float32(0.1))],
    "a large number": [
        np.array([[2**60]]),
        np.array([[2**60]], np.uint64),
        [[2.0**60]],
    ],
    "an instant": [
        pd.DataFrame({"t": pd.to_datetime(["2020-01-01 10:00:00"]).as_unit(unit)})
        for unit in ("s", "ms", "us", "ns")
    ],
    "text": [[["a"]], np.array([["a"]]), pd.DataFrame({"x": pd.Categorical(["a"])})],
}


@pytest.mark.parametrize("name", SAME)
def test_a_category_is_known_again_in_another_type(name):
    values = [v if hasattr(v, "shape") else np.array(v) for v in SAME[name]]
    for learned in values:
        encoder = OrdinalEncoder().fit(_unnamed(learned))
        for other in values:
            assert encoder.transform(_unnamed(other)).tolist() == [[0.0]]


def _unnamed(values):
    """A frame of one column of this name."""
    if hasattr(values, "columns"):
        return values.set_axis(["x"], axis=1)
    return pd.DataFrame({"x": values[:, 0]})


def test_flags_are_numbers_and_truths():
    numbers, truths = np.array([[0], [1], [1]]), np.array([[False], [True], [True]])
    for learned in (numbers, truths, numbers.astype(float)):
        encoder = OrdinalEncoder().fit(learned)
        for other in (numbers, truths, truths.astype(object)):
            assert encoder.transform(other)[:, 0].tolist() == [0.0, 1.0, 1.0]
    words = OrdinalEncoder().fit(np.array([["1"], ["2"]]))
    assert words.transform(np.array([["true"]])).tolist() == [[-1.0]]


def test_labels_that_are_equal_are_one_class():
    classes, codes = encode_labels(np.array([-0.0, 0.0, 1.0]))
    assert str(classes.tolist()) == "[0.0, 1.0]"
    assert codes.tolist() == [0, 0, 1]
    classes, codes = encode_labels(np.array([1, 1.0, True, 0], dtype=object))
    assert classes.tolist() == [0, 1]
    assert codes.tolist() == [1, 1, 1, 0]
    X = np.arange(4.0)[:, None]
    model = lk.GaussianNB().fit(X, np.array([-0.0, 0.0, 1.0, 1.0]))
    assert str(model.classes_.tolist()) == "[0.0, 1.0]"


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["a", 1], "labels of several types"),
        (["a", None, "b"], "no label in row 1"),
        (["a", "b", np.nan], "no label in row 2"),
    ],
)
def test_labels_without_an_order_are_refused(labels, sentence):
    with pytest.raises(InputError, match=sentence):
        encode_labels(np.array(labels, dtype=object))
