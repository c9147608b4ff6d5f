"""Draw docs/images/survival.svg and ordinal.svg: survival curves, and levels along a line."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import likely as lk
from likely import evaluate

IMAGES = Path(__file__).parents[1] / "images"
rng = np.random.default_rng(0)
group = np.repeat([0.0, 1.0], 100)
T = np.exp(2 + 0.8 * group) * rng.weibull(1.5, size=200)
end = rng.exponential(25, size=200)
time, event = np.minimum(T, end), end > T
model = lk.SurvivalRegression().fit(group[:, None], time, event=event)
t = np.linspace(0.01, 40, 200)
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for value, color, label in ((0.0, "C1", "standard"), (1.0, "C0", "treated")):
    rows = group == value
    curve = evaluate.kaplan_meier(time[rows], event[rows])
    low, high = curve.interval().T
    axes.step(curve.times, curve.survival, where="post", color=color, label=label)
    axes.fill_between(
        curve.times, low, high, step="post", color=color, alpha=0.15, lw=0
    )
    axes.plot(t, model.predict_survival([[value]], t)[0], color=color, ls="--", lw=1)
    gone = np.sort(time[rows & ~event])
    axes.plot(gone, curve.at(gone), "|", color=color, ms=5)
axes.set(xlabel="time", ylabel="share without the event", ylim=(0, 1.02), xlim=(0, 40))
axes.legend(frameon=False, title="steps: Kaplan–Meier, dashes: Weibull")
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(IMAGES / "survival.svg", metadata={"Date": None})

X = rng.normal(size=(400, 1)) * 2
levels = np.array(["never", "sometimes", "often", "always"])
y = levels[np.digitize(X[:, 0] + rng.logistic(size=400), [-2.0, 0.0, 2.5])]
ordinal = lk.OrdinalRegression().fit(X, y)
x = np.linspace(-6, 6, 200)[:, None]
probs = ordinal.predict_proba(x)[:, np.searchsorted(ordinal.classes_, levels)]
figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
axes.stackplot(x[:, 0], probs.T, labels=levels, alpha=0.8)
axes.set(xlabel="x", ylabel="probability", ylim=(0, 1), xlim=(-6, 6))
axes.legend(frameon=True, ncols=4, loc="upper center", fontsize=8)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(IMAGES / "ordinal.svg", metadata={"Date": None})
