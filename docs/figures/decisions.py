"""Draw docs/images/decisions*.svg, calibration*.svg and conformal*.svg."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sklearn.naive_bayes import GaussianNB

import likely as lk
from likely import evaluate, plots

FOLDER = Path(__file__).parents[1] / "images"
COST = [[0, 10], [1, 0]]


def save(figure: Figure, name: str) -> None:
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def sure_classifier() -> tuple:
    """Naive Bayes on columns that say the same, corrected: classes and probabilities."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=6000)
    X = z[:, None] + 0.5 * rng.normal(size=(6000, 12))
    y = (rng.random(6000) < 1 / (1 + np.exp(2 - 2 * z))).astype(int)
    learn, correct, test = np.split(np.arange(6000), [300, 3000])
    sure = GaussianNB().fit(X[learn], y[learn])
    found = {"naive Bayes": sure.predict_proba(X[test])}
    for method in ("temperature", "platt"):
        model = lk.RecalibratedClassifier(sure, method=method, cv="prefit")
        model.fit(X[correct], y[correct])
        found[method] = model.predict_proba(X[test])
    return y[test], found


def calibration() -> None:
    y, found = sure_classifier()
    binned = {
        name: evaluate.reliability_of_events(y, p[:, 1], bins=10)
        for name, p in found.items()
    }
    save(plots.reliability(binned, title="Before and after"), "calibration")
    curves = {
        name: evaluate.cost_curve(y, found[name][:, 1], COST)
        for name in ("naive Bayes", "platt")
    }
    save(plots.cost_curve(curves), "decisions-curve")


def decisions() -> None:
    drawn = plots.decision_costs(
        COST, actions=["healthy", "ill"], classes=["healthy", "ill"]
    )
    save(drawn, "decisions")


def conformal() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, size=900)
    y = np.exp(0.6 * x + 0.35 * rng.normal(size=900))
    fit, new = slice(0, 400), slice(400, None)
    models = {
        "split": lk.ConformalRegressor(lk.GammaRegressor()),
        "jackknife+": lk.ConformalRegressor(lk.GammaRegressor(), method="jackknife+"),
        "quantile": lk.ConformalRegressor(lk.LogTarget(lk.Ridge()), method="quantile"),
    }
    ends = {}
    for name, model in models.items():
        model.fit(x[fit, None], y[fit])
        ends[name] = model.predict_interval(x[new, None], 0.9)
    drawn = plots.interval_bands(x[new], ends, y[new], title="Intervals of 90 %")
    save(drawn, "conformal")


calibration()
decisions()
conformal()
