import warnings

import numpy as np
import pytest
from sklearn import datasets, ensemble

import likely as lk
from likely import families
from likely.core import InputError, float64
from likely.models.trees import boosted
from likely.models.trees.boosting import _automatic, derivatives_of

SMALL = {"n_estimators": 20, "min_samples_leaf": 5, "max_leaf_nodes": 8}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 60, size=(600, 4)) / 10
    return X, X[:, 0] + np.sin(X[:, 1]) * X[:, 2] + rng.normal(size=600)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_trees_equal_those_of_scikit_learn(classes, table):
    """The same bins, gains, leaves and start: the same predictions."""
    X, y = table
    settings = {"min_samples_leaf": 10, "max_leaf_nodes": 6}
    other = {"max_iter": 10, "early_stopping": False, **settings}
    if not classes:
        ours = lk.GradientBoostingRegressor(n_estimators=10, **settings).fit(X, y)
        peer = ensemble.HistGradientBoostingRegressor(**other).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=2e-5)
        return
    y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    ours = lk.GradientBoostingClassifier(n_estimators=10, **settings).fit(X, y)
    if classes > 2:  # all logits move at once, so each step is (c − 1)/c of Newton's
        other["learning_rate"] = 0.1 * (classes - 1) / classes
    peer = ensemble.HistGradientBoostingClassifier(**other).fit(X, y)
    np.testing.assert_allclose(
        ours.votes(X), peer.predict_proba(X), rtol=2e-4, atol=1e-6
    )
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


@pytest.mark.parametrize(
    ("family", "second"),
    [
        (families.Normal(1.0), True),
        (families.Normal(), False),
        (families.Bernoulli(), True),
        (families.Categorical(3), False),
        (families.Poisson(), False),
    ],
    ids=str,
)
def test_closed_forms_are_the_derivatives_of_the_family(family, second, rng):
    eta = rng.normal(size=(16, family.n_eta))
    y = {
        "Bernoulli": rng.integers(0, 2, 16),
        "Categorical": rng.integers(0, 3, 16),
        "Poisson": rng.poisson(2.0, 16),
    }.get(type(family).__name__, rng.normal(size=16)) * 1.0
    g, h = derivatives_of(family, y)(eta)
    with float64():
        exact, _ = _automatic(family, eta, y)
    np.testing.assert_allclose(g.T, exact, atol=1e-12)
    assert (h > 0).all()
    if second:
        step = 1e-5
        for j in range(family.n_eta):
            moved = eta.copy()
            moved[:, j] += step
            rise = derivatives_of(family, y)(moved)[0][j] - g[j]
            np.testing.assert_allclose(h[j], rise / step, atol=1e-4)


def test_fisher_information_of_a_normal_is_the_mean_curvature(rng):
    """h of log σ is 2, the mean of the second derivative 2z²."""
    y = rng.normal(size=100_000)
    g, h = derivatives_of(families.Normal(), y)(np.zeros((len(y), 2)))
    np.testing.assert_allclose(h[1], 2.0)
    np.testing.assert_allclose((g[1] ** 2).mean(), 2.0, rtol=0.03)


FAMILIES = {
    "poisson": (families.Poisson(), lambda rng, m: rng.poisson(m)),
    "gamma": (families.Gamma(), lambda rng, m: rng.gamma(2.0, m / 2)),
    "negative binomial": (
        families.NegativeBinomial(),
        lambda rng, m: rng.poisson(rng.gamma(2.0, m / 2)),
    ),
    "laplace": (families.Laplace(), lambda rng, m: rng.laplace(m)),
}


@pytest.mark.parametrize(
    "name",
    [
        "poisson",
        pytest.param("gamma", marks=pytest.mark.slow),
        pytest.param("negative binomial", marks=pytest.mark.slow),
        "laplace",
    ],
)
def test_any_family_is_boosted(name, rng):
    family, draw = FAMILIES[name]
    X = rng.normal(size=(1_000, 3))
    mean = np.exp(1 + 0.8 * np.sign(X[:, 0]))
    y = draw(rng, mean) * 1.0
    model = lk.GradientBoostingRegressor(family, **SMALL).fit(X, y)
    null = families.Predictive(family, np.tile(model.trees_.start, (len(y), 1)))
    assert model.nll(X, y) < -null.log_prob(y).mean() - 0.1
    corner = [[2.0, 0, 0], [-2.0, 0, 0]]
    np.testing.assert_allclose(
        model.predict(corner), np.exp([1.8, 0.2]), rtol=0.35, atol=0.3
    )
    assert (np.diff(model.history_["loss"]) < 1e-3).all()


def test_a_modelled_scale_is_recovered(rng):
    X = rng.uniform(-1, 1, size=(3_000, 2))
    sigma = np.where(X[:, 0] > 0, 2.0, 0.5)
    y = X[:, 1] + sigma * rng.normal(size=3_000)
    model = lk.GradientBoostingRegressor(
        families.Normal(), n_estimators=60, max_leaf_nodes=4
    ).fit(X, y)
    scale = model.predict_dist([[0.5, 0.0], [-0.5, 0.0]]).std
    np.testing.assert_allclose(scale, [2.0, 0.5], rtol=0.15)
    low, high = model.predict_interval(X, coverage=0.8)
    assert abs(((low <= y) & (y <= high)).mean() - 0.8) < 0.04


def test_early_stopping_keeps_the_best_round(rng):
    X = rng.normal(size=(400, 5))
    y = X[:, 0] + rng.normal(size=400)
    settings = {"n_estimators": 200, "min_samples_leaf": 3, "n_iter_no_change": 5}
    model = lk.GradientBoostingRegressor(**settings)
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    losses = model.history_["val_loss"]
    assert model.n_estimators_ == np.argmin(losses) + 1 < len(losses) < 200
    assert len(model.trees_) == model.n_estimators_
    stopped = lk.GradientBoostingRegressor(early_stopping=True, **settings).fit(X, y)
    assert stopped.n_estimators_ < 200
    r = y[300:] - model.predict(X[300:])
    np.testing.assert_allclose(
        model.predict_dist(X[:1]).std, np.sqrt(np.mean(r * r)), rtol=1e-9
    )


def test_monotone_constraints_hold(rng):
    X = rng.uniform(-1, 1, size=(800, 3))
    y = X[:, 0] + 0.5 * np.sin(9 * X[:, 0]) - X[:, 1] + 0.3 * rng.normal(size=800)
    grid = np.linspace(-1, 1, 101)
    rows = np.repeat(rng.uniform(-1, 1, size=(20, 3)), 101, axis=0)
    free = lk.GradientBoostingRegressor(**SMALL).fit(X, y)
    bound = lk.GradientBoostingRegressor(monotone_constraints=[1, -1, 0], **SMALL)
    bound.fit(X, y)
    for column, sign in ((0, 1), (1, -1)):
        moved = rows.copy()
        moved[:, column] = np.tile(grid, 20)
        steps = np.diff(bound.predict(moved).reshape(20, 101), axis=1)
        assert (sign * steps >= -1e-12).all()
    moved = rows.copy()
    moved[:, 0] = np.tile(grid, 20)
    assert (np.diff(free.predict(moved).reshape(20, 101), axis=1) < -1e-6).any()
    assert bound.score(X, y) > 0.5


def test_missing_and_categories(rng):
    n = 600
    X = np.column_stack([rng.integers(0, 12, n), rng.normal(size=n)]).astype(float)
    effect = rng.normal(size=12) * 3
    y = effect[X[:, 0].astype(int)] + np.where(X[:, 1] > 0.5, 2.0, 0.0)
    X[X[:, 1] > 1.0, 1] = np.nan
    model = lk.GradientBoostingRegressor(
        n_estimators=100, min_samples_leaf=5, categorical_features=[0]
    ).fit(X, y)
    assert model.score(X, y) > 0.98
    assert np.isfinite(model.predict([[99.0, np.nan]])).all()


def test_weights_are_repetitions_and_garbage_is_absent(table):
    X, y = table
    w = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    dirty = np.where(w[:, None] == 0, 1e300, X)
    garbage = np.where(w == 0, np.nan, y)
    for family in (None, families.Normal()):
        model = lk.GradientBoostingRegressor(family, **SMALL)
        weighted = model.fit(X, y, w).predict(X)
        np.testing.assert_array_equal(model.fit(dirty, garbage, w).predict(X), weighted)
        repeated = model.fit(X[rows], y[rows]).predict(X)
        np.testing.assert_allclose(repeated, weighted, rtol=1e-9)


def test_class_weights_are_row_weights(rng):
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + rng.normal(size=300) > 1, "yes", "no")
    w = np.where(y == "yes", 3.0, 1.0)
    one = lk.GradientBoostingClassifier(class_weight={"yes": 3.0}, **SMALL).fit(X, y)
    two = lk.GradientBoostingClassifier(**SMALL).fit(X, y, w)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    balanced = lk.GradientBoostingClassifier(class_weight="balanced", **SMALL)
    balanced.fit(X, y)
    start = balanced.trees_.start
    np.testing.assert_allclose(start, 0.0, atol=1e-12)  # both classes weigh the same
    assert set(one.predict(X)) == {"yes", "no"}


def test_samples_of_rows_and_columns(table):
    X, y = table
    settings = {"subsample": 0.5, "max_features": 0.5, **SMALL}
    one = lk.GradientBoostingRegressor(random_state=1, **settings).fit(X, y)
    same = lk.GradientBoostingRegressor(random_state=1, **settings).fit(X, y)
    other = lk.GradientBoostingRegressor(random_state=2, **settings).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), same.predict(X))
    assert (one.predict(X) != other.predict(X)).any()
    used = [set(one.trees_.tree(t).weight[:1]) for t in range(3)]
    assert all(200 < next(iter(weight)) < 400 for weight in used)
    assert one.score(X, y) > 0.6


def test_callbacks_and_progress(table, capsys):
    X, y = table
    seen = []

    def stop(now):
        seen.append(now["loss"])
        return now["round"] == 4

    model = lk.GradientBoostingRegressor(verbose=True, **SMALL)
    model.fit(X, y, callbacks=[stop])
    assert len(seen) == model.n_estimators_ == 4
    assert "4/20" in capsys.readouterr().err


def test_a_callback_ends_the_fit_by_true_alone(table):
    X, y = table
    for answer, rounds in ((0.5, 20), (None, 20), (True, 1), ("stop", 1)):
        model = lk.GradientBoostingRegressor(**SMALL)
        model.fit(X, y, callbacks=lambda numbers, answer=answer: answer)
        assert model.n_estimators_ == rounds
    both = lk.GradientBoostingRegressor(**SMALL)
    both.fit(X, np.c_[y, -y], callbacks=lambda numbers: numbers["round"] == 3)
    assert both.n_estimators_.tolist() == [3, 3]


def test_digits_are_read():
    X, y = datasets.load_digits(return_X_y=True)
    model = lk.GradientBoostingClassifier(n_estimators=15, max_leaf_nodes=8)
    model.fit(X[:1200], y[:1200])
    assert model.score(X[1200:], y[1200:]) > 0.85


def test_bad_settings_get_sentences(table):
    X, y = table
    for settings, words in (
        ({"family": "normal"}, "family is 'normal'"),
        ({"subsample": 0.0}, "subsample is 0.0"),
        ({"learning_rate": -1.0}, "learning_rate is -1.0"),
        ({"monotone_constraints": [1]}, "monotone_constraints is"),
    ):
        with pytest.raises(InputError, match=words):
            lk.GradientBoostingRegressor(**settings).fit(X, y)
    with pytest.raises(InputError, match="needs counts"):
        lk.GradientBoostingRegressor(families.Poisson()).fit(X, y)
    with (
        pytest.raises(InputError, match="y_val has the class 'a'"),
        warnings.catch_warnings(),
    ):
        lk.GradientBoostingClassifier().fit(X, y > 3, X_val=X, y_val=["a"] * len(y))


def test_one_word_a_row_is_as_good_as_two(monkeypatch, rng):
    """Squared error on many rows of weight 1, with absent, missing and sampled ones."""
    X = rng.normal(size=(8_300, 6))
    X[::7, 1] = np.nan
    y = X[:, 0] + X[:, 2] ** 2 + rng.normal(size=8_300)
    w = (np.arange(8_300) % 100 > 0).astype(float)
    predictions = []
    for many in (8_000, 10**9):
        monkeypatch.setattr(boosted, "MIN_ONE_WORD_ROWS", many)
        model = lk.GradientBoostingRegressor(n_estimators=8, subsample=0.8)
        predictions.append(model.fit(X, y, sample_weight=w).predict(X[:500]))
    np.testing.assert_allclose(*predictions, rtol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_loss_in_the_history_is_that_of_the_rows(rng, classes):
    X = rng.normal(size=(300, 3))
    y = rng.integers(0, classes, 300)
    model = lk.GradientBoostingClassifier(n_estimators=4).fit(X, y)
    nll = -np.log(model.votes(X)[np.arange(300), y]).mean()
    np.testing.assert_allclose(model.history_["loss"][-1], nll, rtol=1e-10)


@pytest.mark.parametrize(
    "family",
    [
        families.AsymmetricLaplace(0.3),
        pytest.param(families.Laplace(), marks=pytest.mark.slow),
        pytest.param(families.Huber(), marks=pytest.mark.slow),
    ],
    ids=lambda family: type(family).__name__,
)
def test_a_location_moves_with_the_unit_of_y(rng, family):
    """Its second derivatives have the unit 1/y², so no limit may be in nats."""
    X = rng.uniform(-2, 2, size=(200, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=200)
    model = lk.GradientBoostingRegressor(family, n_estimators=10)
    small = model.fit(X, y).predict_dist(X).quantile(0.5)
    large = model.fit(X, 1e4 * y + 1e5).predict_dist(X).quantile(0.5)
    assert np.abs((large - 1e5) / 1e4 - small).max() < 0.02  # equal gains tie
