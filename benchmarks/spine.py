"""Ridge over alphas and folds, logistic regression, a hundred logistic fits."""

import numpy as np

from benchmarks.harness import Case, close

ALPHAS = np.logspace(-3, 3, 50)
STRENGTHS = np.logspace(-2, 3, 20)


def regression(n: int, d: int):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def classes(n: int, d: int):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    p = 1 / (1 + np.exp(-X @ (0.3 * rng.normal(size=d))))
    return X, (rng.random(n) < p).astype(int)


def ridge_ours(data):
    from sklearn.model_selection import KFold

    import likely as lk

    found = lk.cross_validate(lk.Ridge(), *data, grid={"alpha": ALPHAS}, cv=KFold(5))
    best = lk.Ridge(**found.best_params).fit(*data)
    return {"coef": best.coef_, "fold": found.phi.model.weight[25, 2, :, 0]}


def ridge_peer(data):
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV, KFold

    X, y = data
    search = GridSearchCV(
        Ridge(), {"alpha": ALPHAS}, cv=5, scoring="neg_mean_squared_error"
    )
    search.fit(X, y)
    rows, _ = list(KFold(5).split(X))[2]
    fold = Ridge(alpha=ALPHAS[25]).fit(X[rows], y[rows]).coef_
    return {"coef": search.best_estimator_.coef_, "fold": fold}


def gradient(X, y, p):
    return np.append((p - y) @ X, (p - y).sum()) / len(y)


def logistic_ours(data):
    import likely as lk

    model = lk.LogisticRegression(tol=1e-6).fit(*data)
    return {"coef": model.coef_, "p": model.predict_proba(data[0])[:, 1]}


def logistic_peer(data):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=np.inf, tol=1e-6, max_iter=1000).fit(*data)
    return {"coef": model.coef_, "p": model.predict_proba(data[0])[:, 1]}


def flat_gradient(ours, peer):
    data = classes(100_000, 100)
    for name, answer in (("ours", ours), ("peer", peer)):
        largest = np.abs(gradient(*data, answer["p"])).max()
        if largest > 1e-6:
            return f"the gradient of {name} is {largest:.1e}"
    return close("coef", 1e-4)(ours, peer)


def hundred_ours(data):
    from sklearn.model_selection import StratifiedKFold

    import likely as lk

    model, cv = lk.LogisticRegression(tol=1e-6), StratifiedKFold(5)
    found = lk.cross_validate(model, *data, grid={"alpha": STRENGTHS}, cv=cv)
    return {"coef": found.phi.model.weight[..., 0]}


def hundred_peer(data):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    X, y = data
    coef = [
        [
            LogisticRegression(C=1 / alpha, tol=1e-6, max_iter=500)
            .fit(X[rows], y[rows])
            .coef_[0]
            for rows, _ in StratifiedKFold(5).split(X, y)
        ]
        for alpha in STRENGTHS
    ]
    return {"coef": np.array(coef)}


def ridge_agrees(ours, peer):
    return close("coef", 1e-8)(ours, peer) or close("fold", 1e-8)(ours, peer)


CASES = {
    "ridge, 50 alphas x 5 folds, n=20,000, d=100": Case(
        lambda: regression(20_000, 100), ridge_ours, ridge_peer, ridge_agrees, 50, 3
    ),
    "logistic, n=100,000, d=100": Case(
        lambda: classes(100_000, 100), logistic_ours, logistic_peer, flat_gradient, 0.9
    ),
    "100 logistic fits, n=5,000, d=50": Case(
        lambda: classes(5_000, 50),
        hundred_ours,
        hundred_peer,
        close("coef", 1e-4),
        3,
    ),
}
