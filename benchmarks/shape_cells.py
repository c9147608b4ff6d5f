"""The estimators of `benchmarks.shapes`, their peers in scikit-learn, and the data."""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

SHAPES = [
    (30, 2),
    (300, 10),
    (3_000, 30),
    (20_000, 40),
    (100_000, 200),
    (1_000, 2_000),
    (200, 5_000),
    (40, 20_000),
]
SPARSE_SHAPES = [(2_000, 5_000), (20_000, 2_000), (200, 20_000), (100_000, 200)]
DENSITY = 0.01


class Twin(NamedTuple):
    """An estimator, its peer with settings of the same meaning, and its kind of target."""

    ours: Callable[[], Any]
    peer: Callable[[], Any]
    target: str
    takes_sparse: bool = False


def _peer(path: str, **settings: Any) -> Callable[[], Any]:
    module, name = path.rsplit(".", 1)
    return lambda: getattr(importlib.import_module(f"sklearn.{module}"), name)(
        **settings
    )


def _ours(name: str, **settings: Any) -> Callable[[], Any]:
    def make() -> Any:
        import likely

        return getattr(likely, name)(**settings)

    return make


def _same(name: str, module: str, target: str, **settings: Any) -> Twin:
    """The same name and settings on both sides."""
    sparse = settings.pop("takes_sparse", False)
    peer = _peer(f"{module}.{name}", **settings)
    return Twin(_ours(name, **settings), peer, target, sparse)


_LINEAR = "linear_model"
TWINS: dict[str, Twin] = {
    "LinearRegression": _same("LinearRegression", _LINEAR, "number", takes_sparse=True),
    "Ridge": _same("Ridge", _LINEAR, "number", takes_sparse=True),
    "Lasso": _same("Lasso", _LINEAR, "number", alpha=0.1, takes_sparse=True),
    "ElasticNet": _same("ElasticNet", _LINEAR, "number", alpha=0.1, takes_sparse=True),
    "HuberRegressor": _same("HuberRegressor", _LINEAR, "number"),
    "QuantileRegressor": Twin(
        _ours("QuantileRegressor"),
        _peer(f"{_LINEAR}.QuantileRegressor", alpha=0),
        "number",
    ),
    "LogisticRegression": Twin(
        _ours("LogisticRegression"),
        _peer(f"{_LINEAR}.LogisticRegression", C=np.inf, max_iter=1000),
        "two",
        True,
    ),
    "LogisticRegression(alpha=1)": Twin(
        _ours("LogisticRegression", alpha=1.0),
        _peer(f"{_LINEAR}.LogisticRegression", max_iter=1000),
        "two",
        True,
    ),
    "LogisticRegression, 5 classes": Twin(
        _ours("LogisticRegression", alpha=1.0),
        _peer(f"{_LINEAR}.LogisticRegression", max_iter=1000),
        "five",
        True,
    ),
    "PoissonRegressor": _same(
        "PoissonRegressor", _LINEAR, "count", alpha=0.01, takes_sparse=True
    ),
    "GammaRegressor": _same(
        "GammaRegressor", _LINEAR, "positive", alpha=0.01, takes_sparse=True
    ),
    "GaussianNB": _same("GaussianNB", "naive_bayes", "two"),
    "KNeighborsClassifier": _same(
        "KNeighborsClassifier", "neighbors", "two", takes_sparse=True
    ),
    "KNeighborsRegressor": _same(
        "KNeighborsRegressor", "neighbors", "number", takes_sparse=True
    ),
    "LinearSVC": _same("LinearSVC", "svm", "two", takes_sparse=True),
    "SVC": _same("SVC", "svm", "two"),
    "SVR": _same("SVR", "svm", "number"),
    "DecisionTreeClassifier": _same("DecisionTreeClassifier", "tree", "two"),
    "DecisionTreeRegressor": _same("DecisionTreeRegressor", "tree", "number"),
    "RandomForestClassifier": Twin(
        _ours("RandomForestClassifier"),
        _peer("ensemble.RandomForestClassifier", n_jobs=-1),
        "two",
    ),
    "RandomForestRegressor": Twin(
        _ours("RandomForestRegressor"),
        _peer("ensemble.RandomForestRegressor", n_jobs=-1, max_features=1 / 3),
        "number",
    ),
    "GradientBoostingClassifier": Twin(
        _ours("GradientBoostingClassifier"),
        _peer("ensemble.HistGradientBoostingClassifier"),
        "two",
    ),
    "GradientBoostingRegressor": Twin(
        _ours("GradientBoostingRegressor"),
        _peer("ensemble.HistGradientBoostingRegressor"),
        "number",
    ),
}


def cell_data(
    n: int, d: int, target: str, *, is_sparse: bool
) -> tuple[Any, np.ndarray]:
    """Rows and targets of a cell, the same on both sides; about ten columns matter."""
    rng = np.random.default_rng(0)
    if is_sparse:
        X: Any = sparse.random(n, d, density=DENSITY, format="csr", random_state=0)
    else:
        X = rng.normal(size=(n, d))
    b = np.zeros(d)
    b[rng.permutation(d)[:10]] = rng.normal(size=min(d, 10))
    z = np.asarray(X @ b)
    z = z / (z.std() or 1.0)
    if target == "two":
        return X, (rng.random(n) < 1 / (1 + np.exp(-2 * z))).astype(int)
    if target == "five":
        noisy = z + 0.5 * rng.normal(size=n)
        return X, np.digitize(noisy, np.quantile(noisy, [0.2, 0.4, 0.6, 0.8]))
    if target == "count":
        return X, rng.poisson(np.exp(0.5 * z)).astype(float)
    if target == "positive":
        return X, np.exp(0.5 * z) * rng.gamma(2.0, 0.5, size=n) + 1e-9
    return X, z + 0.5 * rng.normal(size=n)
