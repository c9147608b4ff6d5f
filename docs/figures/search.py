"""Draw docs/images/search-*.svg: scores over one parameter, over two, and over three."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import likely as lk
from likely import data

FOLDER = Path(__file__).parents[1] / "images"


def save(figure: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def curve() -> None:
    table = data.diabetes()
    grid = {"alpha": np.logspace(-3, 0, 13)}
    found = lk.GridSearch(lk.Ridge(), grid, rule="one-standard-error")
    found.fit(table.X, table.y)
    save(found.plot(title="The simplest within one standard error"), "search-curve")


def scatter() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SVC())
    space = {"svc__C": loguniform(0.1, 1000), "svc__gamma": loguniform(1e-4, 1)}
    found = lk.RandomSearch(pipeline, space, n_iter=60, scoring="roc_auc").fit(X, y)
    save(found.plot(title="60 random settings"), "search-map")


def parallel() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=1500)
    space = {
        "C": loguniform(0.1, 100),
        "gamma": loguniform(0.01, 10),
        "epsilon": [0.01, 0.1, 0.3],
    }
    found = lk.SuccessiveHalving(SVR(), space, n_candidates=27, scoring="r2", cv=3)
    found.fit(X, y)
    save(found.plot(title="Trials of successive halving"), "search-parallel")


curve()
scatter()
parallel()
