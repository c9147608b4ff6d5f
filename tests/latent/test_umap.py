"""UMAP: same bits at any number of threads, quality, targets, new rows, components."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

import likely as lk
from likely import evaluate
from likely.core.checks import InputError
from likely.latent.manifolds.fuzzy_graph import fuzzy_graph
from likely.latent.manifolds.umap_layout import curve
from likely.models.neighbors import neighbors


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(digits):
    X, y = digits
    return lk.UMAP(n_epochs=200, n_jobs=2).fit(X[:1000])


def test_one_thread_and_two_give_the_same_bits(fitted, digits):
    X, _ = digits
    again = lk.UMAP(n_epochs=200, n_jobs=1).fit(X[:1000])
    np.testing.assert_array_equal(again.embedding_, fitted.embedding_)
    np.testing.assert_array_equal(
        again.transform(X[1000:1100]), fitted.transform(X[1000:1100])
    )
    other = lk.UMAP(n_epochs=200, random_state=1).fit(X[:1000])
    assert not np.array_equal(other.embedding_, fitted.embedding_)


def test_neighbours_stay_together(fitted, digits):
    X, y = digits
    Y = fitted.embedding_
    assert evaluate.trustworthiness(X[:1000], Y, 15) > 0.97  # umap-learn: 0.976
    assert evaluate.continuity(X[:1000], Y, 15) > 0.96
    assert evaluate.neighborhood_hit(Y, y[:1000], 10) > 0.93


def test_new_rows_lie_among_their_kind_and_rows_of_the_fit_on_themselves(
    fitted, digits
):
    X, y = digits
    Y = fitted.transform(X[1000:])
    nearest = np.linalg.norm(Y[:, None] - fitted.embedding_, axis=2).argmin(1)
    assert np.mean(y[:1000][nearest] == y[1000:]) > 0.88
    np.testing.assert_array_equal(fitted.transform(X[:20]), fitted.embedding_[:20])


def test_the_graph_is_what_its_definition_says():
    X = np.random.default_rng(0).normal(size=(50, 4))
    D, found = neighbors(X, 9)
    graph, rho, sigma = fuzzy_graph(D, found)
    np.testing.assert_array_equal(rho, D[:, 0])
    mu = np.exp(-(D - rho[:, None]) / sigma[:, None])
    np.testing.assert_allclose(mu.sum(1), np.log2(10), atol=1e-4)
    directed = np.zeros((50, 50))
    np.put_along_axis(directed, found, mu, axis=1)
    expected = directed + directed.T - directed * directed.T
    np.testing.assert_allclose(graph.toarray(), expected, atol=1e-12)


def test_the_curve_is_umap_learns():
    """a and b of its default settings."""
    np.testing.assert_allclose(curve(0.1, 1.0), (1.57694346, 0.89506088), rtol=1e-6)


def rings(n=200):
    t = 2 * np.pi * np.arange(n) / n
    ring = np.c_[np.cos(t), np.sin(t), 0 * t]
    return np.concatenate([ring, ring + [0, 0, 5.0], 2 * ring + [9.0, 0, 0]])


def test_connected_stays_connected():
    """Three rings: each stays one piece of the graph of neighbours, and all stay apart."""
    X = rings()
    Y = lk.UMAP(n_epochs=200).fit_transform(X)
    assert evaluate.connectedness(X, Y, 15) == 1
    assert evaluate.connectedness(Y, X, 15) == 1  # what is apart stays apart


def test_a_connected_curve_stays_connected():
    t = np.linspace(0, 3 * np.pi, 400)
    X = np.c_[t * np.cos(t), t * np.sin(t)]
    assert evaluate.connectedness(X, lk.UMAP().fit_transform(X), 15) == 1


def test_targets_pull_classes_apart(digits):
    X, y = digits
    rng = np.random.default_rng(0)
    X, y = X[:600] + 6 * rng.normal(size=(600, 64)), y[:600]
    alone = lk.UMAP(n_epochs=100).fit_transform(X)
    told = lk.UMAP(n_epochs=100).fit_transform(X, y)
    hits = [evaluate.neighborhood_hit(Y, y, 10) for Y in (alone, told)]
    assert hits[1] > hits[0] + 0.1
    np.testing.assert_array_equal(
        lk.UMAP(n_epochs=20, target_weight=0.0).fit(X, y).graph_.toarray() > 0,
        lk.UMAP(n_epochs=20).fit(X).graph_.toarray() > 0,
    )
    unknown = lk.UMAP(n_epochs=100).fit_transform(
        X, np.where(np.arange(600) % 2, y, -1)
    )
    assert evaluate.neighborhood_hit(unknown, y, 10) > hits[0]


def test_numbers_as_targets_order_the_map():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.uniform(size=300)
    Y = lk.UMAP(n_epochs=100).fit_transform(X, y)
    _, near = neighbors(Y, 10)
    assert np.abs(y[near] - y[:, None]).mean() < 0.25  # a third by chance


def test_approximate_neighbours_give_as_good_a_map(digits):
    X, _ = digits
    X = X[:800]
    Y = lk.UMAP(n_epochs=100, neighbors="approximate").fit_transform(X)
    Z = lk.UMAP(n_epochs=100).fit_transform(X)
    found, exact = (evaluate.trustworthiness(X, E, 15) for E in (Y, Z))
    assert found > exact - 0.01


def test_components_are_laid_out_apart():
    X, y = make_blobs([40] * 12, 6, cluster_std=0.2, random_state=0)
    Y = lk.UMAP(5, n_epochs=100).fit_transform(X)
    assert evaluate.neighborhood_hit(Y, y, 5) == 1
    assert lk.UMAP(5, 3, n_epochs=5).fit_transform(X).shape == (480, 3)


def test_bad_settings_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    for settings, words in (
        ({"min_dist": 2.0}, "min_dist of at most spread"),
        ({"target_weight": 1.0}, "from 0 to below 1"),
        ({"init": "magic"}, "init is 'magic'"),
        ({"init": np.zeros((3, 2))}, "finite places of shape"),
        ({"metric": "euclid"}, "did you mean 'euclidean'"),
        ({"neighbors": "few"}, "method is 'few'"),
        ({"n_neighbors": 1}, "n_neighbors is 1"),
    ):
        with pytest.raises(InputError, match=words):
            lk.UMAP(n_epochs=2, **settings).fit(X)
    with pytest.raises(InputError, match="y has 3 rows but X has 20"):
        lk.UMAP(n_epochs=2).fit(X, [1, 2, 3])
