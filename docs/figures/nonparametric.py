"""Draw docs/images/nonparametric.svg: clusters of an unknown number."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import likely as lk


def main() -> None:
    """Fit a Dirichlet process mixture, and show its clusters and their number."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(m, 0.5, (60, 2)) for m in ([0, 0], [4, 0], [2, 4])])
    model = lk.DirichletProcessMixture().fit(X)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), width_ratios=[3, 2])
    side = np.linspace(-2.5, 6.5, 80)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    density = model.log_prob(grid).reshape(80, 80)
    left.contour(
        side, side, density, levels=np.arange(-9, 0, 1), cmap="Greys", alpha=0.6
    )
    left.scatter(*X.T, c=model.labels_, s=9, cmap="tab10", vmin=-0.5, vmax=9.5)
    left.set(title="labels and log-density", aspect="equal", xlabel="x1", ylabel="x2")
    probs = model.cluster_count_probs()
    right.bar(list(probs), list(probs.values()), color="C0", label="posterior")
    prior = lk.ChineseRestaurant(float(model.alphas_.mean())).table_count_probs(180)
    right.plot(np.arange(1, 13), prior[1:13], "k.-", label="prior at the mean α")
    right.set(title="number of clusters", xlabel="clusters", xlim=(0.4, 12.6))
    right.legend(frameon=False)
    figure.tight_layout()
    folder = Path(__file__).parents[1] / "images"
    figure.savefig(folder / "nonparametric.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
