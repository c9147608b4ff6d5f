"""Draw docs/images/splines.svg and partial_effects.svg: curves and their bands."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import likely as lk
from likely import data, plots

IMAGES = Path(__file__).parents[1] / "images"
rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, size=120))
y = np.sin(x) + 0.3 * rng.normal(size=120)
t = np.linspace(-0.5, 10.5, 300)[:, None]
smooth = lk.SplineRegressor().fit(x[:, None], y)
line = lk.LinearRegression().fit(x[:, None], y)
low, high = smooth.band(t)
outer = smooth.predict_interval(t, coverage=0.9)
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.fill_between(t[:, 0], *outer, color="C0", alpha=0.12, lw=0, label="90 % of new y")
axes.fill_between(t[:, 0], low, high, color="C0", alpha=0.35, lw=0, label="95 % band")
axes.plot(t, smooth.predict(t), "C0-", label="SplineRegressor")
axes.plot(t, line.predict(t), "C1--", label="LinearRegression")
axes.plot(x, y, "k.", ms=3)
axes.set(xlabel="x", ylabel="y")
axes.legend(frameon=False, ncols=2, loc="lower left", fontsize=8)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(IMAGES / "splines.svg", metadata={"Date": None})

table = data.diabetes()
names = ["bmi", "bp", "s5"]
X = table.X[:, [list(table.names).index(name) for name in names]]
model = lk.SplineRegressor().fit(X, table.y)
effects = {name: lk.partial_effect(model, X, j) for j, name in enumerate(names)}
fringe = dict(zip(names, X.T, strict=True))
title = "Progression of diabetes, others at their means"
drawn = plots.partial_effects(effects, fringe, label="effect on y", title=title)
drawn.savefig(IMAGES / "partial_effects.svg", metadata={"Date": None})
