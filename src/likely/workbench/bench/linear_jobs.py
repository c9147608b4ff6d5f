"""Jobs of linear models: one fit, a hundred fits, a search, intervals."""

from typing import Any

import numpy as np

from likely.workbench.bench.tables import Table
from likely.workbench.bench.turns import Answer

ALPHAS = np.logspace(-3, 3, 20)
COVERAGE = 0.9


def one(**numbers: Any) -> Answer:
    """Numbers as an answer."""
    return {name: np.asarray(value, float) for name, value in numbers.items()}


def r2(model: Any, data: Table) -> Answer:
    """The share of the variance of new rows that predictions explain."""
    residuals = data.y_new - model.predict(data.X_new)
    return one(score=1 - residuals.var() / data.y_new.var())


def log_loss(model: Any, data: Table) -> Answer:
    """Nats per new row."""
    p = model.predict_proba(data.X_new)
    codes = np.searchsorted(np.unique(data.y), data.y_new)
    return one(score=-np.log(np.maximum(p[np.arange(len(p)), codes], 1e-12)).mean())


def ridge_ours(data: Table) -> Answer:
    """Fit ridge regression with `likely`."""
    import likely as lk

    return r2(lk.Ridge(alpha=1.0).fit(data.X, data.y), data)


def ridge_sklearn(data: Table) -> Answer:
    """Fit ridge regression with scikit-learn."""
    from sklearn.linear_model import Ridge

    return r2(Ridge(alpha=1.0).fit(data.X, data.y), data)


def logistic_ours(data: Table) -> Answer:
    """Fit logistic regression with `likely`."""
    import likely as lk

    model = lk.LogisticRegression(alpha=1.0, tol=1e-6)
    return log_loss(model.fit(data.X, data.y), data)


def logistic_sklearn(data: Table) -> Answer:
    """Fit logistic regression with scikit-learn."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, tol=1e-6, max_iter=1000)
    return log_loss(model.fit(data.X, data.y), data)


def hundred_ours(data: Table) -> Answer:
    """Cross-validate twenty penalties of logistic regression with `likely`."""
    from sklearn.model_selection import StratifiedKFold

    import likely as lk

    found = lk.cross_validate(
        lk.LogisticRegression(tol=1e-6), data.X, data.y,
        grid={"alpha": ALPHAS}, cv=StratifiedKFold(5),
    )  # fmt: skip
    return one(score=np.mean(found.mean_nll))


def hundred_sklearn(data: Table) -> Answer:
    """Cross-validate twenty penalties of logistic regression with scikit-learn."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    scores = [
        cross_val_score(
            LogisticRegression(C=1 / alpha, tol=1e-6, max_iter=1000),
            data.X, data.y, scoring="neg_log_loss", cv=StratifiedKFold(5),
        )
        for alpha in ALPHAS
    ]  # fmt: skip
    return one(score=-np.mean(scores))


def deviance(mean: np.ndarray, y: np.ndarray) -> float:
    """The mean Poisson deviance of counts."""
    ratio = np.where(y > 0, y * np.log(np.maximum(y, 1) / mean), 0.0)
    return float(2 * np.mean(ratio - y + mean))


def poisson_ours(data: Table) -> Answer:
    """Fit Poisson regression with `likely`."""
    import likely as lk

    model = lk.PoissonRegressor(alpha=0.0).fit(data.X, data.y)
    return one(score=deviance(model.predict(data.X_new), data.y_new))


def poisson_sklearn(data: Table) -> Answer:
    """Fit Poisson regression with scikit-learn."""
    from sklearn.linear_model import PoissonRegressor

    model = PoissonRegressor(alpha=0.0, max_iter=1000).fit(data.X, data.y)
    return one(score=deviance(model.predict(data.X_new), data.y_new))


def glm_ours(data: Table) -> Answer:
    """Fit Poisson regression and make its summary with `likely`."""
    import likely as lk

    model = lk.PoissonRegressor(alpha=0.0).fit(data.X, data.y)
    first = model.summary().standard_errors[0]
    mean = model.predict(data.X_new)
    return one(score=deviance(mean, data.y_new), std_error=first)


def glm_statsmodels(data: Table) -> Answer:
    """Fit Poisson regression and make its summary with statsmodels."""
    import statsmodels.api as sm

    X, X_new = sm.add_constant(data.X), sm.add_constant(data.X_new)
    found = sm.GLM(data.y, X, family=sm.families.Poisson()).fit()
    found.summary()
    score = deviance(found.predict(X_new), data.y_new)
    return one(score=score, std_error=found.bse[1])


def search_ours(data: Table) -> Answer:
    """Search the penalty of ridge regression with `likely`."""
    import likely as lk

    search = lk.GridSearch(lk.Ridge(), {"alpha": ALPHAS}, scoring="r2")
    return one(score=search.fit(data.X, data.y).best_score_)


def search_sklearn(data: Table) -> Answer:
    """Search the penalty of ridge regression with scikit-learn."""
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(Ridge(), {"alpha": ALPHAS}, scoring="r2", cv=5)
    return one(score=search.fit(data.X, data.y).best_score_)


def conformal_ours(data: Table) -> Answer:
    """Make conformal intervals around ridge regression with `likely`."""
    from sklearn.model_selection import KFold

    import likely as lk

    model = lk.ConformalRegressor(lk.Ridge(1.0), method="cross", cv=KFold(20))
    low, high = model.fit(data.X, data.y).predict_interval(data.X_new, COVERAGE)
    return _covered(low, high, data)


def conformal_sklearn(data: Table) -> Answer:
    """CV+ as its authors wrote it, with scikit-learn's models."""
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold

    lower, upper = [], []
    for train, test in KFold(20).split(data.X):
        model = Ridge(alpha=1.0).fit(data.X[train], data.y[train])
        errors = np.abs(data.y[test] - model.predict(data.X[test]))
        means = model.predict(data.X_new)[:, None]
        lower.append(means - errors)
        upper.append(means + errors)
    L, U = np.concatenate(lower, axis=1), np.concatenate(upper, axis=1)
    n = len(data.y)
    k = min(n, int(np.ceil(COVERAGE * (n + 1))))
    low = np.partition(L, n - k, axis=1)[:, n - k]
    high = np.partition(U, k - 1, axis=1)[:, k - 1]
    return _covered(low, high, data)


def _covered(low: np.ndarray, high: np.ndarray, data: Table) -> Answer:
    inside = (low <= data.y_new) & (data.y_new <= high)
    return one(score=inside.mean(), width=np.mean(high - low))
