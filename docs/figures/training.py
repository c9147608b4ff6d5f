"""Draw docs/images/training.svg: early stopping on a small table."""

from pathlib import Path

import jax
import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from likely import recipe
from likely.families import Normal
from likely.models import mlp
from likely.solvers import Adam, Validation
from likely.solvers.training import Training
from likely.typing import Batch


def main() -> None:
    """Train a network that is too large for its rows, and draw both losses."""
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(140, 1)).astype(np.float32)
    y = (np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=140)).astype(np.float32)
    rows = Batch(X, y, np.ones(140, np.float32))
    data, other = (Batch(*(a[p] for a in rows)) for p in (slice(40), slice(40, 140)))
    solver = Adam(
        0.01, steps=4000, batch_size=20, validation=Validation(other, patience=10_000)
    )
    found = recipe.fit(
        Normal(0.3),
        mlp((1, 64, 64, 1), key=jax.random.key(0)),
        data,
        solver=Training(solver),
        key=jax.random.key(1),
    ).solution
    looks = np.asarray(found.trace.validation)
    looks = looks[~np.isnan(looks)]
    losses = np.asarray(found.trace.loss)[: 2 * len(looks)].reshape(-1, 2).mean(1)
    best = int(np.argmin(looks))
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    axes.plot(losses, lw=0.8, color="tab:gray", label="training rows")
    axes.plot(looks, color="tab:blue", label="validation rows")
    axes.axvline(best, color="tab:red", ls=":", label="weights that are kept")
    axes.set(xlabel="epoch", ylabel="nats per row", ylim=(-0.3, 4), xscale="log")
    axes.legend(frameon=False)
    folder = Path(__file__).parents[1] / "images"
    figure.savefig(folder / "training.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
