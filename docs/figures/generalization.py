"""Draw docs/images/{bias-variance,learning-curve,double-descent}-*.svg: about a minute."""

from functools import partial
from pathlib import Path

import matplotlib
import numpy as np

import likely as lk
from likely import data, diagnostics, plots
from likely.preprocess import NaturalSpline, PolynomialBasis

folder = Path(__file__).parents[1] / "images"
NOISY = partial(data.curve, noise=0.3)


def save(figure, name):
    matplotlib.rcParams["svg.hashsalt"] = "likely"
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def polynomial(degree):
    return lk.LinearRegression(basis=PolynomialBasis(degree))


def bias_variance():
    """The parts of the risk by degree, and the fits behind them."""
    found = diagnostics.bias_variance(
        polynomial(1), NOISY, n=40, parameter="basis__degree", values=range(1, 10)
    )
    save(
        plots.bias_variance(found, title="Polynomials, 40 rows"), "bias-variance-curve"
    )
    save(found.plot_fits([0, 4, 8]), "bias-variance-fits")
    neighbours = diagnostics.bias_variance(
        lk.KNeighborsClassifier(), partial(data.rings, noise=0.25), n=100, refits=100,
        loss="zero-one", parameter="n_neighbors", values=[1, 3, 7, 15, 31, 51, 71],
    )  # fmt: skip
    title = "Neighbours on two rings, 0/1 loss"
    save(plots.bias_variance(neighbours, title=title), "bias-variance-zero-one")


def under_and_over():
    """Three degrees on many clean rows and on few noisy ones."""
    for name, n, noise in (("many", 200, 0.1), ("few", 12, 0.4)):
        rows = data.curve(n, noise=noise, random_state=2)
        fits = {f"degree {k}": polynomial(k).fit(rows.X, rows.y) for k in (1, 5, 10)}
        drawn = plots.fitted_curves(fits, rows.X, rows.y, truth=rows.truth["mean"])
        save(drawn, f"learning-curve-{name}-rows")


def learning_curves():
    table = data.diabetes()
    model = lk.GradientBoostingRegressor()
    found = diagnostics.learning_curve(model, table.X, table.y)
    print(found.verdict)
    save(found.plot(), "learning-curve-boosting")


def double_descent():
    for name, repeats in (
        ("random features", 30), ("polynomial", 30), ("network", 20), ("forest", 20),
    ):  # fmt: skip
        found = diagnostics.double_descent(name, repeats=repeats)
        print(found.verdict)
        save(found.plot(), f"double-descent-{name.replace(' ', '-')}")


def interpolation():
    """Two fits through all rows: one wild, one smooth."""
    X = np.linspace(0, 1, 14)[:, None]
    truth = data.curve(2).truth["mean"]
    y = truth(X) + 0.2 * np.random.default_rng(1).normal(size=14)
    spline = lk.LinearRegression(basis=NaturalSpline(14))
    fits = {
        "polynomial of degree 13": polynomial(13).fit(X, y),
        "natural spline": spline.fit(X, y),
    }
    drawn = plots.fitted_curves(fits, X, y, truth=truth)
    save(drawn, "double-descent-interpolation")


if __name__ == "__main__":
    np.seterr(all="ignore")
    bias_variance()
    under_and_over()
    learning_curves()
    double_descent()
    interpolation()
