"""A search with a journal, to be killed: python search_program.py JOURNAL KIND."""

import json
import sys
import time

import numpy as np
from scipy import stats
from sklearn import neighbors

import likely as lk

rng = np.random.default_rng(0)
N = 20_000 if sys.argv[2:] == ["programs"] else 120
X = rng.normal(size=(N, 30))
Y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=N)


class Slow(neighbors.KNeighborsRegressor):
    """A regressor that takes its time."""

    def fit(self, X, y):
        time.sleep(0.02)
        return super().fit(X, y)


def search(kind: str):
    """A random search of single trials, halving, or a grid of programs."""
    space = {"n_neighbors": stats.randint(1, 40), "weights": ["uniform", "distance"]}
    if kind == "random":
        return lk.RandomSearch(Slow(), space, n_iter=30, scoring="r2", cv=3)
    if kind == "halving":
        return lk.SuccessiveHalving(
            Slow(), space, n_candidates=18, scoring="r2", cv=3, min_resources=13
        )
    alphas = np.logspace(-3, 3, 300)
    return lk.GridSearch(lk.Ridge(), {"alpha": alphas, "fit_intercept": [True, False]})


if __name__ == "__main__":
    found = search(sys.argv[2]).fit(X, Y, journal=sys.argv[1])
    print(json.dumps([found.best_params_, found.best_score_]))
