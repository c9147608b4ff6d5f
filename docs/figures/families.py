"""Draw docs/images/families.png: four densities, their losses, and three counts."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from likely.families import (
    Huber,
    Laplace,
    NegativeBinomial,
    Normal,
    Poisson,
    Predictive,
    StudentT,
)

ERRORS = np.linspace(-5, 5, 401)
COUNTS = np.arange(16.0)


def log_prob(family, y, *eta):
    return Predictive(family, np.tile(eta, (len(y), 1))).log_prob(y)


figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(10, 3.1), layout="constrained"
)
for name, family in {
    "Normal": Normal(1.0),
    "Laplace": Laplace(1.0),
    "Huber": Huber(1.0),
    "StudentT, df 2": StudentT(df=2.0, scale=1.0),
}.items():
    log_p = log_prob(family, ERRORS, 0.0)
    left.plot(ERRORS, np.exp(log_p), label=name)
    middle.plot(ERRORS, log_p.max() - log_p, label=name)
left.set(title="density", xlabel="y − μ")
middle.set(title="loss: −log p, from 0 (nats)", xlabel="y − μ", ylim=(-0.2, 6))
middle.legend(frameon=False)

for shift, (name, family) in enumerate(
    {
        "Poisson": Poisson(),
        "NegativeBinomial, r = 4": NegativeBinomial(4.0),
        "NegativeBinomial, r = 1": NegativeBinomial(1.0),
    }.items()
):
    p = np.exp(log_prob(family, COUNTS, np.log(5.0)))
    right.bar(COUNTS + 0.27 * (shift - 1), p, width=0.27, label=name)
right.set(title="probability of a count, mean 5", xlabel="y", ylim=(0, 0.26))
right.legend(frameon=False)

for axes in (left, middle, right):
    axes.spines[["top", "right"]].set_visible(False)
folder = Path(__file__).parents[1] / "images"
folder.mkdir(exist_ok=True)
figure.savefig(folder / "families.png", dpi=110, metadata={"Software": None})
