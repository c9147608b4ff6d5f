"""The penalised linear model of a run is not worse than the one without a penalty."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeCV

import likely as lk
from likely.evaluate import paired_difference
from likely.preprocess import TableEncoder
from likely.workbench.candidates import CANDIDATES
from likely.workbench.problem import Problem

FAMILIES = {
    "real": "normal",
    "positive": "lognormal",
    "count": "negative_binomial",
    "binary": "bernoulli",
    "classes": "categorical",
}
CLASSES = {"binary": 2, "classes": 4}
BUILD = {candidate.name: candidate.build for candidate in CANDIDATES}


def table(kind, levels, n, seed=0):
    """Rows sorted by a category with many levels of large effect, most of them rare."""
    rng = np.random.default_rng(seed)
    share = 1 / (3 + np.arange(levels))
    level = np.sort(rng.choice(levels, n, p=share / share.sum()))
    x = rng.normal(size=(n, 3))
    c = CLASSES.get(kind, 1)
    eta = 1.5 * rng.normal(size=(levels, c))[level] + x @ rng.normal(size=(3, c))
    y = eta[:, 0] + 0.5 * rng.normal(size=n)
    if kind == "positive":
        y = np.exp(y)
    elif kind == "count":
        y = rng.poisson(np.exp(np.clip(0.5 * eta[:, 0], -3, 3))).astype(float)
    elif kind == "binary":
        y = (rng.logistic(size=n) < eta[:, 0]).astype(int)
    elif kind == "classes":
        y = (eta + rng.gumbel(size=eta.shape)).argmax(1)
    names = {"level": [f"level {i}" for i in level]}
    frame = pd.DataFrame(names | {f"x{j}": x[:, j] for j in range(3)})
    out = rng.random(n) < 0.4
    encoder = TableEncoder(max_categories=None).fit(frame[~out])
    return (
        encoder.transform(frame[~out]),
        y[~out],
        encoder.transform(frame[out]),
        y[out],
    )


def losses(name, kind, X, y, new, new_y):
    problem = Problem(
        kind, FAMILIES[kind], len(X), X.shape[1], "quick", 0, (), CLASSES.get(kind, 0)
    )
    model = BUILD[name](problem).fit(X, y)
    return np.minimum(-model.predict_dist(new).log_prob(new_y), 30.0)


@pytest.mark.parametrize("levels", [10, 80])
@pytest.mark.parametrize(
    "kind",
    [
        kind
        if kind in ("real", "positive")
        else pytest.param(kind, marks=pytest.mark.slow)
        for kind in FAMILIES
    ],
)
@pytest.mark.filterwarnings("ignore::likely.estimators.SeparationWarning")
def test_it_is_not_worse_than_the_linear_model(kind, levels):
    rows = table(kind, levels, 600)
    ours, plain = (losses(name, kind, *rows) for name in ("penalised", "linear"))
    worse = paired_difference(ours, plain, np.ones(len(ours)))
    assert worse.value < max(2 * worse.error, 0.01)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_penalty_is_that_of_other_programs_on_sorted_rows(seed):
    X, y, new, new_y = table("real", 60, 500, seed)
    ours = lk.Ridge("cv").fit(X, y)
    peer = RidgeCV(np.geomspace(1e-4, 1e3, 40)).fit(X, y)
    error, least = (
        np.sqrt(np.mean((m.predict(new) - new_y) ** 2)) for m in (ours, peer)
    )
    assert error < 1.03 * least


def test_the_order_of_the_rows_hardly_matters_for_the_penalty():
    X, y, _, _ = table("real", 60, 500)
    order = np.random.default_rng(0).permutation(len(X))
    a, b = lk.Ridge("cv").fit(X, y), lk.Ridge("cv").fit(X[order], y[order])
    assert abs(np.log(a.alpha_ / b.alpha_)) < np.log(5)
