"""The pictures of clusters show what was found."""

import numpy as np
import pytest
from scipy import stats

import likely as lk
from likely import plots
from likely.core import InputError

rng = np.random.default_rng(0)
X = np.r_[rng.normal(size=(60, 2)), rng.normal(4, 1, size=(40, 2))]


@pytest.fixture(scope="module")
def model():
    return lk.GaussianMixture(2, n_init=2).fit(X)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_ellipses_of_every_kind(kind, tmp_path):
    own = lk.GaussianMixture(2, n_init=1, covariance_type=kind).fit(X)
    drawn = plots.cluster_ellipses(
        X, own.means_, own.covariances_, responsibilities=own.predict_proba(X)
    )
    ellipses = drawn.axes[0].patches
    assert len(ellipses) == 4
    np.testing.assert_allclose([e.center for e in ellipses[::2]], own.means_)
    S = np.asarray(own.covariances_)
    first = S if kind == "tied" else S[0] if kind == "full" else S[0] * np.eye(2)
    widths = sorted([ellipses[0].width / 2, ellipses[0].height / 2])
    np.testing.assert_allclose(widths, np.sqrt(np.linalg.eigvalsh(first)), rtol=1e-9)
    drawn.savefig(tmp_path / "ellipses.png")
    with pytest.raises(InputError, match="plane"):
        plots.cluster_ellipses(np.ones((3, 3)), own.means_, own.covariances_)


def test_responsibilities_fill_the_height(model):
    drawn = plots.responsibilities(model.predict_proba(X), title="Rows")
    assert len(drawn.axes[0].collections) == 2
    with pytest.raises(InputError, match="sum to 1"):
        plots.responsibilities(np.ones((3, 2)))


def test_a_mixture_is_the_sum_of_its_parts():
    """p(x) = Σ p(x | z) p(z), marginalised over z, and p(z | x) by Bayes."""
    x = np.linspace(-4, 8, 200)
    shares, parts = (0.3, 0.7), [stats.norm(0, 1), stats.norm(3, 1.5)]
    joint = np.stack(
        [np.log(p) + d.logpdf(x) for p, d in zip(shares, parts, strict=True)], 1
    )
    left, right = plots.mixture_density(x, joint, observations=X[:, 0]).axes
    total, *others = (line.get_ydata() for line in left.lines)
    np.testing.assert_allclose(total, sum(others))
    np.testing.assert_allclose(np.trapezoid(total, x), 1, atol=1e-2)
    posterior = [line.get_ydata() for line in right.lines]
    np.testing.assert_allclose(sum(posterior), 1)
    with pytest.raises(InputError, match="places"):
        plots.mixture_density(x[:5], joint)


def test_steps_of_em_close_the_gap_and_rise():
    y = X[:, 0]

    def log_joint(theta):
        weights, means = theta
        return np.log(weights) + stats.norm(means, 1).logpdf(y[:, None])

    def maximize(q):
        return q.mean(0), (q.T @ y) / q.sum(0)

    path = lk.em(log_joint, maximize, (np.full(2, 0.5), np.array([1.0, 1.5])))
    left, right = plots.em_steps(path).axes
    np.testing.assert_array_equal(left.lines[0].get_ydata(), path.log_probs)
    bound = left.lines[1].get_ydata()
    assert bound[0] == pytest.approx(path.log_probs[0])
    assert bound[0] <= bound[1] <= path.log_probs[1]
    gaps = right.lines[0].get_ydata()
    assert (gaps > 0).all()


def test_silhouettes_and_dendrograms():
    labels = lk.KMeans(3).fit(X).labels_
    found = lk.silhouette(X, labels)
    drawn = plots.silhouette(found, title="Three clusters")
    assert len(drawn.axes[0].collections) == 3
    merged = lk.AgglomerativeClustering(3).fit(X)
    tree = plots.dendrogram(merged.linkage_matrix_, n_clusters=3).axes[0]
    lines = tree.collections[0].get_segments()
    assert len(lines) == len(X) - 1
    np.testing.assert_allclose([line[1][1] for line in lines], merged.distances_)
    cut = tree.lines[0].get_ydata()[0]
    assert (merged.distances_ > cut).sum() == 2
    with pytest.raises(InputError, match="four columns"):
        plots.dendrogram(np.ones((3, 2)))
