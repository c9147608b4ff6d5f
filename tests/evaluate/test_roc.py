"""ROC curves and the areas under them, against scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics

from likely.core.checks import InputError
from likely.evaluate import auc, operating_points, roc_curve


def scored(rng, n=80, c=2):
    """Classes, tied scores that say something about them, and weights, some of them zero."""
    codes = np.concatenate([np.arange(c), rng.integers(c, size=n - c)])
    scores = np.round(rng.normal(size=(n, c)) + np.eye(c)[codes], 1)
    probs = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    return codes, probs, np.concatenate([np.ones(c), rng.integers(4, size=n - c)])


def test_the_curve_and_its_area_are_scikit_learns(rng):
    codes, probs, w = scored(rng)
    found = roc_curve(codes, probs[:, 1], w)
    kept = w > 0
    known = metrics.roc_curve(
        codes[kept], probs[kept, 1], sample_weight=w[kept], drop_intermediate=False
    )
    for ours, theirs in zip(found, known, strict=True):
        np.testing.assert_allclose(ours, theirs)
    area = metrics.roc_auc_score(codes, probs[:, 1], sample_weight=w)
    np.testing.assert_allclose(found.area, area)
    for given in (probs, probs[:, 1], 1e300 * (probs[:, 1] - 0.5)):
        np.testing.assert_allclose(auc(codes, given, w), area)
    points = operating_points(codes, probs[:, 1], w)
    np.testing.assert_allclose(points.area, area)


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_several_classes_against_the_rest(rng, average):
    codes, probs, w = scored(rng, c=4)
    known = metrics.roc_auc_score(
        codes, probs, multi_class="ovr", average=average, sample_weight=w
    )
    np.testing.assert_allclose(auc(codes, probs, w, average=average), known)
    each = auc(codes, probs, w, average=None)
    assert each.shape == (4,)
    one = metrics.roc_auc_score(codes == 2, probs[:, 2], sample_weight=w)
    np.testing.assert_allclose(each[2], one)


def test_weight_two_is_the_row_twice_and_absent_rows_do_not_matter(rng):
    codes, probs, w = scored(rng, c=3)
    often = np.repeat(np.arange(len(w)), w.astype(int))
    spoiled = np.where((w == 0)[:, None], np.nan, probs)
    codes_ = np.where(w == 0, np.nan, codes)
    np.testing.assert_allclose(auc(codes_, spoiled, w), auc(codes[often], probs[often]))


def test_a_perfect_a_useless_and_a_reversed_score():
    y = [0, 0, 1, 1]
    assert auc(y, [0.1, 0.2, 0.3, 0.4]) == 1
    assert auc(y, [0.5, 0.5, 0.5, 0.5]) == 0.5
    assert auc(y, [0.4, 0.3, 0.2, 0.1]) == 0


def test_what_has_no_curve_gets_a_sentence():
    with pytest.raises(InputError, match="no negative row"):
        roc_curve([1, 1], [0.2, 0.3])
    with pytest.raises(InputError, match="other values than 0 and 1"):
        roc_curve([1, 2], [0.2, 0.3])
    with pytest.raises(InputError, match="NaN in row 1"):
        roc_curve([0, 1], [0.2, np.nan])
    with pytest.raises(InputError, match="one number of each"):
        roc_curve([0, 1], [[0.2, 0.3], [0.1, 0.2]])
    with pytest.raises(InputError, match="class 2 has no row"):
        auc([0, 1], np.full((2, 3), 1 / 3))
    with pytest.raises(InputError, match='"macro", "weighted" or None'):
        auc([0, 1], [0.2, 0.3], average="mean")
