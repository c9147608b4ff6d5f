"""Draw docs/images/manifolds.svg: a map of handwritten digits."""

from pathlib import Path

import matplotlib
from sklearn.datasets import load_digits

import likely as lk
from likely import plots


def main() -> None:
    """Map the digits that come with scikit-learn and draw them by their label."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    X, y = load_digits(return_X_y=True)
    Y = lk.UMAP().fit_transform(X)
    figure = plots.embedding_map(Y, y, size=4, title="UMAP of 1,797 digits")
    folder = Path(__file__).parents[1] / "images"
    figure.savefig(folder / "manifolds.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
