"""Draw docs/images/rates-*.svg, dynamics-*.svg and implicit-*.svg: why training works."""

from pathlib import Path

import jax
import matplotlib
import numpy as np
from matplotlib.figure import Figure

from likely import diagnostics, families, models

FOLDER = Path(__file__).parents[1] / "images"
NORMAL = families.Normal(scale=1.0)


def save(figure: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def rates() -> None:
    """Four methods on a quadratic, and rates on both sides of 2/L."""
    A = np.diag([1.0, 25.0])
    save(diagnostics.convergence_rates(A, n_steps=59).plot(), "rates-quadratic")
    save(diagnostics.step_limits(A).plot(), "rates-limits")


def dynamics() -> None:
    """Linear networks of two layers and of one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X = X - X.mean(0)
    X = X @ np.linalg.cholesky(np.linalg.inv(X.T @ X / 60))
    U, V = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (3, 4))
    Y = X @ (V[:, :3] * [3.0, 1.5, 0.5]) @ U.T
    start = models.mlp(
        (4, 6, 3), activation="identity", init=("gaussian", 1e-3), key=jax.random.key(0)
    )
    two = diagnostics.linear_dynamics(
        diagnostics.balanced(start), X, Y, rate=0.01, n_steps=600
    )
    save(two.plot(), "dynamics-two-layers")
    line = models.Linear.zeros(4, 3, bias=False)
    one = diagnostics.linear_dynamics(
        line, X * [1.0, 2.0, 0.5, 1.5], Y, rate=0.01, n_steps=300
    )
    save(one.plot(), "dynamics-one-layer")


def implicit() -> None:
    """Orders of errors, batch sizes, and the solution of least norm."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    network = models.mlp((2, 6, 1), activation="tanh", key=jax.random.key(0))
    found = diagnostics.implicit_regularization(
        network, X, np.sin(2 * X[:, 0]), family=NORMAL, n_batches=4
    )
    save(found.plot(), "implicit-orders")
    X, far = rng.normal(size=(64, 2)), rng.normal(size=(500, 2))
    y, y_far = (
        np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] + 0.3 * rng.normal(size=len(x))
        for x in (X, far)
    )
    study = diagnostics.batch_size_study(
        models.MLP((24,), "tanh"),
        X,
        y,
        family=NORMAL,
        rate=0.15,
        X_val=far,
        y_val=y_far,
    )
    save(study.plot(), "implicit-batches")
    X, y = rng.normal(size=(20, 60)), rng.normal(size=20)
    save(diagnostics.minimum_norm(X, y).plot(), "implicit-norm")


if __name__ == "__main__":
    rates()
    dynamics()
    implicit()
