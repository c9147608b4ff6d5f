"""Draw docs/images/few_labels.svg: two moons with few labels, without and with the other rows."""

from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons

import likely as lk
from likely.plots.style import COLOURS, INK, SOFT, figure

X, y = make_moons(400, noise=0.09, random_state=0)
few = np.full(400, -1)
for c in (0, 1):
    few[np.flatnonzero(y == c)[:4]] = c
known = few >= 0
X_new, y_new = make_moons(2000, noise=0.09, random_state=1)
NOISE = lk.layers.ColumnNoise(0.5)
network = lk.MLPClassifier((30,), max_iter=400, learning_rate_init=0.02, solver="adam")
MODELS = {
    "the 8 labelled rows alone": network,
    "pseudo-labels": lk.PseudoLabels(network, cv=None),
    "consistency training": lk.ConsistencyTraining(network, strong=NOISE),
}
sides = np.meshgrid(np.linspace(-1.6, 2.6, 70), np.linspace(-1.1, 1.6, 50))
grid = np.stack(sides, -1).reshape(-1, 2)
drawn, axes = figure(11.0, 3.0, columns=3)
for ax, (name, model) in zip(axes, MODELS.items(), strict=True):
    rows = known if model is network else slice(None)
    model.fit(X[rows], few[rows])
    p = model.predict_proba(grid)[:, 1].reshape(sides[0].shape)
    ax.contourf(*sides, p, np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.35)
    ax.contour(*sides, p, [0.5], colors=INK, linewidths=1.2)
    ax.scatter(*X[~known].T, s=4, color=SOFT, linewidths=0)
    for c, colour in ((0, COLOURS[0]), (1, COLOURS[1])):
        own = X[known & (y == c)].T
        ax.scatter(*own, s=60, color=colour, edgecolors="white", zorder=3)
    share = model.score(X_new, y_new)
    ax.set_title(f"{name}: {share:.1%} of new rows", fontsize=10, color=INK)
    ax.set(xticks=[], yticks=[])
    print(name, share)
drawn.savefig(
    Path(__file__).parents[1] / "images" / "few_labels.svg", metadata={"Date": None}
)
