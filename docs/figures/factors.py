"""Draw docs/images/factors_*.svg: a biplot, a scree plot, components and a table of counts."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import likely as lk
from likely import data, plots

EYES, HAIR = ["brown", "hazel", "green", "blue"], ["black", "brown", "red", "blond"]
TABLE = np.array(
    [[68, 119, 26, 7], [15, 54, 14, 10], [5, 29, 14, 16], [20, 84, 17, 94]]
)


def keep(drawn: Figure, name: str) -> None:
    """Write a figure beside the others."""
    folder = Path(__file__).parents[1] / "images"
    drawn.savefig(folder / f"factors_{name}.svg", metadata={"Date": None})


def main() -> None:
    """Fit each model and draw it."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    wine = data.wine()
    X = (wine.X - wine.X.mean(0)) / wine.X.std(0)
    pca = lk.PCA(2).fit(X)
    drawn = plots.biplot(
        pca.transform(X),
        pca.components_.T,
        column_names=[name.split("/")[0].replace("_", " ") for name in wine.names],
        groups=[f"grower {label}" for label in wine.y],
        shares=pca.explained_variance_ratio_,
    )
    keep(drawn, "biplot")
    chosen = lk.PCA("nats", n_bootstrap=200).fit(X)
    keep(plots.scree(chosen), "scree")
    digits = data.digits().X
    both = Figure(figsize=(8.2, 4.4), layout="constrained")
    for part, model in zip(
        both.subfigures(2, 1), (lk.PCA(16), lk.NMF(16)), strict=True
    ):
        C = model.fit(digits).components_
        largest = np.abs(C).max(1).reshape(-1, 1, 1)
        style = {"cmap": "gray_r", "vmin": 0, "vmax": 1}
        if (C < 0).any():
            style = {"cmap": "RdBu_r", "vmin": -1, "vmax": 1}
        part.suptitle(type(model).__name__, x=0.01, ha="left")
        for ax, image in zip(
            part.subplots(2, 8).ravel(), C.reshape(-1, 8, 8) / largest, strict=True
        ):
            ax.imshow(image, **style)
            ax.set_axis_off()
    keep(both, "components")
    ca = lk.CorrespondenceAnalysis().fit(TABLE)
    drawn = plots.biplot(
        ca.transform(TABLE),
        ca.column_coordinates_,
        row_names=[f"{eye} eyes" for eye in EYES],
        column_names=[f"{colour} hair" for colour in HAIR],
        shares=ca.explained_inertia_ratio_,
        rescale=False,
    )
    keep(drawn, "correspondence")


if __name__ == "__main__":
    main()
