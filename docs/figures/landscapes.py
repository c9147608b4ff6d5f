"""Draw docs/images/landscape*.svg and batch-norm-study.svg: losses around weights, curvature."""

import warnings
from pathlib import Path

import jax
import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

import likely as lk
from likely import data, diagnostics, families, models, recipe, solvers
from likely.objectives import GaussianPrior, LaplacePrior
from likely.typing import Batch

FOLDER = Path(__file__).parents[1] / "images"


def save(figure: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def line() -> None:
    """Two coefficients: all rows, a part of them, and with penalties."""
    found = data.diabetes()
    X, y = found.X[:, [2, 8]], found.y
    X = (X - X.mean(0)) / X.std(0)
    model = lk.LinearRegression().fit(X, y)
    landscape = diagnostics.loss_landscape(
        model,
        X,
        y,
        directions=["x0", "x1"],
        subset=30,
        penalties={"L1": LaplacePrior(4.0), "L2": GaussianPrior(0.1)},
    )
    save(landscape.plot(), "landscape-line")


def descents() -> None:
    """Logistic regression by all rows, by minibatches and by single rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1)) * 1.5
    y = (2 * X[:, 0] - 1 + rng.logistic(size=200) > 0).astype(float)
    rows = Batch(X, y, np.ones(200))
    runs = {}
    for name, size, rate in (
        ("all rows", None, 1.5),
        ("20 rows", 20, 0.6),
        ("1 row", 1, 0.2),
    ):
        solver = solvers.GradientDescent(rate, steps=120, batch_size=size, path=True)
        start = models.Linear(np.array([[-1.0]]), np.array([1.5]))
        runs[name] = recipe.fit(
            families.Bernoulli(), start, rows, solver=solver, key=jax.random.key(0)
        )
    landscape = diagnostics.loss_landscape(
        runs["all rows"],
        X,
        y,
        directions=[0, 1],
        paths=runs,
        limits=((-1.5, 3.5), (-2.5, 2)),
    )
    save(landscape.plot(), "landscape-descents")


def networks() -> None:
    """A path in its principal directions, a filter-normalised plane, a spectrum."""
    warnings.simplefilter("ignore")
    rows = data.moons(200, noise=0.25, random_state=0)
    solver = solvers.Adam(0.02, steps=300, batch_size=32, path=True)
    model = lk.MLPClassifier((16, 16), alpha=0.0, solver=solver).fit(rows.X, rows.y)
    landscape = diagnostics.loss_landscape(
        model, rows.X, rows.y, directions="principal", paths={"Adam": model}, subset=20
    )
    save(landscape.plot(), "landscape-path")
    spectrum = diagnostics.hessian_spectrum(model, rows.X, rows.y)
    save(spectrum.plot(), "landscape-spectrum")


def batch_norm() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    study = diagnostics.batch_norm_study(X, y, hidden=(16,) * 6, n_steps=100)
    save(study.plot(), "batch-norm-study")


if __name__ == "__main__":
    line()
    descents()
    networks()
    batch_norm()
