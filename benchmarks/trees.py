"""Forests and boosting against scikit-learn and LightGBM, both sides with two threads.

`make bench` compares times at equal accuracy: an answer counts when its test error is not
worse than the peer's by more than the noise of such a comparison. Times include the
quantile bins. The accuracy itself is judged by `python -m benchmarks.tree_accuracy`.
"""

import time

import numpy as np

from benchmarks.harness import Case

N_JOBS = 2


def table(n: int, d: int):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 20_000, d))
    s = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.normal(size=len(X))
    return X[:n], s[:n], X[n:], s[n:]


def forest_ours(data):
    import likely as lk

    X, y, X_new, y_new = data
    model = lk.RandomForestClassifier(100, n_jobs=N_JOBS).fit(X, y > 0)
    return {"error": np.mean(model.predict(X_new[:2000]) != (y_new[:2000] > 0))}


def forest_peer(data):
    from sklearn.ensemble import RandomForestClassifier

    X, y, X_new, y_new = data
    model = RandomForestClassifier(100, n_jobs=N_JOBS, random_state=0).fit(X, y > 0)
    return {"error": np.mean(model.predict(X_new[:2000]) != (y_new[:2000] > 0))}


def numbers_ours(data):
    import likely as lk

    X, y, X_new, y_new = data
    model = lk.RandomForestRegressor(100, n_jobs=N_JOBS).fit(X, y)
    return {"error": np.mean((model.predict(X_new[:2000]) - y_new[:2000]) ** 2)}


def numbers_peer(data):
    from sklearn.ensemble import RandomForestRegressor

    X, y, X_new, y_new = data
    model = RandomForestRegressor(100, n_jobs=N_JOBS, random_state=0).fit(X, y)
    return {"error": np.mean((model.predict(X_new[:2000]) - y_new[:2000]) ** 2)}


def boost_ours(data):
    import likely as lk

    X, y, X_new, y_new = data
    model = lk.GradientBoostingRegressor(n_estimators=200, n_jobs=N_JOBS).fit(X, y)
    return {"error": np.mean((model.predict(X_new[:5000]) - y_new[:5000]) ** 2)}


def boost_hist(data):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y, X_new, y_new = data
    model = HistGradientBoostingRegressor(max_iter=200, early_stopping=False).fit(X, y)
    return {"error": np.mean((model.predict(X_new[:5000]) - y_new[:5000]) ** 2)}


def boost_light(data):
    from lightgbm import LGBMRegressor

    X, y, X_new, y_new = data
    model = LGBMRegressor(n_estimators=200, n_jobs=N_JOBS, verbose=-1).fit(X, y)
    return {"error": np.mean((model.predict(X_new[:5000]) - y_new[:5000]) ** 2)}


def classes_ours(data):
    import likely as lk

    X, y, X_new, y_new = data
    model = lk.GradientBoostingClassifier(n_estimators=200, n_jobs=N_JOBS)
    model.fit(X, y > 0)
    return {"error": np.mean(model.predict(X_new[:5000]) != (y_new[:5000] > 0))}


def classes_hist(data):
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y, X_new, y_new = data
    model = HistGradientBoostingClassifier(max_iter=200, early_stopping=False)
    model.fit(X, y > 0)
    return {"error": np.mean(model.predict(X_new[:5000]) != (y_new[:5000] > 0))}


def classes_light(data):
    from lightgbm import LGBMClassifier

    X, y, X_new, y_new = data
    model = LGBMClassifier(n_estimators=200, n_jobs=N_JOBS, verbose=-1).fit(X, y > 0)
    return {"error": np.mean(model.predict(X_new[:5000]) != (y_new[:5000] > 0))}


_FITTED: dict = {}


def predict_ours(data):
    import likely as lk

    X, y, _, _ = data
    if "ours" not in _FITTED:
        _FITTED["ours"] = lk.RandomForestClassifier(100, n_jobs=N_JOBS).fit(X, y > 0)
    p = _FITTED["ours"].predict_proba(_many())
    return {"error": np.mean((p[:2000, 1] > 0.5) != _truth()[:2000])}


def predict_peer(data):
    from sklearn.ensemble import RandomForestClassifier

    X, y, _, _ = data
    if "peer" not in _FITTED:
        model = RandomForestClassifier(100, n_jobs=N_JOBS, random_state=0)
        _FITTED["peer"] = model.fit(X, y > 0)
    p = _FITTED["peer"].predict_proba(_many())
    return {"error": np.mean((p[:2000, 1] > 0.5) != _truth()[:2000])}


def _many():
    if "X" not in _FITTED:
        _FITTED["X"] = np.random.default_rng(1).normal(size=(100_000, 20))
    return _FITTED["X"]


def _truth():
    X = _many()
    return X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] > 0


def single_ours(data):
    """A thousand single rows; the limit asked for is 100 microseconds each."""
    import likely as lk

    X, y, X_new, _ = data
    if "single" not in _FITTED:
        _FITTED["single"] = lk.RandomForestClassifier(100).fit(X, y > 0)
    model, rows = _FITTED["single"], [X_new[i : i + 1].copy() for i in range(1000)]
    for row in rows:
        model.predict(row)
    return {"error": np.zeros(())}


def single_limit(data):
    time.sleep(0.1)  # a thousand times 100 microseconds
    return {"error": np.zeros(())}


def as_good(allowed: float):
    """Ours is not worse by more than this share of the peer's error."""

    def verdict(ours, peer):
        a, b = float(ours["error"]), float(peer["error"])
        return None if a <= b * (1 + allowed) else f"error {a:.4f} against {b:.4f}"

    return verdict


CASES = {
    "forest of classes, 100 trees, n=20,000, d=20": Case(
        lambda: table(20_000, 20), forest_ours, forest_peer, as_good(0.05), 3, 3
    ),
    "forest of numbers, 100 trees, n=20,000, d=20": Case(
        lambda: table(20_000, 20), numbers_ours, numbers_peer, as_good(0.05), 3, 1
    ),
    "boosting, 200 rounds, n=100,000, d=30, scikit-learn": Case(
        lambda: table(100_000, 30), boost_ours, boost_hist, as_good(0.04), 1, 3
    ),
    "boosting, 200 rounds, n=100,000, d=30, LightGBM": Case(
        lambda: table(100_000, 30), boost_ours, boost_light, as_good(0.04), 0.7, 3
    ),
    "boosted classes, n=100,000, d=30, scikit-learn": Case(
        lambda: table(100_000, 30), classes_ours, classes_hist, as_good(0.04), 1, 3
    ),
    "boosted classes, n=100,000, d=30, LightGBM": Case(
        lambda: table(100_000, 30), classes_ours, classes_light, as_good(0.04), 0.7, 3
    ),
    "forest, predict 100,000 rows": Case(
        lambda: table(20_000, 20), predict_ours, predict_peer, as_good(0.05), 2, 5
    ),
    "forest, a thousand single rows within 0.1 s": Case(
        lambda: table(20_000, 20), single_ours, single_limit, as_good(0.0), 1, 5
    ),
}
