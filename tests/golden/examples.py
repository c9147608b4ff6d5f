"""Every public class on fixed rows: what it predicts, as plain arrays.

`make_predictions.py` wrote down what each class predicted when the file was made; the
tests fit again and compare, and load the files that were saved then.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

import likely as lk
from likely import preprocess as p
from likely.layers import Chain, Dense

N, D = 60, 4
FAST = {"max_iter": 8, "random_state": 0}


class Rows(NamedTuple):
    """What a class is fitted to, and what it is asked about."""

    X: Any
    y: Any
    new: Any


def rows(kind: str) -> Rows:
    """Rows with a signal: "numbers", "counts", "two" or "three" classes, "images", ..."""
    rng = np.random.default_rng(7)
    if kind in ("images", "image numbers", "masks"):
        X = rng.normal(size=(24, 6, 6, 1))
        bright = X.mean((1, 2, 3))
        y = {
            "images": (bright > 0).astype(int) + (bright > 0.15),
            "image numbers": bright,
            "masks": (X[..., 0] > 0.5).astype(int),
        }
        return Rows(X, y[kind], X[:5] + 0.1)
    if kind in ("words", "dates", "frame"):
        return rows_of_a_frame(kind, rng)
    X = rng.normal(size=(N, D))
    signal = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=N)
    y = {
        "numbers": signal,
        "several": np.column_stack([signal, X[:, 2] + 0.3 * signal]),
        "counts": rng.poisson(np.exp(0.4 * signal + 1)).astype(float),
        "positive": np.exp(0.5 * signal),
        "two": np.array(["no", "yes"])[(signal > 0).astype(int)],
        "three": np.array(["a", "b", "c"])[np.digitize(signal, [-0.7, 0.7])],
    }[kind]
    return Rows(X, y, X[:7] * 1.1 + 0.05)


def rows_of_a_frame(kind: str, rng: np.random.Generator) -> Rows:
    """Words, dates, or a table of both beside numbers."""
    import pandas as pd

    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, N), "D")
    frame = pd.DataFrame(
        {
            "town": rng.choice(["Aix", "Bari", "Cork"], N),
            "kind": rng.choice(["x", "y"], N),
            "size": rng.normal(size=N),
            "day": days,
        }
    )
    y = frame["size"].to_numpy() + (frame["town"] == "Aix")
    names = {"words": ["town", "kind"], "dates": ["day"], "frame": list(frame)}[kind]
    return Rows(frame[names], y.to_numpy(), frame[names].iloc[:7])


class Case(NamedTuple):
    make: Callable[[], Any]
    kind: str


def chain() -> Chain:
    keys = jax.random.split(jax.random.key(3), 2)
    return Chain(Dense(D, 5, key=keys[0]), jax.nn.tanh, Dense(5, 2, key=keys[1]))


NET = {"max_iter": 40, "alpha": 0.1}
TREES = {"n_estimators": 4}
CASES: dict[str, Case] = {
    "NullRegressor": Case(lk.NullRegressor, "numbers"),
    "NullRegressor several": Case(lk.NullRegressor, "several"),
    "NullClassifier": Case(lk.NullClassifier, "three"),
    "LinearRegression": Case(lk.LinearRegression, "numbers"),
    "LinearRegression several": Case(lk.LinearRegression, "several"),
    "LinearRegression spline": Case(
        lambda: lk.LinearRegression(basis=p.NaturalSpline(3)), "numbers"
    ),
    "Ridge": Case(lk.Ridge, "numbers"),
    "Ridge cv": Case(lambda: lk.Ridge("cv", alphas=[0.1, 1.0, 10.0]), "numbers"),
    "Lasso": Case(lambda: lk.Lasso(0.1), "numbers"),
    "ElasticNet": Case(lambda: lk.ElasticNet(0.1), "numbers"),
    "HuberRegressor": Case(lk.HuberRegressor, "numbers"),
    "LADRegressor": Case(lk.LADRegressor, "numbers"),
    "PoissonRegressor": Case(lk.PoissonRegressor, "counts"),
    "NegativeBinomialRegressor": Case(lk.NegativeBinomialRegressor, "counts"),
    "GammaRegressor": Case(lk.GammaRegressor, "positive"),
    "LogisticRegression": Case(lk.LogisticRegression, "three"),
    "LogisticRegression two": Case(lambda: lk.LogisticRegression(0.3), "two"),
    "Perceptron": Case(lk.Perceptron, "three"),
    "SplineRegressor": Case(lambda: lk.SplineRegressor(5), "numbers"),
    "RoundedRegression": Case(lk.RoundedRegression, "three"),
    "MLPRegressor": Case(lambda: lk.MLPRegressor((4,), **NET), "numbers"),
    "MLPRegressor adam": Case(
        lambda: lk.MLPRegressor((4,), solver="adam", n_members=2, **FAST), "numbers"
    ),
    "MLPClassifier": Case(lambda: lk.MLPClassifier((4,), **NET), "three"),
    "MLPClassifier two": Case(
        lambda: lk.MLPClassifier((4,), solver="adam", early_stopping=True, **FAST),
        "two",
    ),
    "CNNRegressor": Case(lambda: lk.CNNRegressor((2,), (3,), **FAST), "image numbers"),
    "CNNClassifier": Case(
        lambda: lk.CNNClassifier((2,), (3,), solver="adam", **FAST), "images"
    ),
    "ResNetClassifier": Case(lambda: lk.ResNetClassifier((2, 3), **FAST), "images"),
    "UNetSegmenter": Case(lambda: lk.UNetSegmenter((2, 3), **FAST), "masks"),
    "LinearSVC": Case(lambda: lk.LinearSVC(probability=True), "three"),
    "SVC": Case(lambda: lk.SVC(probability=True), "two"),
    "SVC signs": Case(lk.SVC, "three"),
    "SVR": Case(lambda: lk.SVR(probability=True), "numbers"),
    "SVR numbers": Case(lk.SVR, "numbers"),
    "KNeighborsClassifier": Case(lambda: lk.KNeighborsClassifier(3), "three"),
    "KNeighborsRegressor": Case(lambda: lk.KNeighborsRegressor(3), "numbers"),
    "GaussianNB": Case(lk.GaussianNB, "two"),
    "Nystroem": Case(lambda: lk.Nystroem(n_components=5), "numbers"),
    "FrozenFeatures": Case(lambda: lk.FrozenFeatures(chain()), "numbers"),
    "DecisionTreeClassifier": Case(
        lambda: lk.DecisionTreeClassifier(max_depth=3), "two"
    ),
    "DecisionTreeRegressor": Case(
        lambda: lk.DecisionTreeRegressor(max_depth=3), "numbers"
    ),
    "DecisionTreeRegressor several": Case(
        lambda: lk.DecisionTreeRegressor(max_depth=3), "several"
    ),
    "RandomForestClassifier": Case(lambda: lk.RandomForestClassifier(**TREES), "three"),
    "RandomForestRegressor": Case(lambda: lk.RandomForestRegressor(**TREES), "numbers"),
    "GradientBoostingClassifier": Case(
        lambda: lk.GradientBoostingClassifier(**TREES), "two"
    ),
    "GradientBoostingRegressor": Case(
        lambda: lk.GradientBoostingRegressor(**TREES), "numbers"
    ),
    "BaggingClassifier": Case(lambda: lk.BaggingClassifier(n_estimators=3), "three"),
    "BaggingRegressor": Case(lambda: lk.BaggingRegressor(n_estimators=3), "numbers"),
    "SmoothedClassifier": Case(
        lambda: lk.SmoothedClassifier(lk.KNeighborsClassifier(3), votes=3), "two"
    ),
    "LogTarget": Case(lambda: lk.LogTarget(lk.LinearRegression()), "positive"),
    "CountTarget": Case(
        lambda: lk.CountTarget(lk.LinearRegression(), family="poisson"), "counts"
    ),
    "Ensemble": Case(
        lambda: lk.Ensemble([lk.LinearRegression(), lk.KNeighborsRegressor(3)]),
        "numbers",
    ),
    "Stacking": Case(
        lambda: lk.Stacking([lk.GaussianNB(), lk.LogisticRegression(1.0)], cv=3),
        "three",
    ),
    "StandardScaler": Case(p.StandardScaler, "numbers"),
    "RobustScaler": Case(p.RobustScaler, "numbers"),
    "MinMaxScaler": Case(p.MinMaxScaler, "numbers"),
    "Imputer": Case(p.Imputer, "numbers"),
    "PolynomialBasis": Case(p.PolynomialBasis, "numbers"),
    "FourierBasis": Case(p.FourierBasis, "numbers"),
    "NaturalSpline": Case(p.NaturalSpline, "numbers"),
    "Interactions": Case(p.Interactions, "numbers"),
    "OneHotEncoder": Case(p.OneHotEncoder, "words"),
    "OrdinalEncoder": Case(p.OrdinalEncoder, "words"),
    "TargetEncoder": Case(p.TargetEncoder, "words"),
    "DateParts": Case(p.DateParts, "dates"),
    "TableEncoder": Case(p.TableEncoder, "frame"),
}


def fitted(name: str) -> Any:
    """The class of a case, fitted to its rows."""
    case = CASES[name]
    data = rows(case.kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.make().fit(data.X, data.y)


def predictions(model: Any, kind: str) -> dict[str, np.ndarray]:
    """Everything that a fitted object tells about new rows."""
    data, found = rows(kind), {}
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            found[method] = np.asarray(getattr(model, method)(data.new))
    if not getattr(model, "probability", True):
        return found
    if hasattr(model, "predict_interval") and "predict_proba" not in found:
        found["predict_interval"] = np.stack(model.predict_interval(data.new))
    if hasattr(model, "predict_set"):
        found["predict_set"] = np.asarray(model.predict_set(data.new))
    if hasattr(model, "nll"):
        found["nll"] = np.asarray(model.nll(data.X, data.y))
    return found
