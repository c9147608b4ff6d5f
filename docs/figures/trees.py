"""Draw docs/images/trees_*.svg: a tree, a forest's quantiles, importances."""

from pathlib import Path

import numpy as np

import likely as lk
from likely import data, families, plots, selection
from likely.plots.style import COLOURS, INK, SOFT, figure

folder = Path(__file__).parents[1] / "images"

flowers = data.iris()
names = np.array(flowers.target_names)[flowers.y.astype(int)]
tree = lk.DecisionTreeClassifier(max_depth=2).fit(flowers.X, names)
drawn = tree.draw(title="Three kinds of iris")
drawn.savefig(folder / "trees_iris.svg", metadata={"Date": None})

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 1500))
y = np.sin(x) + (0.1 + 0.25 * (x > 0)) * rng.normal(size=1500)
grid = np.linspace(-3, 3, 300)[:, None]
forest = lk.RandomForestRegressor(100, min_samples_leaf=10).fit(x[:, None], y)
boosted = lk.GradientBoostingRegressor(
    families.Normal(), n_estimators=80, max_leaf_nodes=4
).fit(x[:, None], y)
drawn, axes = figure(9.2, 3.2, columns=2)
for ax, model, title in zip(
    axes,
    (forest, boosted),
    ("A forest: mixture of leaves", "Boosted mean and scale"),
    strict=True,
):
    low, high = model.predict_interval(grid, coverage=0.9)
    ax.plot(x, y, ".", color=SOFT, ms=2, alpha=0.5, rasterized=True)
    ax.fill_between(grid[:, 0], low, high, color=COLOURS[0], alpha=0.25, lw=0)
    ax.plot(grid, model.predict(grid), color=COLOURS[0], lw=1.8)
    ax.set(xlabel="x", ylabel="y")
    ax.set_title(f"{title}, 90 % interval", loc="left", color=INK, fontsize=10)
drawn.savefig(folder / "trees_intervals.svg", metadata={"Date": None})

table = data.diabetes()
half = np.random.default_rng(0).permutation(len(table.y))
fit, new = half[:300], half[300:]
forest = lk.RandomForestRegressor(100, min_samples_leaf=5)
forest.fit(table.X[fit], table.y[fit])
found = selection.permutation_importance(forest, table.X[new], table.y[new], repeats=3)
drawn = plots.importances(found.mean, found.error, names=table.names)
drawn.savefig(folder / "trees_importances.svg", metadata={"Date": None})
