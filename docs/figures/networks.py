"""Draw docs/images/networks.svg: where a network knows nothing, three ways to say so."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import likely as lk

rng = np.random.default_rng(0)
x = np.r_[rng.uniform(-2, -0.5, 40), rng.uniform(0.7, 2, 40)]
y = np.sin(2 * x) + 0.1 * rng.normal(size=80)
grid = np.linspace(-4, 4, 200)[:, None]
settings = {
    "solver": "adam",
    "max_iter": 1500,
    "learning_rate_init": 0.01,
    "alpha": 0.01,
}
KINDS = {
    "one network": {},
    "five members": {"n_members": 5},
    "Laplace, last layer": {"laplace": True},
}
figure = Figure(figsize=(9, 2.8), layout="constrained")
axes = figure.subplots(1, 3, sharey=True)
for ax, (name, options) in zip(axes, KINDS.items(), strict=True):
    model = lk.MLPRegressor((32,), "tanh", **settings, **options).fit(x[:, None], y)
    low, high = model.predict_interval(grid, 0.9)
    ax.fill_between(grid[:, 0], low, high, alpha=0.25, label="90 %")
    ax.plot(grid[:, 0], model.predict(grid))
    ax.plot(x, y, "k.", ms=3)
    ax.set_title(name)
    ax.set_ylim(-4, 4)
figure.savefig(
    Path(__file__).parents[1] / "images" / "networks.svg", metadata={"Date": None}
)
