"""Every predictor, as it comes, is not fooled: its held-out nats are finite and sensible.

Fresh rows may cost at most a margin more than under the distribution of y that does not
look at x; where there is something to learn they have to cost less.
"""

import numpy as np
import pytest
from registries.estimators import ESTIMATORS, parameters

import likely as lk

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N, FRESH, D = 60, 400, 4
TRAINED = ("network", "segmentation")
"""Words in the names of entries that train by steps: their defaults take too long here."""
CHEAP = {
    name: entry
    for name, entry in ESTIMATORS.items()
    if entry.distribution
    and entry.kind in ("numbers", "classes", "positive", "counts")
    and not any(word in name for word in TRAINED)
}
VOTING = ("tree", "forest", "bag", "boost", "neighbours", "naive bayes", "votes")
"""Words in the names of entries that are made of single rows: leaves, neighbours, votes."""
OF_ROWS = [name for name in CHEAP if any(word in name for word in VOTING)]
CLASSES = [name for name in CHEAP if CHEAP[name].kind == "classes"]
LONG = ["boosted classes"]
COMPILED = [name for name in CHEAP if name not in OF_ROWS]


def as_it_comes(name):
    """The class at its default settings; wrappers as the registry makes them."""
    made = CHEAP[name].make()
    needed = {"estimator", "estimators", "regressor", "classifier"}
    if needed & set(made.get_params(deep=False)):
        return made
    kept = {k: v for k, v in made.get_params().items() if k == "probability"}
    return type(made)(**kept)


def inputs(rng, n=N):
    return rng.normal(size=(n, D)), rng.normal(size=(FRESH, D))


def draw(rng, kind, n, classes=(0.5, 0.5)):
    """Targets that do not depend on anything, and nats of fresh ones under the truth."""
    if kind == "classes":
        p = np.array(classes)
        return rng.choice(len(p), n, p=p), float(-(p * np.log(p)).sum())
    if kind == "counts":
        y = rng.poisson(4.0, n).astype(float)
        return y, 2.1
    if kind == "positive":
        return rng.gamma(3.0, size=n), 1.8
    return rng.normal(size=n), 1.42


def fresh_nats(name, X, y, X_new, y_new):
    model = as_it_comes(name).fit(X, y)
    log_prob = np.asarray(model.predict_dist(X_new).log_prob(y_new))
    assert np.isfinite(log_prob).all()
    return float(-log_prob.mean())


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1)], ids=str)
@pytest.mark.parametrize("name", parameters(CHEAP, slow=COMPILED))
def test_noise_costs_little_more_than_not_looking(name, shares):
    kind = CHEAP[name].kind
    if kind != "classes" and shares[0] != 0.5:
        pytest.skip("numbers have no classes")
    rng = np.random.default_rng(0)
    X, X_new = inputs(rng)
    X[:, 1] = X_new[:, 1] = 3.0  # a constant column
    y, _ = draw(rng, kind, N, shares)
    y_new, nats = draw(rng, kind, FRESH, shares)
    assert (
        fresh_nats(name, X, y, X_new, y_new) < nats + 0.5
    )  # 0.35 is what a mean of one row costs


@pytest.mark.parametrize("name", parameters(CHEAP, slow=[*COMPILED, *LONG]))
def test_rows_that_are_there_twice_are_not_taken_for_new(name):
    kind, rng = CHEAP[name].kind, np.random.default_rng(1)
    X, X_new = inputs(rng)
    y, _ = draw(rng, kind, N // 2)
    y_new, nats = draw(rng, kind, FRESH)
    X, y = np.repeat(X[: N // 2], 2, axis=0), np.repeat(y, 2)
    assert fresh_nats(name, X, y, X_new, y_new) < nats + 0.75


@pytest.mark.parametrize("name", parameters(CLASSES, slow=[*COMPILED, *LONG]))
def test_classes_far_apart_are_known_and_a_lone_row_is_survived(name):
    rng = np.random.default_rng(2)
    X, X_new = inputs(rng)
    y, y_new = np.arange(N) % 3, np.arange(FRESH) % 3
    X[:, 0] += 12.0 * y
    X_new[:, 0] += 12.0 * y_new
    apart = fresh_nats(name, X, y, X_new, y_new)
    learns = "null" not in name
    assert apart < (0.35 if learns else np.log(3) + 0.01)
    y[0] = 7  # a class with one row
    some = y_new.copy()
    some[0] = 7
    lone = fresh_nats(name, X, y, X_new, some)
    assert lone < (0.6 if learns else np.log(3) + 0.2)


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("name", OF_ROWS)
def test_a_handful_of_rows_is_survived(name, n):
    kind, rng = CHEAP[name].kind, np.random.default_rng(3)
    least = getattr(as_it_comes(name), "n_neighbors", 1)
    if n < least:
        pytest.skip("fewer rows than neighbours")
    X, X_new = inputs(rng, n)
    y, y_new = draw(rng, kind, n)[0], draw(rng, kind, FRESH)
    if kind == "classes":
        y[:2] = 0, 1
    nats = fresh_nats(name, X[:, :1], y, X_new[:, :1], y_new[0])
    null = lk.NullClassifier() if kind == "classes" else lk.NullRegressor()
    not_looking = null.fit(X, y).nll(X_new, y_new[0])
    assert nats < max(not_looking, y_new[1]) + 1


NUMBERS = [name for name in OF_ROWS if CHEAP[name].kind == "numbers"]


@pytest.mark.parametrize("n", [100, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NUMBERS)
def test_intervals_hold_what_they_promise(name, n):
    """Over several tables, since the scale of one is known to a few per cent only."""
    rng, held = np.random.default_rng(4), []
    for _ in range(6):
        X = rng.uniform(-2, 2, size=(n + FRESH, 3))
        y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=len(X))
        below = as_it_comes(name).fit(X[:n], y[:n]).predict_dist(X[n:]).cdf(y[n:])
        held.append(np.mean((below > 0.05) & (below < 0.95)))
    assert 0.85 < np.mean(held) < 0.95


def test_the_law_is_about_the_library_as_it_comes():
    assert isinstance(as_it_comes("forest"), lk.RandomForestRegressor)
    assert as_it_comes("forest").n_estimators == 100
