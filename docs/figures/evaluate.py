"""Draw docs/images/evaluate_*.svg: reliability and residuals."""

from pathlib import Path

import numpy as np

import likely as lk
from likely import data, evaluate, plots

folder = Path(__file__).parents[1] / "images"

rng = np.random.default_rng(0)
logits = 1.5 * rng.normal(size=(4000, 3))
p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
codes = (rng.random(4000)[:, None] > p.cumsum(1)).sum(1)
sure = evaluate.temperature_scaled(p, 0.4)
T = evaluate.temperature(codes[:2000], sure[:2000])
found = {
    "over-confident": evaluate.reliability(codes, sure),
    "corrected": evaluate.reliability(codes, evaluate.temperature_scaled(sure, T)),
}
drawn = plots.reliability(found)
drawn.savefig(folder / "evaluate_reliability.svg", metadata={"Date": None})

table = data.diabetes()
train, test = np.arange(300), np.arange(300, 442)
ridge = lk.Ridge(alpha=0.1).fit(table.X[train], table.y[train])
drawn = plots.residuals(
    ridge.predict_dist(table.X[test]), table.y[test], label="progression"
)
drawn.savefig(folder / "evaluate_residuals.svg", metadata={"Date": None})
