import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn import datasets, tree as peer

import likely as lk
from likely import families
from likely.core import InputError, float64
from likely.models.trees import tree_text

SETTINGS = (
    {},
    {"max_depth": 4},
    {"min_samples_leaf": 10},
    {"min_samples_split": 30},
    {"max_leaf_nodes": 12},
    {"min_impurity_decrease": 0.02},
    {"ccp_alpha": 0.02},
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, size=(400, 5)).astype(float)
    return X, X[:, 0] * 0.1 + np.sin(X[:, 1]) + rng.normal(size=400)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_squared_error_equals_scikit_learn(settings, table):
    X, y = table
    ours = lk.DecisionTreeRegressor(**settings).fit(X, y)
    theirs = peer.DecisionTreeRegressor(**settings, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-10)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    if settings:  # two rows apart can be parted by any feature
        np.testing.assert_allclose(
            ours.feature_importances_, theirs.feature_importances_, atol=1e-10
        )


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classes_equal_scikit_learn(criterion):
    X, y = datasets.load_iris(return_X_y=True)
    bits = np.log(2) if criterion == "entropy" else 1  # ours are nats, theirs bits
    for settings in SETTINGS:
        theirs = dict(settings)
        for name in {"ccp_alpha", "min_impurity_decrease"} & set(theirs):
            theirs[name] = theirs[name] / bits
        ours = lk.DecisionTreeClassifier(criterion=criterion, **settings).fit(X, y)
        other = peer.DecisionTreeClassifier(
            criterion=criterion, random_state=0, **theirs
        ).fit(X, y)
        assert ours.get_n_leaves() == other.get_n_leaves(), settings
        np.testing.assert_allclose(ours.votes(X), other.predict_proba(X), atol=1e-12)
        np.testing.assert_array_equal(ours.predict(X), other.predict(X))


def test_the_first_split_has_the_largest_information_gain(rng):
    """H(parent) − Σ n_c/n H(child), by trying all cuts."""

    def entropy(y):
        p = np.bincount(y, minlength=3) / len(y)
        return -np.sum(p[p > 0] * np.log(p[p > 0]))

    X = rng.integers(0, 20, size=(120, 3)).astype(float)
    y = (X[:, 1] > 11).astype(int) + (X[:, 2] > 4)
    best = max(
        entropy(y) - m.mean() * entropy(y[m]) - (~m).mean() * entropy(y[~m])
        for j in range(3)
        for cut in np.unique(X[:, j])[:-1]
        for m in [X[:, j] <= cut]
    )
    model = lk.DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(X, y)
    np.testing.assert_allclose(model.tree_.gain[0] / len(y), best, rtol=1e-12)


def test_pruning_path_equals_scikit_learn(table):
    X, y = datasets.load_iris(return_X_y=True)
    alphas, leaves = lk.DecisionTreeClassifier().fit(X, y).pruning_path()
    path = peer.DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(
        X, y
    )
    np.testing.assert_allclose(alphas, path.ccp_alphas, atol=1e-12)
    for alpha, count in zip(alphas, leaves, strict=True):
        pruned = lk.DecisionTreeClassifier(ccp_alpha=alpha).fit(X, y)
        if alpha:
            assert pruned.get_n_leaves() == count


def test_weight_two_is_the_row_twice_and_garbage_is_absent(table):
    X, y = table
    w = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    for model, target in (
        (lk.DecisionTreeRegressor(max_depth=6), y),
        (lk.DecisionTreeClassifier(), (y > y.mean()).astype(int)),
    ):
        weighted = model.fit(X, target, w).predict_dist(X).eta
        dirty = np.where(w[:, None] == 0, np.nan, X)
        dirty[w == 0, 0] = 1e300
        np.testing.assert_array_equal(
            model.fit(dirty, target, w).predict_dist(X).eta, weighted
        )
        np.testing.assert_array_equal(
            model.fit(X[rows], target[rows]).predict_dist(X).eta, weighted
        )


def test_missing_values_go_where_they_gain_most(rng):
    x = rng.normal(size=400)
    y = np.where(x > 0, 1.0, 0.0)
    hidden = rng.random(400) < 0.3
    for value in (0.0, 1.0, 5.0):
        seen, target = np.where(hidden, np.nan, x), np.where(hidden, value, y)
        model = lk.DecisionTreeRegressor().fit(seen[:, None], target)
        np.testing.assert_allclose(model.predict(seen[:, None]), target, atol=1e-12)


def test_missing_values_that_were_never_seen_go_with_the_many(rng):
    x = rng.normal(size=100)
    model = lk.DecisionTreeRegressor(max_depth=1).fit(x[:, None], (x > 1.0) * 1.0)
    assert abs(model.predict([[np.nan]])[0]) < 1e-12
    model.fit(x[:, None], (x > -1.0) * 1.0)
    assert abs(model.predict([[np.nan]])[0] - 1) < 1e-12


def test_the_best_set_of_categories_is_found(rng):
    """Sorted by their mean, the best of all 2^(c-1) − 1 sets is a prefix."""
    c = rng.integers(0, 7, 300)
    y = rng.normal(size=7)[c] + rng.normal(size=300)

    def gain(inside):
        m = np.isin(c, inside)
        return y[m].sum() ** 2 / m.sum() + y[~m].sum() ** 2 / (~m).sum()

    best = max(
        gain(inside)
        for size in range(1, 7)
        for inside in itertools.combinations(range(7), size)
    )
    model = lk.DecisionTreeRegressor(max_depth=1, categorical_features=[0])
    model.fit(c[:, None] * 1.0, y)
    np.testing.assert_allclose(model.tree_.gain[0], best - y.sum() ** 2 / 300)
    assert " in {" in model.text()
    assert model.get_depth() == 1


def test_two_classes_are_a_bernoulli_and_none_is_impossible(table):
    X, y = table
    labels = np.where(y > y.mean(), "high", "low")
    tree = lk.DecisionTreeClassifier(max_depth=3).fit(X, labels)
    dist, probs = tree.predict_dist(X), tree.predict_proba(X)
    assert isinstance(dist.family, families.Bernoulli)
    np.testing.assert_allclose(dist.probs, probs, atol=1e-12)
    full = lk.DecisionTreeClassifier().fit(X, labels)
    other = np.where(labels == "high", "low", "high")
    assert set(full.votes(X).ravel()) == {0.0, 1.0}
    assert full.nll(X, other) < 5


def test_exclusive_or_is_learned():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]])
    model = lk.DecisionTreeClassifier().fit(X, [0, 1, 1, 0])
    np.testing.assert_array_equal(model.predict(X), [0, 1, 1, 0])


@pytest.mark.parametrize(
    "family",
    [
        families.Poisson(),
        pytest.param(families.Gamma(), marks=pytest.mark.slow),
        families.Laplace(),
    ],
    ids=str,
)
def test_any_likelihood_is_a_split_score(family, rng):
    X = rng.integers(0, 8, size=(200, 2)).astype(float)
    mean = np.where(X[:, 0] > 3, 6.0, 1.0)
    y = rng.poisson(mean) + (0.0 if isinstance(family, families.Poisson) else 0.5)
    model = lk.DecisionTreeRegressor(criterion=family, max_depth=2).fit(X, y)
    root = model.trees_
    assert root.feature[0] == 0
    assert root.bins.of_feature(0)[root.cut[0] - 1] == 3.5
    one = lk.DecisionTreeRegressor(criterion=family, max_leaf_nodes=2).fit(X, y)
    gain = -most_likely(family, y)[1]
    for leaf, side in enumerate((X[:, 0] <= 3, X[:, 0] > 3), start=1):
        eta, likelihood = most_likely(family, y[side])
        mean = one.trees_.value[leaf][:1]  # dispersions are shared by small leaves
        np.testing.assert_allclose(mean, eta[:1], atol=1e-8)
        gain += likelihood
    np.testing.assert_allclose(one.tree_.gain[0], gain, rtol=1e-8)


def most_likely(family, y):
    """η of maximum likelihood for rows that share it, and that likelihood."""
    with float64():
        eta = family.marginal(jnp.asarray(y), jnp.ones(len(y)))
        rows = jnp.tile(eta[None], (len(y), 1))
        return np.asarray(eta), float(family.log_prob(rows, jnp.asarray(y)).sum())


def test_poisson_splits_are_the_best_of_all(rng):
    X = rng.normal(size=(150, 2)).round(1)
    y = rng.poisson(np.exp(X[:, 0])).astype(float)

    def nats(y):
        return y.sum() * np.log(max(y.mean(), 1e-300)) if y.sum() else 0.0

    best = max(
        nats(y[m]) + nats(y[~m]) - nats(y)
        for j in range(2)
        for cut in np.unique(X[:, j])[:-1]
        for m in [X[:, j] <= cut]
    )
    model = lk.DecisionTreeRegressor(criterion=families.Poisson(), max_depth=1)
    np.testing.assert_allclose(model.fit(X, y).tree_.gain[0], best, rtol=1e-9)


def test_text_and_picture_say_the_same(table):
    X, y = datasets.load_iris(return_X_y=True)
    model = lk.DecisionTreeClassifier(max_depth=2).fit(X, y)
    assert model.text().splitlines()[:2] == [
        "x2 <= 2.45?",
        "|   yes: 0, p = [1. 0. 0.] (weight 50)",
    ]
    drawn = model.draw()
    words = [text.get_text() for text in drawn.axes[0].texts]
    assert "x2 <= 2.45\n150 rows" in words
    assert sum(word in ("yes", "no") for word in words) == 4
    assert tree_text(model.trees_).startswith("x2 <= 2.45?")


def test_bad_settings_get_sentences(table):
    X, y = table
    for settings, words in (
        ({"max_depth": 0}, "max_depth is 0"),
        ({"criterion": "mse"}, "criterion is 'mse'"),
        ({"max_features": "all"}, "max_features is 'all'"),
        ({"categorical_features": [9]}, "categorical_features has 9"),
    ):
        with pytest.raises(InputError, match=words):
            lk.DecisionTreeRegressor(**settings).fit(X, y)
    with pytest.raises(InputError, match="class_weight has the class 7"):
        lk.DecisionTreeClassifier(class_weight={7: 1.0}).fit(X, y > 5)


@pytest.mark.parametrize(
    "family",
    [families.Normal(), pytest.param(families.Laplace(), marks=pytest.mark.slow)],
    ids=lambda family: type(family).__name__,
)
def test_a_leaf_of_one_row_does_not_know_its_scale(rng, family):
    X, y = rng.normal(size=(240, 2)), rng.normal(size=240)
    tree = lk.DecisionTreeRegressor(criterion=family).fit(X[:40], y[:40])
    assert tree.get_n_leaves() > 30
    assert tree.nll(X[40:], y[40:]) < 2.3
