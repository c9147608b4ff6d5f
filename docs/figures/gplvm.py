"""Draw docs/images/gplvm.svg: the one coordinate of a curve in eight dimensions."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import likely as lk


def main() -> None:
    """Fit the curve of the page, and show two of its columns and its coordinate."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 1.5 * np.pi, 60))
    X = np.c_[np.cos(t), np.sin(t)] @ rng.normal(size=(2, 8))
    X += 0.05 * rng.normal(size=X.shape)
    model = lk.GPLVM(1).fit(X)
    z = model.embedding_[:, 0]
    grid = np.linspace(z.min(), z.max(), 200)[:, None]
    rows, std = model.inverse_transform(grid, return_std=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
    left.plot(rows[:, 0], rows[:, 1], color="0.3", label="mean")
    left.scatter(X[:, 0], X[:, 1], c=t, s=14, label="rows")
    left.set(xlabel="column 1", ylabel="column 2", title="two of eight columns")
    left.legend(frameon=False)
    for j in range(3):
        right.plot(grid[:, 0], rows[:, j], color=f"C{j}")
        band = rows[:, j] - 2 * std, rows[:, j] + 2 * std
        right.fill_between(grid[:, 0], *band, color=f"C{j}", alpha=0.2, linewidth=0)
        right.plot(z, X[:, j], ".", color=f"C{j}", markersize=4)
    right.set(xlabel="latent coordinate", title="columns as functions of it")
    figure.tight_layout()
    folder = Path(__file__).parents[1] / "images"
    figure.savefig(folder / "gplvm.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
