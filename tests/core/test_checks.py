import numpy as np
import pytest

from likely.core import InputError
from likely.core.checks import check_batch, check_finite, check_weights
from likely.typing import Batch


@pytest.mark.parametrize(
    ("w", "words"),
    [
        (np.ones(2), "one weight for each row"),
        (np.array([1.0, -1.0, 1.0]), "-1.0 in row 1"),
        (np.array([1.0, 1.0, np.nan]), "nan in row 2"),
        (np.zeros(3), "sum to zero"),
    ],
)
def test_bad_weights_get_a_sentence(w, words):
    with pytest.raises(InputError, match=words):
        check_weights(w, 3)


def test_the_place_of_a_bad_number_is_named():
    X = np.ones((4, 3))
    X[2, 1] = np.nan
    with pytest.raises(InputError, match="NaN .row 2, column 1."):
        check_finite("X", X)
    with pytest.raises(InputError, match="column area"):
        check_finite("X", X, names=np.array(["town", "area", "age"]))
    X[2, 1] = -np.inf
    with pytest.raises(InputError, match="infinity"):
        check_finite("X", X)


def test_huge_numbers_are_finite():
    check_finite("X", np.full((10, 10), 1e308))


def test_an_absent_row_may_hold_anything():
    X = np.ones((3, 2))
    X[1] = np.nan
    check_finite("X", X, np.array([1.0, 0.0, 1.0]))


def test_lengths_must_agree():
    with pytest.raises(InputError, match="X has 2 rows but y has 3"):
        check_batch(Batch(np.ones((2, 1)), np.ones(3), np.ones(3)))
