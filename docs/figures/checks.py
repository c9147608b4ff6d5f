"""Draw docs/images/{checks,influence,label-noise,drift,fairness}.svg: a few seconds."""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likely as lk
from likely import data, diagnostics

folder = Path(__file__).parents[1] / "images"


def save(figure, name):
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def checks():
    """A tree without any pruning on a table of 442 rows."""
    table = data.diabetes()
    model = lk.DecisionTreeRegressor().fit(table.X, table.y)
    save(lk.check(model, table.X, table.y).plot(), "checks")


def influence():
    """Least squares with one misplaced decimal point."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"area": rng.normal(90, 20, 60), "rooms": rng.integers(2, 6, 60)})
    y = 3 * X["area"] + 20 * X["rooms"] + 25 * rng.normal(size=60)
    X.loc[17, "area"] *= 10
    model = lk.LinearRegression().fit(X, y)
    save(diagnostics.influence(model, X, y).plot(), "influence")


def label_noise():
    """Wines of which 20 labels were changed."""
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.choice(len(y), 20, replace=False)
    noisy = y.copy()
    noisy[rows] = (y[rows] + rng.integers(1, 3, 20)) % 3
    model = make_pipeline(StandardScaler(), lk.LogisticRegression(alpha=1.0))
    save(diagnostics.label_noise(model, X, noisy).plot(), "label-noise")


def drift():
    """People of two years."""
    save(diagnostics.drift(people(400, 0), people(300, 1)).plot(), "drift")


def people(n, later):
    rng = np.random.default_rng(later)
    income = rng.normal(50 + 6 * later, 15, n)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "income": np.where(rng.random(n) < 0.02 + 0.1 * later, np.nan, income),
            "town": rng.choice(["Bern", "Chur", "Genf"], n),
            "height": rng.normal(172, 9, n),
        }
    )


def fairness():
    """A score that is less exact for one group."""
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], 3000, p=[0.6, 0.3, 0.1])
    X = rng.normal(size=(3000, 3))
    exact = np.where(group == "b", 0.5, 2.0)
    y = (rng.random(3000) < 1 / (1 + np.exp(-exact * X[:, 0]))).astype(int)
    model = lk.LogisticRegression().fit(X[:1000], y[:1000])
    found = diagnostics.fairness(model, X[1000:], y[1000:], group[1000:])
    save(found.plot(), "fairness")


if __name__ == "__main__":
    for draw in (checks, influence, label_noise, drift, fairness):
        draw()
