"""Draw docs/images/flows-*.svg and autoregressive-*.png: warped grids, draws, digits.

`python docs/figures/flows.py [warp conditional digits] [--data FOLDER]`; the models of
digits take about five minutes each on two cores.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

import likely as lk
from likely import data, plots
from likely.plots.style import COLOURS, INK, SOFT, figure

FOLDER = Path(__file__).parents[1] / "images"


def save(drawn: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    drawn.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def warp() -> None:
    """A flow of two moons: the grid that it bends, its density and new rows."""
    X, _ = make_moons(600, noise=0.08, random_state=0)
    flow = lk.NormalizingFlow(random_state=0).fit(X)
    save(plots.flow_warp(X, flow.inverse_transform), "flows-warp")
    sides = np.meshgrid(np.linspace(-1.6, 2.6, 120), np.linspace(-1.1, 1.6, 90))
    p = np.exp(flow.log_prob(np.stack(sides, -1).reshape(-1, 2))).reshape(
        sides[0].shape
    )
    drawn, axes = figure(11.0, 3.1, columns=3)
    new = flow.sample(600, random_state=0)
    axes[0].scatter(*X.T, s=4, color=SOFT, linewidths=0)
    axes[1].contourf(*sides, p, 14, cmap="Blues")
    axes[2].scatter(*new.T, s=4, color=COLOURS[0], linewidths=0)
    titles = ("600 rows", "the density of the flow", "600 new rows")
    for ax, title in zip(axes, titles, strict=True):
        ax.set(xticks=[], yticks=[], xlim=(-1.6, 2.6), ylim=(-1.1, 1.6))
        ax.set_title(title, fontsize=10, color=INK)
    save(drawn, "flows-density")


def conditional() -> None:
    """Draws of a masked network given one column, in either direction."""
    X, _ = make_moons(600, noise=0.08, random_state=0)
    model = lk.AutoregressiveDensity(random_state=0).fit({"x": X[:, 0], "y": X[:, 1]})
    drawn, axes = figure(11.0, 3.1, columns=3)
    cases = ({}, {"x": 0.5}, {"y": 0.25})
    titles = ("600 new rows", "given x = 0.5", "given y = 0.25")
    for ax, given, title in zip(axes, cases, titles, strict=True):
        new = model.sample(600, given=given or None, random_state=0)
        ax.scatter(*X.T, s=3, color=SOFT, linewidths=0)
        if given:
            values, way = (new["y"], "y") if "x" in given else (new["x"], "x")
            low, high = (-1.1, 1.6) if way == "y" else (-1.6, 2.6)
            heights, edges = np.histogram(values, 40, (low, high), density=True)
            middle = (edges[1:] + edges[:-1]) / 2
            if way == "y":
                ax.fill_betweenx(middle, 0.5, 0.5 + 0.35 * heights, color=COLOURS[1])
                ax.axvline(0.5, color=INK, lw=0.8)
            else:
                ax.fill_between(middle, 0.25, 0.25 + 0.35 * heights, color=COLOURS[1])
                ax.axhline(0.25, color=INK, lw=0.8)
        else:
            ax.scatter(new["x"], new["y"], s=4, color=COLOURS[0], linewidths=0)
        ax.set(xticks=[], yticks=[], xlim=(-1.6, 2.6), ylim=(-1.1, 1.6))
        ax.set_title(title, fontsize=10, color=INK)
    save(drawn, "autoregressive-conditional")


def grid(images: np.ndarray, columns: int) -> np.ndarray:
    """Images side by side, dark on white."""
    n, h, w = images.shape
    rows = images.reshape(n // columns, columns, h, w).transpose(0, 2, 1, 3)
    return 255 - rows.reshape(n // columns * h, columns * w)


def write(pixels: np.ndarray, name: str) -> None:
    """An image file, each pixel as two by two."""
    from matplotlib.image import imsave

    large = np.kron(pixels, np.ones((2, 2), np.uint8))
    imsave(FOLDER / f"{name}.png", large, cmap="gray", vmin=0, vmax=255)


def digits_of_flow(flow: lk.NormalizingFlow) -> None:
    """New digits of a flow, as it is and at a lower temperature."""
    write(grid(flow.sample(80, random_state=0), 20), "flows-digits")
    cold = flow.sample(80, random_state=0, temperature=0.8)
    write(grid(cold, 20), "flows-digits-cold")


def digits_of_pixels(model: lk.AutoregressiveDensity, X: np.ndarray) -> None:
    """New digits pixel after pixel, and halves of digits that were completed."""
    write(grid(model.sample(80, random_state=0), 20), "autoregressive-digits")
    half = X[:20].astype(float)
    half[:, 14:] = np.nan
    done = model.impute(half, n_draws=3, random_state=0)
    shown = np.where(np.isnan(half), 60.0, half).astype(np.uint8)
    rows = np.concatenate([X[:20], shown, *(d.astype(np.uint8) for d in done)])
    write(grid(rows, 20), "autoregressive-completed")


def digits(folder: str | None) -> None:
    """Both models of 8,000 digits."""
    X = np.asarray(data.mnist("test", path=folder).X).reshape(-1, 28, 28)
    learn, other = X[:8000], X[8000:]
    flow = lk.NormalizingFlow(verbose=True).fit(learn)
    print(f"flow: at most {flow.bits_per_dimension(other):.3f} bits per pixel")
    digits_of_flow(flow)
    model = lk.AutoregressiveDensity(verbose=True).fit(learn)
    print(f"pixels: {model.bits_per_dimension(other):.3f} bits per pixel")
    digits_of_pixels(model, other)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["warp", "conditional", "digits"])
    parser.add_argument("--data", default=None, help="the folder of the digits")
    options = parser.parse_args()
    for name in options.names:
        if name == "digits":
            digits(options.data)
        else:
            {"warp": warp, "conditional": conditional}[name]()
