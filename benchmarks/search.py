"""Grid search: 5 folds x 20 settings of ridge, logistic regression and a network.

The peer is scikit-learn's `GridSearchCV`; both refit the best setting to all rows. Scores
of ridge and logistic regression are the same numbers, and so is the setting that wins.

The networks have the same layers, rates, batches, epochs and distribution of first weights,
but other draws of them. From one seed to another a mean score over folds varies by 0.005 to
0.007 nats on either side; the means of six seeds differed by 0.000 to 0.004, of which 0.003
to 0.004 is their standard error. scikit-learn divides the penalty of a network by the rows
of a batch, `likely` by those of the fit: its strengths are larger by as much.
"""

import warnings

import numpy as np

from benchmarks.harness import Case, close
from benchmarks.spine import classes, regression

ALPHAS = np.logspace(-3, 3, 20)
STRENGTHS = np.logspace(-2, 3, 20)
PENALTIES = np.logspace(-5, 1, 20)
NETWORK = {"solver": "adam", "max_iter": 50, "batch_size": 200, "random_state": 0}
HIDDEN = (50,)
MAX_GAP = 0.02
"""Nats by which two trainings of the same network may differ in a mean over folds."""


def searched(search, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that are told when to stop
        found = search.fit(*data)
    scores = found.cv_results_["mean_test_score"]
    return {"scores": scores, "best": np.array(found.best_index_)}


def ridge_ours(data):
    import likely as lk

    return searched(lk.GridSearch(lk.Ridge(), {"alpha": ALPHAS}, scoring="r2"), data)


def ridge_peer(data):
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV

    return searched(GridSearchCV(Ridge(), {"alpha": ALPHAS}, scoring="r2"), data)


def logistic_ours(data):
    import likely as lk

    model = lk.LogisticRegression(tol=1e-6)
    return searched(lk.GridSearch(model, {"C": 1 / STRENGTHS}), data)


def logistic_peer(data):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    model = LogisticRegression(tol=1e-6, max_iter=500)
    grid = {"C": 1 / STRENGTHS}
    return searched(GridSearchCV(model, grid, scoring="neg_log_loss"), data)


def curved(n: int, d: int):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    signal = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n)
    return X, (signal > 0).astype(int)


def network_ours(data):
    import likely as lk

    model = lk.MLPClassifier(HIDDEN, early_stopping=False, init="xavier", **NETWORK)
    share = 0.8 * len(data[1]) / NETWORK["batch_size"]
    return searched(lk.GridSearch(model, {"alpha": share * PENALTIES}), data)


def network_peer(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier

    model = MLPClassifier(HIDDEN, tol=0.0, n_iter_no_change=10**6, **NETWORK)
    return searched(
        GridSearchCV(model, {"alpha": PENALTIES}, scoring="neg_log_loss"), data
    )


def same_winner(tolerance: float):
    """The same scores, and the same setting chosen."""

    def verdict(ours, peer):
        if ours["best"] != peer["best"]:
            return f"ours chose {ours['best']}, the peer {peer['best']}"
        return close("scores", tolerance)(ours, peer)

    return verdict


CASES = {
    "grid search, ridge, n=20,000, d=100": Case(
        lambda: regression(20_000, 100),
        ridge_ours,
        ridge_peer,
        same_winner(1e-9),
        at_least=50,
        repeats=3,
        shown="scores",
    ),
    "grid search, logistic, n=5,000, d=50": Case(
        lambda: classes(5_000, 50),
        logistic_ours,
        logistic_peer,
        same_winner(1e-6),
        at_least=3,
        repeats=3,
        shown="scores",
    ),
    "grid search, network, n=2,000, d=20": Case(
        lambda: curved(2_000, 20),
        network_ours,
        network_peer,
        close("scores", MAX_GAP),
        at_least=6,
        repeats=2,
        shown="scores",
    ),
}
