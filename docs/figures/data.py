"""Draw docs/images/synthetic.png: the synthetic sets, with what made them."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from likely import data

COLORS = np.array(["#3b6fb6", "#d1603d", "#5a9e6f"])
figure, grid = plt.subplots(3, 5, figsize=(10, 6.2), layout="constrained")
panels = iter(grid.flat)


def panel(title: str, equal: bool = False):
    """The next panel, bare but for its title."""
    axes = next(panels)
    axes.set_title(title, fontsize=9)
    axes.set(xticks=[], yticks=[], aspect="equal" if equal else "auto")
    return axes


def classes(name: str, **options) -> None:
    """A set of classes in the plane."""
    found = data.load(name, random_state=0, **options)
    axes = panel(name, equal=True)
    axes.scatter(*found.X.T, s=5, c=COLORS[found.y], linewidths=0)


def curve(name: str, low: float, high: float, **options) -> None:
    """A curve, with two standard deviations on either side."""
    found = data.load(name, random_state=0, **options)
    axes, x = panel(name), np.linspace(low, high, 200)[:, None]
    middle, spread = found.truth["mean"](x), 2 * found.truth["std"](x)
    axes.fill_between(x[:, 0], middle - spread, middle + spread, color="0.9")
    axes.plot(x, middle, color="0.2", lw=1)
    axes.scatter(found.X[:, 0], found.y, s=5, c=COLORS[0], linewidths=0)


curve("curve", 0, 1)
curve("polynomial", -1, 1)
curve("heteroscedastic", 0, 1)
counted = data.counts(300, random_state=0)
rate = counted.truth["rate"](counted.X)
axes = panel("counts")
axes.scatter(rate, counted.y, s=5, c=COLORS[0], linewidths=0)
axes.plot([0, rate.max()], [0, rate.max()], color="0.2", lw=1)
axes = panel("correlated: the covariance")
axes.imshow(data.correlated(random_state=0).truth["covariance"], cmap="Greys")
classes("moons", n=300)
classes("rings", n=300)
classes("spirals", n=450, classes=3)
classes("disc", n=400)
classes("mixture")
classes("separable")
classes("inseparable")
shapes = data.signals(3, noise=0.1, random_state=2)
axes = panel("signals")
for row, color in zip(shapes.X, COLORS, strict=True):
    axes.plot(row, color=color, lw=1)
pairs = data.couples(150, correlation=0.8, random_state=0).X.reshape(-1, 2)
panel("couples: partner and partner", equal=True).scatter(
    *pairs.T, s=5, c=COLORS[0], linewidths=0
)
drifting = data.drift(400, random_state=0)
axes = panel("drift: early and late")
late = drifting.X[:, 1] > 0.5
for here, color in ((~late, COLORS[0]), (late, COLORS[1])):
    axes.scatter(drifting.X[here, 0], drifting.y[here], s=4, c=color, linewidths=0)
folder = Path(__file__).parents[1] / "images"
folder.mkdir(exist_ok=True)
figure.savefig(folder / "synthetic.png", dpi=80, metadata={"Software": None})
