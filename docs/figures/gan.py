"""Draw docs/images/gan-*: modes of a ring that are covered and collapse, and new digits.

`python docs/figures/gan.py [ring digits]`; the ring takes a minute, digits some minutes.
"""

import argparse
import warnings
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import likely as lk
from likely import data
from likely.generative import CollapseWarning
from likely.plots.style import COLOURS, INK, SOFT, figure

FOLDER = Path(__file__).parents[1] / "images"
LIMIT = 3.0
PLANTED = {"penalty": 0.0, "rate_ratio": 30.0, "weight_average": None}


def save(drawn: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    drawn.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def ring() -> None:
    """Rows around 8 points, draws of a GAN with its critic, and a planted collapse."""
    rng = np.random.default_rng(1)
    angle = rng.integers(8, size=2000) * np.pi / 4
    X = 2 * np.stack([np.cos(angle), np.sin(angle)], 1)
    X += 0.05 * rng.normal(size=X.shape)
    healthy = lk.GAN(random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        settings = PLANTED | {"hidden_layer_sizes": (32, 32), "max_iter": 60}
        collapsed = lk.GAN(**settings, early_stopping=False, random_state=0).fit(X)
    print(healthy.status_, collapsed.status_, sep="\n")
    sides = np.meshgrid(*[np.linspace(-LIMIT, LIMIT, 100)] * 2)
    points = np.stack(sides, -1).reshape(-1, 2)
    drawn, axes = figure(11.0, 3.6, columns=3)
    titles = ("2,000 rows", "draws, and the critic's log-odds", "draws that collapsed")
    for ax, model, title in zip(axes, (None, healthy, collapsed), titles, strict=True):
        if model is None:
            ax.scatter(*X.T, s=3, color=SOFT, linewidths=0, rasterized=True)
        else:
            odds = model.critic_scores(points).reshape(sides[0].shape)
            top = np.abs(odds).max()
            shade = {"cmap": "RdBu", "vmin": -top, "vmax": top, "alpha": 0.35}
            ax.contourf(*sides, odds, 15, **shade).set_rasterized(True)
            ax.scatter(
                *model.sample(1000, random_state=0).T,
                s=3,
                color=COLOURS[0],
                rasterized=True,
            )
        ax.set(xticks=[], yticks=[], xlim=(-LIMIT, LIMIT), ylim=(-LIMIT, LIMIT))
        ax.set_aspect("equal")
        ax.set_title(title, fontsize=10, color=INK)
    save(drawn, "gan-ring")


def digits() -> None:
    """New digits of 8 x 8 pixels, a class in each column, below digits of the data."""
    from matplotlib.image import imsave

    table = data.digits()
    X = np.asarray(table.X, float).reshape(-1, 8, 8)
    y = np.asarray(table.y).astype(int)
    model = lk.GAN(random_state=0).fit(X, given=y)
    print(model.status_, model.regions_.missed)
    asked = np.tile(np.arange(10), 6)
    new = model.sample(60, given=asked, random_state=0)
    real = np.stack([X[y == k][:2] for k in range(10)], 1).reshape(-1, 8, 8)
    rows = np.concatenate([real, np.full((10, 8, 8), 0.0), new])
    rows = np.pad(rows, ((0, 0), (1, 1), (1, 1)))
    picture = rows.reshape(9, 10, 10, 10).transpose(0, 2, 1, 3).reshape(90, 100)
    large = np.kron(255 - picture * 255 / 16, np.ones((6, 6)))
    imsave(FOLDER / "gan-digits.png", large, cmap="gray", vmin=0, vmax=255)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["ring", "digits"])
    for name in parser.parse_args().names:
        {"ring": ring, "digits": digits}[name]()
