"""Bundled sets, and the registry of all."""

import numpy as np
import pytest
from sklearn import datasets

from likely import data
from likely.core import InputError

SHAPES = {
    "iris": (150, 4),
    "wine": (178, 13),
    "breast_cancer": (569, 30),
    "digits": (1797, 64),
    "diabetes": (442, 10),
    "linnerud": (20, 3),
}


@pytest.mark.parametrize("name", SHAPES)
def test_bundled_sets_are_scikit_learns(name):
    found = data.load(name)
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    assert found.X.shape == SHAPES[name]
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.y, y)
    assert len(found.names) == found.X.shape[1]
    assert found.description
    assert not found.description.startswith("..")


def test_dataset_is_a_supervised_batch():
    """Pairs (x, y) with a weight each."""
    found = data.iris()
    batch = found.batch()
    assert batch.x is found.X
    assert batch.y is found.y
    np.testing.assert_array_equal(batch.w, np.ones(150))
    assert len(found) == 150
    assert found.target_names == ("setosa", "versicolor", "virginica")
    assert repr(found).startswith("Dataset(X (150, 4) float64, y (150,)")


def test_names_say_what_there_is():
    known = data.names()
    assert {"iris", "moons", "couples", "mnist"} <= set(known)
    assert all(sentence.endswith((".", ",")) or sentence for sentence in known.values())
    assert len(data.load("moons", n=10, random_state=0)) == 10


def test_unknown_name_is_a_sentence():
    with pytest.raises(
        InputError, match="there is no data set 'irises'; there are iris"
    ):
        data.load("irises")
