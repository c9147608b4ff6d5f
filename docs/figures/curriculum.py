"""Draw docs/images/curriculum-*.svg."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.figure import Figure

from likely import diagnostics, models
from likely.families import Normal
from likely.layers import Chain, Dense, Pointwise
from likely.objectives import Smoothing
from likely.plots.style import COLOURS, figure
from likely.solvers import Adam, Continuation, Curriculum, RowWeights

FOLDER = Path(__file__).parents[1] / "images"


def save(drawn: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    drawn.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def wave(key):
    """sin(ax + b) with a between 0.5 and 6."""
    own, key = jax.random.split(key)
    model = Chain(Dense(1, 1, key=key), Pointwise(jnp.sin))
    a, b = jax.random.uniform(own, (2,), minval=0.5, maxval=6.0)
    first = (a.reshape(1, 1), b.reshape(1) / 6)
    return eqx.tree_at(lambda m: (m.layers[0].weight, m.layers[0].bias), model, first)


def distance(batch):
    """How far a row is from 0."""
    return (batch.x**2).sum(1)


def length(step, d):
    """Weights that are the difficulties."""
    return d


def wave_rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(-4, 4, size=(200, 1))
    return x, np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=200)


def landscape() -> None:
    """The loss over one frequency: on near rows, on all, and smoothed."""
    x, y = wave_rows()
    a = np.linspace(0.2, 6, 400)
    losses = (np.sin(a[:, None] * x[:, 0]) - y) ** 2 / 2
    drawn, (ax, other) = figure(9.6, 3.2, columns=2)
    for i, share in enumerate((0.08, 0.3, 1.0)):
        near = np.abs(x[:, 0]) <= np.quantile(np.abs(x[:, 0]), share)
        name = f"the nearest {100 * share:.0f} % of the rows"
        ax.plot(a, losses[:, near].mean(1), color=COLOURS[i], label=name)
    for i, sigma in enumerate((0.0, 0.25, 1.0)):
        kernel = np.exp(-0.5 * ((a[:, None] - a) / max(sigma, 1e-9)) ** 2)
        kernel = np.eye(len(a)) if sigma == 0 else kernel / kernel.sum(1, keepdims=True)
        other.plot(a, kernel @ losses.mean(1), color=COLOURS[i], label=f"σ = {sigma:g}")
    ax.set(xlabel="frequency", ylabel="loss")
    other.set(xlabel="frequency")
    for each, title in ((ax, "fewer rows"), (other, "all rows, smoothed")):
        each.set_title(title, loc="left")
        each.legend(frameon=False, fontsize="small")
    save(drawn, "curriculum-landscape")


def studies() -> None:
    """Where an order of the rows helps, and where it does not."""
    x, y = wave_rows()
    near = Curriculum(distance, steps=800, start=0.08)
    far = Curriculum(distance, steps=800, start=0.08, reverse=True)
    path = Continuation(Smoothing(), (1.0, 0.5, 0.25, 0.1, 0.0), 200)
    helped = diagnostics.curriculum_study(
        wave,
        x,
        y,
        family=Normal(0.1),
        solver=Adam(0.02, steps=1500, batch_size=32),
        options={
            "all rows alike": {},
            "near rows first": {"sampling": near},
            "far rows first": {"sampling": far},
            "smoothed": {"continuation": path},
        },
        n_seeds=16,
    )
    save(helped.plot(), "curriculum-helps")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2300, 3))
    z = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=2300)
    near = Curriculum(distance, steps=300)
    path = Continuation(Smoothing(), (0.3, 0.1, 0.0), 100)
    harmed = diagnostics.curriculum_study(
        models.MLP((32,), "tanh"),
        X[:300],
        z[:300],
        family=Normal(0.3),
        solver=Adam(0.01, steps=600, batch_size=32),
        options={
            "all rows alike": {},
            "near rows first": {"sampling": near},
            "far rows drawn more": {
                "sampling": RowWeights(length, distance, corrected=True)
            },
            "smoothed": {"continuation": path},
        },
        X_val=X[300:],
        y_val=z[300:],
    )
    save(harmed.plot(), "curriculum-harms")


if __name__ == "__main__":
    landscape()
    studies()
