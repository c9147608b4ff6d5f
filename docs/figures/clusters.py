"""Draw docs/images/clusters.svg and mixtures.svg: silhouettes, merges, a mixture and EM."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy import stats

import likely as lk
from likely import plots

FOLDER = Path(__file__).parents[1] / "images"


def save(figure: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def three_groups() -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [4, 0], [2, 4]])
    return centres[rng.integers(3, size=200)] + rng.normal(size=(200, 2)) * 0.8


def clusters() -> None:
    """Silhouettes of three clusters, the merges of rows, and a mixture of the same rows."""
    X = three_groups()
    labels = lk.KMeans(3).fit(X).labels_
    save(plots.silhouette(lk.silhouette(X, labels), title="Silhouettes"), "clusters")
    merged = lk.AgglomerativeClustering(3).fit(X)
    tree = plots.dendrogram(merged.linkage_matrix_, n_clusters=3, title="Merges")
    save(tree, "clusters-merges")
    model = lk.GaussianMixture(3).fit(X)
    drawn = plots.cluster_ellipses(
        X,
        model.means_,
        model.covariances_,
        responsibilities=model.predict_proba(X),
        title="Three normal components",
    )
    save(drawn, "mixtures-ellipses")


def mixtures() -> None:
    """A mixture of two normal distributions, and EM on draws from it."""
    rng = np.random.default_rng(0)
    y = np.r_[rng.normal(0, 1, 100), rng.normal(4, 1, 50)]

    def log_joint(theta, places=y):
        weights, means = theta
        return np.log(weights) + stats.norm(means, 1).logpdf(places[:, None])

    def maximize(q):
        return q.mean(0), q.T @ y / q.sum(0)

    path = lk.em(log_joint, maximize, (np.array([0.5, 0.5]), np.array([1.0, 2.0])))
    x = np.linspace(-4, 8, 300)
    title = "p(x) is the sum of its parts"
    joint = log_joint(path.theta, x)
    save(plots.mixture_density(x, joint, observations=y, title=title), "mixtures")
    save(plots.em_steps(path, title="Steps of EM"), "mixtures-em")


if __name__ == "__main__":
    clusters()
    mixtures()
