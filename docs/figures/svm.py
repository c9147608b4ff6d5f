"""Draw docs/images/margin-*.svg: a hard margin, a soft one, and one of a kernel."""

from pathlib import Path

import numpy as np

import likely as lk
from likely import plots

folder = Path(__file__).parents[1] / "images"
rng = np.random.default_rng(3)


def save(figure, name):
    figure.savefig(folder / name, metadata={"Date": None})


X = rng.normal(size=(40, 2))
X += np.where(X @ [1.0, 0.6] > 0, 0.5, -0.5)[:, None] * [1.0, 0.6]
y = np.where(X @ [1.0, 0.6] > 0, "up", "down")
hard = lk.SVC(kernel="linear", C=float("inf")).fit(X, y)
save(plots.margin(hard, X, y, title="Hard margin"), "margin-hard.svg")

X = rng.normal(size=(60, 2)) + np.repeat([[-0.9, 0.0], [0.9, 0.5]], 30, axis=0)
y = np.repeat(["a", "b"], 30)
soft = lk.SVC(kernel="linear", C=1.0).fit(X, y)
save(plots.margin(soft, X, y, title="Soft margin, C = 1"), "margin-soft.svg")

X = rng.uniform(-1.6, 1.6, size=(90, 2))
y = np.where((X**2).sum(1) + 0.15 * rng.normal(size=90) < 1, "in", "out")
curved = lk.SVC(kernel="rbf", gamma=1.0, C=3.0).fit(X, y)
save(plots.margin(curved, X, y, title="RBF kernel, C = 3"), "margin-rbf.svg")
