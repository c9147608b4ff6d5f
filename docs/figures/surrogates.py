"""Draw docs/images/surrogates.svg: the 0/1 loss and the convex losses above it."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from likely.objectives import hinge, logistic, zero_one

m = np.linspace(-2, 3, 501).astype(np.float32)
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, losses, style in (
    ("0/1", zero_one(m), "k-"),
    ("hinge", hinge(m), "C0-"),
    ("logistic, in bits", logistic(m) / np.log(2), "C1-"),
):
    axes.plot(m, losses, style, label=name)
axes.set(xlabel="margin y·f(x)", ylabel="loss", ylim=(-0.1, 3.2))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
folder = Path(__file__).parents[1] / "images"
folder.mkdir(exist_ok=True)
figure.savefig(folder / "surrogates.svg", metadata={"Date": None})
