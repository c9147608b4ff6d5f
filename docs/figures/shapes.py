"""Draw docs/images/shapes.svg: the time of a fit beside scikit-learn's, on every shape.

The cells are those of `benchmarks/shapes.json`, which `benchmarks.shapes` measures.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).parents[2]
MOST = 4.0
"""Doublings at which the colours end: 16 times as fast, or as slow."""
SLOW = 3.0

cells = json.loads((ROOT / "benchmarks/shapes.json").read_text())["cells"]
cells = [cell for cell in cells if "time_ratio" in cell]


def shape_of(cell: dict) -> tuple[bool, int, int]:
    """Whether a cell is sparse, its rows and its columns."""
    return cell["sparse"], cell["n"], cell["d"]


def order(shape: tuple[bool, int, int]) -> tuple:
    """Dense before sparse, tall before wide, small before large."""
    is_sparse, n, d = shape
    return is_sparse, d > n, n * d


def label(shape: tuple[bool, int, int]) -> str:
    """Rows by columns."""
    return f"{shape[1]:,} × {shape[2]:,}"


def text(ratio: float) -> str:
    """A ratio to two digits."""
    return (
        f"{ratio:.2f}"
        if ratio < 1
        else f"{ratio:.1f}"
        if ratio < 10
        else f"{ratio:.0f}"
    )


names = list(dict.fromkeys(cell["name"] for cell in cells))
shapes = sorted({shape_of(cell) for cell in cells}, key=order)
ratios = np.full((len(names), len(shapes)), np.nan)
for cell in cells:
    place = names.index(cell["name"]), shapes.index(shape_of(cell))
    ratios[place] = cell["time_ratio"]

plt.rcParams["svg.hashsalt"] = "likely"
figure, axes = plt.subplots(figsize=(9, 6.4), layout="constrained")
colours = plt.get_cmap("RdBu_r").with_extremes(bad="0.93")
image = axes.imshow(np.log2(ratios), cmap=colours, vmin=-MOST, vmax=MOST, aspect="auto")
for (i, j), ratio in np.ndenumerate(ratios):
    if np.isfinite(ratio):
        is_dark = abs(np.log2(ratio)) > 0.65 * MOST
        axes.text(
            j,
            i,
            text(ratio),
            ha="center",
            va="center",
            fontsize=8,
            color="white" if is_dark else "black",
            weight="bold" if ratio > SLOW else "normal",
        )
first_sparse = sum(not shape[0] for shape in shapes)
axes.axvline(first_sparse - 0.5, color="black", linewidth=1)
axes.set_xticks(range(len(shapes)), [label(s) for s in shapes], rotation=40, ha="right")
axes.set_yticks(range(len(names)), names)
axes.tick_params(length=0)
axes.spines[:].set_visible(False)
top = axes.secondary_xaxis("top")
middles = [(first_sparse - 1) / 2, (first_sparse + len(shapes) - 1) / 2]
top.set_xticks(middles, ["dense", "sparse, 1 % present"])
top.tick_params(length=0)
top.spines[:].set_visible(False)
bar = figure.colorbar(image, ax=axes, extend="both", shrink=0.6)
ticks = np.arange(-MOST, MOST + 1, 2)
bar.set_ticks(ticks, labels=[f"{2.0**t:g}" for t in ticks])
bar.set_label("processor time of a warm fit ÷ scikit-learn's")
folder = ROOT / "docs/images"
figure.savefig(folder / "shapes.svg", metadata={"Date": None})
