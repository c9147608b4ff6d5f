"""Isomap, locally linear embedding and classical scaling against scikit-learn."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn import manifold
from sklearn.datasets import make_swiss_roll

import likely as lk
from likely.core.checks import InputError
from likely.latent.manifolds import geodesics as geodesics_
from likely.latent.manifolds.geodesics import neighbor_graph
from likely.models.neighbors import neighbors


def up_to_signs(A, B, tolerance=1e-6):
    signs = np.sign((A * B).sum(0))
    np.testing.assert_allclose(A * signs, B, atol=tolerance * np.abs(B).max())


@pytest.fixture(scope="module")
def roll():
    X, t = make_swiss_roll(500, random_state=0)
    return X, t


def test_isomap_is_scikit_learns(roll):
    X, _ = roll
    ours, theirs = lk.Isomap(8).fit(X), manifold.Isomap(n_neighbors=8).fit(X)
    up_to_signs(ours.embedding_, theirs.embedding_)
    up_to_signs(ours.transform(X[:40] + 0.1), theirs.transform(X[:40] + 0.1))
    error = theirs.reconstruction_error()
    assert ours.reconstruction_error() == pytest.approx(error, rel=1e-8)


def test_isomap_unrolls_what_scaling_does_not(roll):
    X, t = roll
    Y = lk.Isomap(8).fit_transform(X)
    assert abs(np.corrcoef(Y[:, 0], t)[0, 1]) > 0.98
    Z = lk.ClassicalMDS().fit_transform(X)
    assert np.abs(np.corrcoef(Z.T, t)[:2, 2]).max() < 0.8


def test_isomap_by_landmarks_is_almost_the_map_of_all(roll):
    X, _ = roll
    some, all_rows = lk.Isomap(8, n_landmarks=80).fit(X), lk.Isomap(8).fit(X)
    assert some.dist_matrix_.shape == (80, 500)
    for a, b in zip(some.embedding_.T, all_rows.embedding_.T, strict=True):
        assert abs(np.corrcoef(a, b)[0, 1]) > 0.99


def test_isomap_joins_what_is_apart_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 3)) + 30 * c for c in range(3)])
    with pytest.warns(UserWarning, match="has 3 components; they are joined"):
        ours = lk.Isomap(4).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = manifold.Isomap(n_neighbors=4).fit(X)
    up_to_signs(ours.embedding_, theirs.embedding_)


@pytest.mark.parametrize("n", [300, 1000])  # all eigenvectors, or some
def test_locally_linear_embedding_is_scikit_learns(n):
    X, _ = make_swiss_roll(n, random_state=1)
    ours = lk.LocallyLinearEmbedding(10).fit(X)
    theirs = manifold.LocallyLinearEmbedding(n_neighbors=10, eigen_solver="dense")
    theirs.fit(X)
    up_to_signs(ours.embedding_, theirs.embedding_, 1e-4)
    up_to_signs(ours.transform(X[:30] + 0.1), theirs.transform(X[:30] + 0.1), 1e-4)
    error = theirs.reconstruction_error_
    assert ours.reconstruction_error_ == pytest.approx(error, rel=1e-3)


def test_mixtures_of_neighbours_hold_on_the_map(roll):
    X, _ = roll
    model = lk.LocallyLinearEmbedding(10).fit(X)
    Y = model.embedding_
    np.testing.assert_allclose(Y.T @ Y, np.eye(2), atol=1e-8)
    np.testing.assert_allclose(Y.sum(0), 0, atol=1e-4)
    some = lk.LocallyLinearEmbedding(10, n_landmarks=300).fit(X)
    assert some.embedding_.shape == (500, 2)
    assert len(some.landmarks_) == 300


def test_locally_linear_embedding_warns_of_parts():
    X = (
        np.random.default_rng(0).normal(size=(40, 3))
        + 50 * (np.arange(40) % 2)[:, None]
    )
    with pytest.warns(UserWarning, match="has 2 components"):
        lk.LocallyLinearEmbedding(5).fit(X)


def test_classical_scaling_is_scikit_learns():
    X = np.random.default_rng(0).normal(size=(60, 5)) * [5, 3, 2, 1, 1]
    theirs = manifold.ClassicalMDS(n_components=3).fit(X)
    ours = lk.ClassicalMDS(3).fit(X)
    given = lk.ClassicalMDS(3, metric="precomputed").fit(cdist(X, X))
    for model in (ours, given):
        up_to_signs(model.embedding_, theirs.embedding_)
        np.testing.assert_allclose(model.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
    new = X[:7] + 0.3
    up_to_signs(ours.transform(new), given.transform(cdist(new, X)))


def test_dissimilarities_that_no_places_have():
    """Travel times around a ring: negative eigenvalues are left out."""
    n = 12
    gap = np.abs(np.arange(n)[:, None] - np.arange(n))
    D = np.minimum(gap, n - gap).astype(float)
    Y = lk.ClassicalMDS(2, metric="precomputed").fit_transform(D)
    radii = np.linalg.norm(Y, axis=1)
    np.testing.assert_allclose(radii, radii[0], rtol=1e-9)  # a circle
    theirs = manifold.ClassicalMDS(n_components=2, metric="precomputed").fit(D)
    np.testing.assert_allclose(cdist(Y, Y), cdist(*[theirs.embedding_] * 2), atol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_weights_of_classical_scaling_are_repetitions(metric):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(12, 3)), np.arange(12) % 4.0
    counts = w.astype(int)
    rows = np.repeat(np.arange(12), counts)
    repeated, garbage = X[rows], np.where(w[:, None] > 0, X, np.nan)
    if metric == "precomputed":
        repeated = cdist(repeated, repeated)
        garbage = np.where((w > 0) & (w > 0)[:, None], cdist(X, X), np.nan)
    model = lk.ClassicalMDS(2, metric=metric)
    heavy = model.fit(garbage, sample_weight=w).embedding_
    values = model.eigenvalues_
    many = model.fit(repeated).embedding_
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-9)
    up_to_signs(heavy[rows], many)
    assert np.isnan(heavy[w == 0]).all()


def test_dissimilarities_are_checked():
    with pytest.raises(InputError, match="as many columns as rows"):
        lk.ClassicalMDS(metric="precomputed").fit(np.ones((3, 2)))
    D = np.array([[0, 1, 2.0], [1, 0, 3], [2, 4, 0]])
    with pytest.raises(InputError, match="rows 1 and 2 is 3 one way and 4 the other"):
        lk.ClassicalMDS(metric="precomputed").fit(D)


MAPS = {
    "isomap": lk.Isomap,
    "lle": lk.LocallyLinearEmbedding,
    "mds": lk.ClassicalMDS,
    "tsne": lambda n_components=2: lk.TSNE(n_components, max_iter=30),
    "umap": lambda n_components=2: lk.UMAP(n_components=n_components, n_epochs=10),
}


@pytest.mark.filterwarnings("ignore:the graph of")
@pytest.mark.parametrize("name", MAPS)
def test_degenerate_rows_get_places(name):
    rng = np.random.default_rng(0)
    cases = {
        "three rows": rng.normal(size=(3, 2)),
        "two rows": rng.normal(size=(2, 4)),
        "copies": np.repeat(rng.normal(size=(3, 2)), 6, axis=0),
        "one point": np.ones((8, 3)),
        "constant columns": np.c_[rng.normal(size=(20, 2)), np.ones((20, 3))],
        "far away": 1e8 + rng.normal(size=(20, 3)),
        "tiny": 1e-150 * rng.normal(size=(20, 3)),
    }
    for what, X in cases.items():
        Y = MAPS[name]().fit_transform(X)
        assert Y.shape == (len(X), 2), what
        assert np.isfinite(Y).all(), what


@pytest.mark.filterwarnings("ignore:the graph of")
@pytest.mark.parametrize("name", MAPS)
def test_more_dimensions_than_rows(name):
    X = np.random.default_rng(0).normal(size=(5, 3))
    Y = MAPS[name](n_components=7).fit_transform(X)
    assert Y.shape == (5, 7)
    assert np.isfinite(Y).all()


def test_large_components_are_joined_by_few_of_their_rows(monkeypatch, rng):
    X = np.concatenate([rng.normal(size=(60, 3)), 9 + rng.normal(size=(50, 3))])
    graph = neighbor_graph(*neighbors(X, 6, seed=0))
    monkeypatch.setattr(geodesics_, "MAX_JOINED_ROWS", 20)
    monkeypatch.setattr(geodesics_, "BLOCK_NUMBERS", 64)
    with pytest.warns(UserWarning, match="2 components"):
        found = geodesics_.joined(graph, X)
    assert geodesics_.components(found) == 1
    (i,), (j,) = (found - graph).nonzero()
    a, b = (np.linspace(0, n - 1, 20).astype(int) for n in (60, 50))
    distances = np.linalg.norm(X[a][:, None] - X[60 + b], axis=2)
    assert found[i, j] == pytest.approx(distances.min())
