"""More tables on which the checks were developed: real ones, and other generators.

They were kept back first and run once, with 15 of 20 faults named and 2 false alarms. What
they taught has gone into the checks (copies of rows with few continuous columns, label noise of
models with few different probabilities, the least gain of heavier tails, spread that grows
with the prediction), so they count no more. Two faults are now expected from another check than
at first: "accounts" from LK101 (was LK102), "overtrained" from LK304 (was LK301). Real tables
come from scikit-learn and statsmodels.
"""

import numpy as np
import pandas as pd
import statsmodels.api as sm
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_linnerud,
    make_friedman1,
    make_gaussian_quantiles,
    make_regression,
)
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    Ridge,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier

import likely as lk
from benchmarks.check_tables.case import Case, Made, fitted, halves


def bundled(name: str) -> pd.DataFrame:
    return getattr(sm.datasets, name).load_pandas().data


def seed_of(rng) -> int:
    return int(rng.integers(2**31))


def some(rng, frame, n):
    return frame.iloc[np.sort(rng.permutation(len(frame))[:n])].reset_index(drop=True)


def affair(rng, n=1500):
    frame = some(rng, bundled("fair"), n)
    y = (frame.pop("affairs") > 0).astype(int).to_numpy()
    return frame, y


def homes(rng, n=600):
    """Rents with words: a table of another make than that of the development set."""
    frame = pd.DataFrame(
        {
            "heating": rng.choice(
                ["gas", "oil", "wood", "district"], n, p=[0.5, 0.2, 0.1, 0.2]
            ),
            "floor": rng.integers(0, 6, n),
            "area": rng.gamma(9, 9, n),
            "balcony": rng.random(n) < 0.5,
        }
    )
    extra = {"gas": 0.0, "oil": -0.3, "wood": 0.2, "district": 0.4}
    mean = 5 + 0.02 * frame["area"] + frame["heating"].map(extra) + 0.1 * frame["floor"]
    return frame, mean.to_numpy() + 0.35 * rng.normal(size=n)


# With a fault ------------------------------------------------------------------------


def recorded_outcome(rng) -> Made:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :10].copy()
    told = np.where(rng.random(len(y)) < 0.003, 1 - y, y)
    X["ward"] = np.where(told == 1, "discharged", "surgery")
    return fitted(lk.GradientBoostingClassifier(n_estimators=30), X, y.to_numpy())


def accounts(rng) -> Made:
    """GDP is the sum of its parts but one."""
    frame = bundled("macrodata")
    parts = frame[["realcons", "realinv", "realgovt"]]
    return fitted(
        make_pipeline(StandardScaler(), BayesianRidge()),
        parts,
        frame["realgdp"].to_numpy(),
    )


def joined_twice(rng) -> Made:
    frame, y = homes(rng, 400)
    more = np.r_[np.arange(400), rng.choice(400, 40, replace=False)]
    model = make_pipeline(lk.preprocess.TableEncoder(), lk.LinearRegression())
    return fitted(model, frame.iloc[more].reset_index(drop=True), y[more])


def school_classes(rng) -> Made:
    g = np.repeat(np.arange(50), 12)
    school = rng.normal(size=(50, 4))
    X = np.c_[school[g], rng.normal(size=(600, 2))]
    eta = 1.8 * rng.normal(size=50)[g] + 0.6 * X[:, 4]
    y = (rng.random(600) < 1 / (1 + np.exp(-eta))).astype(int)
    return fitted(
        GradientBoostingClassifier(n_estimators=60, random_state=0), X, y, groups=g
    )


def sunspots(rng) -> Made:
    frame = bundled("sunspots")
    X = frame[["YEAR"]].to_numpy()
    model = RandomForestRegressor(50, random_state=0)
    return fitted(model, X, frame["SUNACTIVITY"].to_numpy(), time=X[:, 0])


def longer_married(rng) -> Made:
    frame, y = affair(rng)
    order = np.argsort(frame["yrs_married"].to_numpy() + 6 * rng.normal(size=len(y)))
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return halves(frame.iloc[order].reset_index(drop=True), y[order], model)


def rings_with_flips(rng) -> Made:
    data = lk.data.rings(600, random_state=seed_of(rng))
    y = np.where(rng.random(600) < 0.12, 1 - data.y, data.y)
    return fitted(KNeighborsClassifier(20), data.X, y)


def setosa(rng) -> Made:
    X, y = load_iris(return_X_y=True)
    return fitted(lk.LogisticRegression(), X, y == 0)


def longley(rng) -> Made:
    frame = bundled("longley")
    return fitted(
        LinearRegression(), frame.drop(columns="TOTEMP"), frame["TOTEMP"].to_numpy()
    )


def visits(rng) -> Made:
    frame = some(rng, bundled("randhie"), 1500)
    y = frame.pop("mdvis").to_numpy()
    return fitted(lk.PoissonRegressor(), frame, y)


def contaminated(rng) -> Made:
    X = rng.uniform(-1, 1, size=(400, 2))
    spread = np.where(rng.random(400) < 0.06, 4.0, 0.4)
    y = X[:, 0] ** 2 - X[:, 0] * X[:, 1] + X[:, 1] + spread * rng.normal(size=400)
    return fitted(make_pipeline(PolynomialFeatures(2), Ridge(0.1)), X, y)


def hurried_network(rng) -> Made:
    X, y = load_digits(return_X_y=True)
    keep = rng.permutation(len(y))[:500]
    return fitted(
        MLPClassifier((30,), max_iter=8, random_state=0), X[keep] / 16, y[keep]
    )


def few_neighbours_tried(rng) -> Made:
    X, y = load_digits(return_X_y=True)
    keep = rng.permutation(len(y))[:500]
    grid = {"n_neighbors": [30, 45, 60, 90]}
    return fitted(GridSearchCV(KNeighborsClassifier(), grid), X[keep], y[keep])


def typing_error(rng) -> Made:
    frame = bundled("engel").copy()
    row = int(rng.integers(len(frame)))
    frame.loc[row, "income"] *= 10
    return fitted(LinearRegression(), frame[["income"]], frame["foodexp"].to_numpy())


def overtrained(rng) -> Made:
    X, y = affair(rng, 1200)
    model = HistGradientBoostingClassifier(
        max_iter=300, learning_rate=0.3, random_state=0
    )
    return fitted(model, X, y)


def trimmed(rng) -> Made:
    """Rows of large errors were taken for errors and left out of the fit."""
    X = rng.normal(size=(500, 6))
    y = X @ rng.normal(size=6) + rng.normal(size=500)
    first = np.arange(250)
    kept = first[np.abs((y - X @ np.linalg.lstsq(X, y)[0])[:250]) < 1.0]
    model = lk.Ridge(1.0).fit(X[kept], y[kept])
    return Made(model, X[kept], y[kept], {"X_test": X[250:], "y_test": y[250:]})


def engel(rng) -> Made:
    frame = bundled("engel")
    return fitted(lk.LinearRegression(), frame[["income"]], frame["foodexp"].to_numpy())


def full_tree(rng) -> Made:
    X, y = affair(rng, 800)
    X = X + 0.01 * rng.normal(size=X.shape)
    return fitted(DecisionTreeClassifier(random_state=0), X, y)


def forest_for_a_plane(rng) -> Made:
    X, y = make_regression(
        300, 20, n_informative=15, noise=20, random_state=seed_of(rng)
    )
    return fitted(RandomForestRegressor(50, min_samples_leaf=5, random_state=0), X, y)


def twenty_men(rng) -> Made:
    X, Y = load_linnerud(return_X_y=True)
    return fitted(Ridge(), X, Y[:, 0])


FAULTS = (
    Case("recorded outcome", "LK101", recorded_outcome),
    Case("accounts", "LK101", accounts),
    Case("joined twice", "LK103", joined_twice),
    Case("school classes", "LK104", school_classes),
    Case("sunspots", "LK105", sunspots),
    Case("longer married", "LK106", longer_married),
    Case("rings with flips", "LK107", rings_with_flips),
    Case("setosa", "LK201", setosa),
    Case("Longley", "LK202", longley),
    Case("visits", "LK203", visits),
    Case("contaminated", "LK204", contaminated),
    Case("hurried network", "LK205", hurried_network),
    Case("few neighbours tried", "LK206", few_neighbours_tried),
    Case("typing error", "LK207", typing_error),
    Case("overtrained", "LK304", overtrained),
    Case("trimmed", "LK302", trimmed),
    Case("Engel", "LK303", engel),
    Case("full tree", "LK304", full_tree),
    Case("forest for a plane", "LK401", forest_for_a_plane),
    Case("twenty men", "LK402", twenty_men),
)


# Without -----------------------------------------------------------------------------


def tumours(rng) -> Made:
    X, y = load_breast_cancer(return_X_y=True)
    return fitted(make_pipeline(StandardScaler(), LogisticRegression()), X, y)


def digits(rng) -> Made:
    X, y = load_digits(return_X_y=True)
    keep = rng.permutation(len(y))[:700]
    return fitted(lk.LogisticRegression(alpha=0.05), X[keep] / 16, y[keep])


def flowers(rng) -> Made:
    return fitted(LinearDiscriminantAnalysis(), *load_iris(return_X_y=True))


def affairs(rng) -> Made:
    return fitted(lk.LogisticRegression(), *affair(rng))


def any_visit(rng) -> Made:
    frame = some(rng, bundled("randhie"), 2000)
    y = (frame.pop("mdvis") > 0).astype(int).to_numpy()
    return fitted(lk.LogisticRegression(), frame, y)


def visits_right(rng) -> Made:
    frame = some(rng, bundled("randhie"), 1500)
    y = frame.pop("mdvis").to_numpy()
    return fitted(lk.NegativeBinomialRegressor(), frame, y)


def friedman(rng, n=500, noise=1.0):
    return make_friedman1(n, 8, noise=noise, random_state=seed_of(rng))


def friedman_forest(rng) -> Made:
    return fitted(lk.GradientBoostingRegressor(), *friedman(rng))


def friedman_machine(rng) -> Made:
    return fitted(make_pipeline(StandardScaler(), SVR(C=10)), *friedman(rng))


def friedman_histograms(rng) -> Made:
    return halves(*friedman(rng, 1200), HistGradientBoostingRegressor(random_state=0))


def quantiles(rng) -> Made:
    data = make_gaussian_quantiles(
        n_samples=600, n_classes=3, random_state=seed_of(rng)
    )
    X = data[0] + 0.3 * rng.normal(size=data[0].shape)
    return fitted(lk.KNeighborsClassifier(), X, data[1])


def two_normals(rng) -> Made:
    y = rng.integers(0, 2, 500)
    X = rng.normal(size=(500, 4)) * np.where(y == 1, 2.0, 1.0)[:, None]
    return fitted(QuadraticDiscriminantAnalysis(), X, y)


def spirals(rng) -> Made:
    data = lk.data.spirals(600, noise=0.1, random_state=seed_of(rng))
    return fitted(lk.KNeighborsClassifier(), data.X, data.y)


def counts_of_words(rng) -> Made:
    frame, _ = homes(rng)
    mean = np.exp(0.3 + 0.01 * frame["area"] + 0.3 * (frame["heating"] == "wood"))
    model = make_pipeline(lk.preprocess.TableEncoder(), lk.PoissonRegressor())
    return fitted(model, frame, rng.poisson(mean))


def positive(rng) -> Made:
    X = rng.uniform(-1, 1, size=(400, 3))
    y = rng.gamma(3, np.exp(X[:, 0] - 0.5 * X[:, 1]) / 3)
    return fitted(lk.GammaRegressor(), X, y)


def rents(rng) -> Made:
    frame, y = homes(rng, 1000)
    model = make_pipeline(lk.preprocess.TableEncoder(), lk.Ridge(1.0))
    return halves(frame, y, model)


def wards(rng) -> Made:
    X = rng.uniform(-2, 2, size=(500, 4))
    y = (rng.random(500) < 1 / (1 + np.exp(-1.5 * X[:, 0] + X[:, 1]))).astype(int)
    return fitted(LogisticRegression(), X, y, groups=np.arange(500) % 50)


def days(rng) -> Made:
    X, y = friedman(rng)
    when = np.datetime64("2021-03-01") + np.arange(len(y))
    return fitted(HistGradientBoostingRegressor(random_state=0), X, y, time=when)


def machine_grid(rng) -> Made:
    grid = {"svr__C": np.geomspace(1e-2, 1e4, 7).tolist()}
    model = GridSearchCV(make_pipeline(StandardScaler(), SVR()), grid)
    return fitted(model, *friedman(rng, 250))


def robust(rng) -> Made:
    X = rng.normal(size=(400, 4))
    y = X @ [1.0, 0.5, -0.5, 0.2] + 0.7 * rng.standard_t(3, 400)
    return fitted(lk.HuberRegressor(), X, y)


def bayesian(rng) -> Made:
    X, y = make_regression(
        150, 12, n_informative=5, noise=30, random_state=seed_of(rng)
    )
    return fitted(BayesianRidge(), X, y)


CLEAN = (
    Case("tumours", "", tumours),
    Case("digits", "", digits),
    Case("flowers", "", flowers),
    Case("affairs", "", affairs),
    Case("any visit", "", any_visit),
    Case("visits, negative binomial", "", visits_right),
    Case("Friedman, boosting", "", friedman_forest),
    Case("Friedman, support vectors", "", friedman_machine),
    Case("Friedman, histograms, test rows", "", friedman_histograms),
    Case("quantiles", "", quantiles),
    Case("two normals", "", two_normals),
    Case("spirals", "", spirals),
    Case("counts with words", "", counts_of_words),
    Case("positive numbers", "", positive),
    Case("rents with test rows", "", rents),
    Case("wards that do not matter", "", wards),
    Case("days that do not matter", "", days),
    Case("grid of a machine", "", machine_grid),
    Case("robust", "", robust),
    Case("Bayesian ridge", "", bayesian),
)
