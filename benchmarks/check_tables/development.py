"""The tables on which the thresholds of the checks were set."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import likely as lk
from benchmarks.check_tables.case import Case, Made, fitted, halves, normals

SLOPES = np.array([1.0, -0.7, 0.5, 0.0, 0.3])


def line(rng, n=300, d=5, noise=1.0):
    X = normals(rng, n, d, 0.2)
    return X, X @ np.resize(SLOPES, d) + noise * rng.normal(size=n)


def two(rng, n=400, d=5, sharpness=1.5):
    X = normals(rng, n, d, 0.2)
    p = 1 / (1 + np.exp(-sharpness * (X @ np.resize(SLOPES, d))))
    return X, (rng.random(n) < p).astype(int)


def flipped(rng, y, share):
    y, classes = y.copy(), np.unique(y)
    for i in rng.choice(len(y), int(share * len(y)), replace=False):
        y[i] = rng.choice(classes[classes != y[i]])
    return y


# With a fault ------------------------------------------------------------------------


def copy_of_target(rng) -> Made:
    X, y = line(rng)
    return fitted(Ridge(), np.c_[X, 3 * y + 0.1 * rng.normal(size=len(y))], y)


def missing_where_positive(rng) -> Made:
    X, y = two(rng)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["discharge"] = np.where(y == 1, rng.normal(size=len(y)), np.nan)
    model = lk.GradientBoostingClassifier(n_estimators=20)
    return fitted(model, frame, y)


def oversampled(rng) -> Made:
    X, y = two(rng, 300)
    more = np.r_[np.arange(300), rng.choice(np.flatnonzero(y == 1), 60)]
    return fitted(RandomForestClassifier(50, random_state=0), X[more], y[more])


def test_of_copies(rng) -> Made:
    X, y = line(rng, 400)
    X[200:230], y[200:230] = X[:30], y[:30]
    return halves(X, y, lk.LinearRegression())


def patients(rng) -> Made:
    g = np.repeat(np.arange(60), 5)
    fixed = rng.normal(size=(60, 3))[g]
    X = np.c_[fixed, rng.normal(size=(300, 1))]
    y = 1.5 * rng.normal(size=60)[g] + 0.5 * X[:, 3] + 0.5 * rng.normal(size=300)
    return fitted(RandomForestRegressor(50, random_state=0), X, y, groups=g)


def patient_column(rng) -> Made:
    g = np.repeat(np.arange(80), 4)
    y = 2 * rng.normal(size=80)[g] + rng.normal(size=320)
    frame = pd.DataFrame({"patient_id": g, "x": rng.normal(size=320)})
    return fitted(RandomForestRegressor(50, random_state=0), frame, y)


def slow_series(rng) -> Made:
    t = np.arange(400.0)
    e = np.zeros(400)
    for i in range(1, 400):
        e[i] = 0.95 * e[i - 1] + 0.3 * rng.normal()
    X = np.c_[t, rng.normal(size=(400, 2))]
    return fitted(
        KNeighborsRegressor(3), X / X.std(0) * [30, 1, 1], e + X[:, 1], time=t
    )


def shifted(rng) -> Made:
    X, y = line(rng, 600)
    X[300:, 1] += 0.8
    return halves(X, y, Ridge())


def wrong_labels(rng) -> Made:
    X, y = two(rng, 600, sharpness=5.0)
    return fitted(LogisticRegression(), X, flipped(rng, y, 0.1))


def wrong_labels_wine(rng) -> Made:
    X, y = load_wine(return_X_y=True)
    return fitted(RandomForestClassifier(100, random_state=0), X, flipped(rng, y, 0.15))


def separated(rng) -> Made:
    X, _ = two(rng, 100, 3)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    return fitted(LogisticRegression(C=np.inf, max_iter=5000), X, y)


def repeated_column(rng) -> Made:
    X, y = line(rng)
    X = np.c_[X, X[:, 0] + X[:, 1] + 0.05 * rng.normal(size=len(y))]
    return fitted(lk.LinearRegression(), X, y)


def clumped_counts(rng) -> Made:
    X = normals(rng, 400, 3)
    mean = np.exp(0.5 + 0.4 * X[:, 0])
    y = rng.negative_binomial(1.5, 1.5 / (1.5 + mean))
    return fitted(lk.PoissonRegressor(), X, y)


def wild_errors(rng) -> Made:
    X = normals(rng, 300, 4)
    return fitted(lk.LinearRegression(), X, X @ SLOPES[:4] + rng.standard_t(2.5, 300))


def stopped_early(rng) -> Made:
    X, y = two(rng, 400)
    X = X * [1, 100, 1, 1000, 1]
    return fitted(LogisticRegression(max_iter=4), X, y)


def narrow_grid(rng) -> Made:
    X, y = line(rng, 100, 60, 3.0)
    return fitted(GridSearchCV(Ridge(), {"alpha": [1e-3, 1e-2, 0.1, 1.0]}), X, y)


def one_far_row(rng) -> Made:
    X, y = line(rng, 100, 3)
    X[17, 1], y[17] = 12.0, 15.0
    return fitted(LinearRegression(), X, y)


def too_sure(rng) -> Made:
    X, y = two(rng, 500, 2, 1.0)
    X = np.repeat(X, 6, axis=1) + 0.1 * rng.normal(size=(500, 12))
    return fitted(GaussianNB(), X, y)


def noisier_tests(rng) -> Made:
    X, y = line(rng, 500)
    y[250:] += 1.2 * rng.normal(size=250)
    return halves(X, y, lk.LinearRegression())


def growing_spread(rng) -> Made:
    X = rng.uniform(0, 3, size=(500, 2))
    y = 2 * X[:, 0] + X[:, 1] + (0.2 + 0.7 * X[:, 0]) * rng.normal(size=500)
    return fitted(lk.LinearRegression(), X, y)


def memorised(rng) -> Made:
    X, y = line(rng, 300, 8, 4.0)
    return fitted(KNeighborsRegressor(1), X, y)


def tree_for_a_line(rng) -> Made:
    X, y = line(rng, 400, 8, 1.0)
    return fitted(DecisionTreeRegressor(max_leaf_nodes=30, random_state=0), X, y)


def few_rows(rng) -> Made:
    X, y = line(rng, 25, 2, 3.0)
    return fitted(LinearRegression(), X, y)


def nothing_there(rng) -> Made:
    X = normals(rng, 500, 4)
    return fitted(
        RandomForestRegressor(50, min_samples_leaf=20), X, rng.normal(size=500)
    )


FAULTS = (
    Case("copy of the target", "LK101", copy_of_target),
    Case("missing where positive", "LK101", missing_where_positive),
    Case("oversampled", "LK103", oversampled),
    Case("test of copies", "LK103", test_of_copies),
    Case("patients", "LK104", patients),
    Case("patient column", "LK104", patient_column),
    Case("slow series", "LK105", slow_series),
    Case("shifted", "LK106", shifted),
    Case("wrong labels", "LK107", wrong_labels),
    Case("wrong labels, wine", "LK107", wrong_labels_wine),
    Case("separated", "LK201", separated),
    Case("repeated column", "LK202", repeated_column),
    Case("clumped counts", "LK203", clumped_counts),
    Case("wild errors", "LK204", wild_errors),
    Case("stopped early", "LK205", stopped_early),
    Case("narrow grid", "LK206", narrow_grid),
    Case("one far row", "LK207", one_far_row),
    Case("too sure", "LK301", too_sure),
    Case("noisier tests", "LK302", noisier_tests),
    Case("growing spread", "LK303", growing_spread),
    Case("memorised", "LK304", memorised),
    Case("tree for a line", "LK401", tree_for_a_line),
    Case("few rows", "LK402", few_rows),
    Case("nothing there", "LK403", nothing_there),
)


# Without -----------------------------------------------------------------------------


def wave(rng, n=400):
    X = rng.uniform(-3, 3, size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.3 * rng.normal(size=n)


def plain_line(rng) -> Made:
    return fitted(lk.LinearRegression(), *line(rng))


def plain_ridge(rng) -> Made:
    return fitted(make_pipeline(StandardScaler(), Ridge()), *line(rng, 150, 10))


def plain_classes(rng) -> Made:
    return fitted(lk.LogisticRegression(), *two(rng))


def classes_scikit(rng) -> Made:
    return fitted(LogisticRegression(), *two(rng, 250, 8, 1.0))


def forest_of_waves(rng) -> Made:
    return fitted(RandomForestRegressor(100, random_state=0), *wave(rng))


def boosted_waves(rng) -> Made:
    return fitted(GradientBoostingRegressor(random_state=0), *wave(rng))


def diabetes_ridge(rng) -> Made:
    return fitted(lk.Ridge(alpha="cv"), *load_diabetes(return_X_y=True))


def wine_classes(rng) -> Made:
    X, y = load_wine(return_X_y=True)
    return fitted(make_pipeline(StandardScaler(), LogisticRegression()), X, y)


def counts(rng) -> Made:
    X = normals(rng, 400, 3)
    y = rng.poisson(np.exp(0.5 + 0.5 * X[:, 0] - 0.3 * X[:, 1]))
    return fitted(PoissonRegressor(alpha=1e-4, max_iter=500), X, y)


def clumped_counts_right(rng) -> Made:
    X = normals(rng, 400, 3)
    mean = np.exp(0.5 + 0.6 * X[:, 0])
    y = rng.negative_binomial(2, 2 / (2 + mean))
    return fitted(lk.NegativeBinomialRegressor(), X, y)


def tested_line(rng) -> Made:
    return halves(*line(rng, 600), lk.LinearRegression())


def tested_classes(rng) -> Made:
    X = rng.uniform(-2, 2, size=(1000, 3))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.4 * rng.normal(size=1000) > 1).astype(
        int
    )
    return halves(X, y, lk.RandomForestClassifier(100))


def harmless_groups(rng) -> Made:
    X, y = line(rng, 300)
    return fitted(Ridge(), X, y, groups=np.repeat(np.arange(60), 5))


def harmless_time(rng) -> Made:
    X, y = wave(rng)
    model = RandomForestRegressor(50, random_state=0)
    return fitted(model, X, y, time=np.arange(len(y)))


def inner_grid(rng) -> Made:
    X, y = line(rng, 80, 30, 2.0)
    grid = {"alpha": np.geomspace(1e-3, 1e4, 15).tolist()}
    return fitted(GridSearchCV(Ridge(), grid), X, y)


def words(rng) -> Made:
    n = 500
    frame = pd.DataFrame(
        {
            "town": rng.choice(["Bern", "Chur", "Genf", "Olten"], n),
            "rooms": rng.integers(1, 7, n),
            "age": rng.gamma(2, 15, n),
        }
    )
    price = {"Bern": 3.0, "Chur": 2.0, "Genf": 4.0, "Olten": 1.5}
    y = frame["town"].map(price) + 0.5 * frame["rooms"] - 0.02 * frame["age"]
    model = make_pipeline(lk.preprocess.TableEncoder(), lk.LinearRegression())
    return fitted(model, frame, y.to_numpy() + 0.4 * rng.normal(size=n))


def many_classes(rng) -> Made:
    centres = 1.2 * rng.normal(size=(4, 4))
    y = rng.integers(0, 4, 500)
    return fitted(
        lk.LogisticRegression(alpha=1.0), centres[y] + rng.normal(size=(500, 4)), y
    )


def neighbours(rng) -> Made:
    X = rng.uniform(-1, 1, size=(600, 2))
    y = (np.hypot(*X.T) + 0.1 * rng.normal(size=600) > 0.7).astype(int)
    return fitted(lk.KNeighborsClassifier(), X, y)


def pruned_tree(rng) -> Made:
    X = rng.uniform(size=(600, 3))
    p = 0.5 + 0.45 * np.sin(3 * X[:, 0]) * np.cos(6 * X[:, 1])
    y = (rng.random(600) < p).astype(int)
    return fitted(DecisionTreeClassifier(min_samples_leaf=40, random_state=0), X, y)


def network(rng) -> Made:
    X, y = wave(rng, 500)
    return fitted(lk.MLPRegressor((32,)), X, y)


CLEAN = (
    Case("line", "", plain_line),
    Case("ridge", "", plain_ridge),
    Case("classes", "", plain_classes),
    Case("classes, scikit-learn", "", classes_scikit),
    Case("forest of waves", "", forest_of_waves),
    Case("boosted waves", "", boosted_waves),
    Case("diabetes, ridge", "", diabetes_ridge),
    Case("wine, logistic", "", wine_classes),
    Case("counts", "", counts),
    Case("clumped counts, negative binomial", "", clumped_counts_right),
    Case("line with test rows", "", tested_line),
    Case("classes with test rows", "", tested_classes),
    Case("groups that do not matter", "", harmless_groups),
    Case("times that do not matter", "", harmless_time),
    Case("grid wide enough", "", inner_grid),
    Case("words", "", words),
    Case("four classes", "", many_classes),
    Case("neighbours", "", neighbours),
    Case("pruned tree", "", pruned_tree),
    Case("network", "", network),
)
