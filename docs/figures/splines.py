"""Draw docs/images/splines.svg: a line, a smooth curve and its band."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import likely as lk

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
figure.savefig(
    Path(__file__).parents[1] / "images" / "splines.svg", metadata={"Date": None}
)
