"""K-means: against scikit-learn, and its laws."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn import cluster, metrics

import likely as lk
from likely.core import InputError
from likely.latent.clusters import lloyd
from likely.latent.clusters.row_order import ordered_rows

rng = np.random.default_rng(0)
CENTRES = np.array([[0.0, 0, 0], [5, 0, 1], [0, 6, 2], [5, 6, -4]])
TRUE = rng.integers(4, size=400)
X = CENTRES[TRUE] + rng.normal(size=(400, 3))


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_the_sum_of_squares_is_scikit_learns(k):
    ours = lk.KMeans(k, n_init=20).fit(X)
    peer = cluster.KMeans(k, n_init=20, random_state=0, tol=0).fit(X)
    assert ours.inertia_ <= peer.inertia_ * (1 + 1e-9) + (k == 6) * 3.0
    if k <= 4:
        np.testing.assert_allclose(ours.inertia_, peer.inertia_, rtol=1e-9)
        assert metrics.adjusted_rand_score(ours.labels_, peer.labels_) == 1.0
    assert ours.converged_


def test_centres_are_means_and_labels_are_nearest():
    model = lk.KMeans(4, tol=0).fit(X)
    means = [X[model.labels_ == c].mean(0) for c in range(4)]
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-10)
    distances = model.transform(X)
    expected = np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2)
    np.testing.assert_allclose(distances, expected, rtol=1e-10)
    np.testing.assert_array_equal(distances.argmin(1), model.labels_)
    np.testing.assert_allclose(model.inertia_, (distances.min(1) ** 2).sum())
    np.testing.assert_allclose(model.score(X), -model.inertia_)


def test_weight_two_is_the_row_twice_to_the_bit_in_any_order():
    w = np.arange(400) % 3
    garbage = np.where(w[:, None] > 0, X, [[np.nan, 1e300, np.inf]])
    weighted = lk.KMeans(5).fit(garbage, sample_weight=w)
    rows = np.repeat(np.arange(400), w)
    repeated = lk.KMeans(5).fit(X[rng.permutation(rows)])
    np.testing.assert_array_equal(weighted.cluster_centers_, repeated.cluster_centers_)
    assert weighted.inertia_ == repeated.inertia_
    assert (weighted.labels_[w == 0] == -1).all()


def test_small_batches_come_near():
    whole = lk.KMeans(4).fit(X).inertia_
    batches = lk.KMeans(4, batch_size=64).fit(X)
    assert whole <= batches.inertia_ * (1 + 1e-12) <= 1.05 * whole


def test_a_shift_and_a_unit_change_nothing():
    """Centres are far from 0, or of a size whose squares are near the ends of numbers."""
    plain = lk.KMeans(4).fit(X)
    for scale, shift in ((1.0, 1e8), (1e140, 0.0), (1e-140, 0.0)):
        other = lk.KMeans(4).fit(X * scale + shift)
        assert metrics.adjusted_rand_score(other.labels_, plain.labels_) == 1.0


def test_a_far_row_does_not_blur_the_others():
    """Single precision sees one place there; then double precision decides."""
    far = np.r_[X, [[1e10, 1e10, 1e10]]]
    model = lk.KMeans(5, n_init=10).fit(far)
    assert metrics.adjusted_rand_score(model.labels_[:-1], TRUE) > 0.95
    assert model.inertia_ < 1.1 * lk.KMeans(4).fit(X).inertia_


def test_single_precision_finds_what_double_precision_finds():
    Z, w = (X - X.mean(0)) / X.std(), np.ones(400)
    numbers = np.random.default_rng(1).random((3, 4, 3))
    single, double = (
        lloyd.all_starts(lloyd.tiled(Z, w, dtype), numbers, 1e-6, 100)
        for dtype in (np.float32, np.float64)
    )
    for a, b in zip(single, double, strict=True):
        np.testing.assert_allclose(a.inertia, b.inertia, rtol=1e-6)


def test_fewer_different_rows_than_clusters():
    rows = np.array([[0.0], [1.0], [1.0], [5.0]])
    with pytest.warns(UserWarning, match="3 different rows"):
        model = lk.KMeans(8).fit(rows)
    assert model.inertia_ == 0.0
    assert sorted(model.cluster_centers_.ravel()) == [0, 1, 5]
    assert lk.KMeans(1).fit([[3.0, 4.0]]).labels_.tolist() == [0]
    assert lk.KMeans(1).fit(np.ones((5, 2))).inertia_ == 0.0


def test_a_centre_without_rows_gets_the_farthest_row():
    rows = lloyd.tiled(np.array([[0.0], [1.0], [10.0]]), np.ones(3), np.float64)
    start = np.zeros((2, rows.X.shape[1]))
    start[1] = 1e3
    found = lloyd.lloyd(rows, start, 0.0, 100)
    assert found.inertia == 0.5
    np.testing.assert_array_equal(found.centres[:, 0], [0.5, 10.0])


def test_bad_settings_get_a_sentence():
    for settings in ({"n_clusters": 0}, {"n_clusters": "many"}, {"n_init": "few"}):
        with pytest.raises(InputError):
            lk.KMeans(**settings).fit(X)


@pytest.mark.parametrize("settings", [{}, {"n_init": 1}])
def test_another_number_of_threads_gives_the_same_bits(settings, monkeypatch):
    many = np.repeat(X, 20, axis=0) + 1e-3 * rng.normal(size=(8000, 3))
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(lloyd, "thread_count", lambda _, t=threads: t)
        found.append(lk.KMeans(5, **settings).fit(many))
    np.testing.assert_array_equal(*(model.cluster_centers_ for model in found))
    assert found[0].inertia_ == found[1].inertia_


def test_the_gap_statistic_finds_the_number_of_clusters():
    made = lk.gap_statistic(X, 6, n_references=5)
    assert made.n_clusters == 4
    assert made.gaps.argmax() == 3
    np.testing.assert_allclose(made.gaps, made.reference - made.log_inertia)
    w = np.arange(400) % 3
    weighted = lk.gap_statistic(X, 3, n_references=2, sample_weight=w)
    repeated = lk.gap_statistic(np.repeat(X, w, axis=0), 3, n_references=2)
    np.testing.assert_array_equal(weighted.gaps, repeated.gaps)
    uniform = np.random.default_rng(2).random((150, 2))
    assert lk.gap_statistic(uniform, 3, n_references=5).n_clusters == 1
    model = lk.KMeans("gap", max_clusters=5).fit(X[:150])
    assert len(model.cluster_centers_) == model.gap_.n_clusters == 4


def test_rows_in_an_order_of_their_own():
    rows = np.array([[1.0, np.nan], [0, 2], [1, np.nan], [0, 2.5], [0, 2]])
    a = ordered_rows(rows, np.array([1.0, 2, 3, 4, 5]))
    order = [3, 0, 4, 2, 1]
    b = ordered_rows(rows[order], np.array([1.0, 2, 3, 4, 5])[order])
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.w, b.w)
    assert sorted(a.w) == [4, 4, 7]


@pytest.mark.slow
def test_bits_at_one_and_two_threads_of_another_process():
    """K-means and a mixture, with the matrix products of BLAS."""
    code = (
        "import numpy as np, likely as lk, hashlib;"
        "X = np.random.default_rng(0).normal(size=(20000, 12));"
        "X[::2] += 1.5;"
        "k = lk.KMeans(6).fit(X).cluster_centers_;"
        "g = lk.GaussianMixture(4, max_iter=15, n_init=3).fit(X);"
        "print(hashlib.sha256(k.tobytes() + g.means_.tobytes()).hexdigest())"
    )
    found = set()
    for threads in ("1", "2"):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
        settings = {**os.environ, **dict.fromkeys(names, threads)}
        command = [sys.executable, "-W", "ignore", "-c", code]
        run = subprocess.run(
            command, env=settings, check=True, capture_output=True, text=True
        )
        found.add(run.stdout)
    assert len(found) == 1
