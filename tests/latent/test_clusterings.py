"""Agglomerative clustering, silhouettes and stability, against scikit-learn."""

import numpy as np
import pytest
from sklearn import cluster, metrics

import likely as lk
from likely.core import InputError
from likely.latent.clusters.stability import adjusted_rand

rng = np.random.default_rng(0)
X = np.r_[
    rng.normal(size=(70, 2)), rng.normal(5, 1, (50, 2)), rng.normal(-6, 1, (30, 2))
]
TRUE = np.repeat([0, 1, 2], [70, 50, 30])
W = np.arange(150) % 3


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single"])
def test_merges_are_scikit_learns(linkage):
    ours = lk.AgglomerativeClustering(4, linkage=linkage).fit(X)
    peer = cluster.AgglomerativeClustering(
        4, linkage=linkage, compute_distances=True
    ).fit(X)
    assert metrics.adjusted_rand_score(ours.labels_, peer.labels_) == 1.0
    np.testing.assert_allclose(ours.distances_, np.sort(peer.distances_), rtol=1e-9)
    threshold = ours.distances_[-4:-2].mean()
    cut = lk.AgglomerativeClustering(
        None, distance_threshold=threshold, linkage=linkage
    ).fit(X)
    assert cut.n_clusters_ == 4
    assert sorted(ours.leaves_) == list(range(150))


def test_merges_of_weighted_rows_and_other_edges():
    garbage = np.where(W[:, None] > 0, X, np.nan)
    weighted = lk.AgglomerativeClustering(3).fit(garbage, sample_weight=W)
    repeated = lk.AgglomerativeClustering(3).fit(np.repeat(X, W, axis=0))
    np.testing.assert_array_equal(weighted.distances_, repeated.distances_)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, W), repeated.labels_)
    assert lk.AgglomerativeClustering(3).fit([[1.0, 2.0]]).labels_.tolist() == [0]
    assert lk.AgglomerativeClustering(5).fit(np.ones((3, 2))).n_clusters_ == 3
    with pytest.raises(InputError, match="fractions"):
        lk.AgglomerativeClustering().fit(X, sample_weight=W + 0.5)
    with pytest.raises(InputError, match="either"):
        lk.AgglomerativeClustering(2, distance_threshold=1.0).fit(X)


def test_silhouettes_are_scikit_learns():
    labels = lk.KMeans(4).fit(X).labels_
    found = lk.silhouette(X, labels)
    np.testing.assert_allclose(
        found.values, metrics.silhouette_samples(X, labels), atol=1e-12
    )
    assert found.mean == pytest.approx(metrics.silhouette_score(X, labels))
    weighted = lk.silhouette(
        np.where(W[:, None] > 0, X, np.nan), labels, sample_weight=W
    )
    repeated = lk.silhouette(np.repeat(X, W, axis=0), np.repeat(labels, W))
    np.testing.assert_allclose(np.repeat(weighted.values, W), repeated.values)
    assert weighted.mean == pytest.approx(repeated.mean)
    assert list(weighted.of_clusters) == [0, 1, 2, 3]
    alone = lk.silhouette([[0.0], [1.0], [1.1]], ["a", "b", "b"])
    assert alone.values[0] == 0
    with pytest.raises(InputError, match="single cluster"):
        lk.silhouette(X, np.zeros(150))


def test_true_clusters_are_stable_and_others_are_not():
    settings = {"n_bootstraps": 10, "random_state": 0}
    true = lk.cluster_stability(lk.KMeans(3), X, **settings)
    assert true.clusters.min() > 0.95
    assert true.rand.min() > 0.95
    many = lk.cluster_stability(lk.KMeans(7), X, **settings)
    assert many.clusters.min() < 0.75
    merged = lk.cluster_stability(lk.AgglomerativeClustering(3), X, **settings)
    assert merged.clusters.min() > 0.95
    weighted = lk.cluster_stability(lk.KMeans(3), X, sample_weight=W, **settings)
    repeated = lk.cluster_stability(lk.KMeans(3), np.repeat(X, W, axis=0), **settings)
    np.testing.assert_allclose(weighted.similarities, repeated.similarities)


def test_the_rand_index_is_scikit_learns():
    a, b = rng.integers(3, size=60), rng.integers(4, size=60)
    table = metrics.cluster.contingency_matrix(a, b).astype(float)
    assert adjusted_rand(table) == pytest.approx(metrics.adjusted_rand_score(a, b))
    assert adjusted_rand(np.diag([3.0, 4.0])) == 1.0


def test_clusters_are_similar_within_and_dissimilar_between():
    """Not the other way round, as one reads."""
    labels = lk.KMeans(3).fit(X).labels_
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    same = labels[:, None] == labels
    assert distances[same].mean() < 0.4 * distances[~same].mean()
    assert metrics.adjusted_rand_score(labels, TRUE) > 0.95
