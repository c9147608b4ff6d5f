"""Retrieval: exact against all distances, approximate with its recall measured."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import likely as lk
from likely.core.checks import InputError


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_nearest_items_are_found(metric, tmp_path):
    rng = np.random.default_rng(0)
    items, queries = rng.normal(size=(300, 8)), rng.normal(size=(20, 8))
    store = lk.Retrieval(5, metric=metric).fit(items)
    D, found = store.kneighbors(queries)
    expected = cdist(queries, items, metric)
    np.testing.assert_array_equal(found, np.argsort(expected, axis=1)[:, :5])
    np.testing.assert_allclose(D, np.sort(expected, axis=1)[:, :5], rtol=1e-9)
    assert store.recall_ == 1
    assert store.kneighbors(items[:3], 1)[1].ravel().tolist() == [0, 1, 2]
    store.save(tmp_path / "store.likely")
    again = lk.load(tmp_path / "store.likely").kneighbors(queries)
    np.testing.assert_array_equal(again[1], found)


def test_the_recall_is_the_one_that_queries_get(tmp_path):
    rng = np.random.default_rng(0)
    items, queries = rng.normal(size=(2500, 16)), rng.normal(size=(300, 16))
    store = lk.Retrieval(method="approximate", n_jobs=2).fit(items)
    exact = lk.Retrieval(method="exact").fit(items)
    _, found = store.kneighbors(queries)
    _, nearest = exact.kneighbors(queries)
    share = np.mean(
        [len(set(a) & set(b)) / 10 for a, b in zip(found, nearest, strict=True)]
    )
    assert store.approximate_
    assert not exact.approximate_
    assert 0.9 < store.recall_ <= 1
    assert abs(share - store.recall_) < 0.05
    one = lk.Retrieval(method="approximate", n_jobs=1).fit(items)
    np.testing.assert_array_equal(one.kneighbors(queries)[1], found)
    store.save(tmp_path / "store.likely")
    again = lk.load(tmp_path / "store.likely").kneighbors(queries)
    np.testing.assert_array_equal(again[1], found)


def test_few_items():
    store = lk.Retrieval().fit([[0.0], [1.0], [5.0]])
    assert store.kneighbors([[0.9]])[1].tolist() == [[1, 0, 2]]
    with pytest.raises(InputError, match="4 items were asked for, but 3 are stored"):
        store.kneighbors([[0.9]], 4)
    with pytest.raises(InputError, match="row 0 is zero and has no direction"):
        lk.Retrieval(metric="cosine").fit([[0.0], [1.0]])
