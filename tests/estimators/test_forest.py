import numpy as np
import pytest
from sklearn import datasets, ensemble, linear_model

import likely as lk
from likely import families
from likely.core import InputError


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5))
    y = X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + 0.5 * rng.normal(size=700)
    return X[:500], y[:500], X[500:], y[500:]


def test_a_forest_without_chance_is_a_tree(table):
    X, y, _, _ = table
    forest = lk.RandomForestRegressor(2, bootstrap=False).fit(X, y)
    tree = lk.DecisionTreeRegressor().fit(X, y)
    np.testing.assert_allclose(forest.predict(X), tree.predict(X), atol=1e-12)


def test_members_are_trees_on_weighted_rows(table):
    """A bootstrap is a weight: the forest's tree is a tree with those weights."""
    from likely.core.random import seed_of
    from likely.estimators.trees.bootstrap import bootstrap_counts

    X, y, _, _ = table
    forest = lk.RandomForestRegressor(3, random_state=5).fit(X, y)
    counts = bootstrap_counts(seed_of(5), 1, len(y), len(y))
    assert counts.sum() == len(y)
    tree = lk.DecisionTreeRegressor().fit(X, y, counts * 1.0)
    np.testing.assert_allclose(
        forest.trees_.eta_of(1, X)[counts > 0, 0], tree.predict(X)[counts > 0]
    )


def test_as_accurate_as_scikit_learn(table):
    X, y, X_new, y_new = table
    ours = lk.RandomForestRegressor(60).fit(X, y).score(X_new, y_new)
    peer = ensemble.RandomForestRegressor(60, random_state=0).fit(X, y)
    assert abs(ours - peer.score(X_new, y_new)) < 0.04
    X, y = datasets.load_breast_cancer(return_X_y=True)
    ours = lk.RandomForestClassifier(60, oob_score=True).fit(X[:400], y[:400])
    peer = ensemble.RandomForestClassifier(60, random_state=0, oob_score=True)
    peer.fit(X[:400], y[:400])
    assert abs(ours.score(X[400:], y[400:]) - peer.score(X[400:], y[400:])) < 0.04
    assert abs(ours.oob_score_ - peer.oob_score_) < 0.03


def test_out_of_bag_rows_are_judged_by_trees_that_have_not_seen_them(table):
    X, y, X_new, y_new = table
    forest = lk.RandomForestRegressor(40, oob_score=True).fit(X, y)
    error = np.mean((forest.oob_prediction_ - y) ** 2)
    fresh = np.mean((forest.predict(X_new) - y_new) ** 2)
    seen = np.mean((forest.predict(X) - y) ** 2)
    assert seen < 0.4 * error
    assert abs(error / fresh - 1) < 0.3
    np.testing.assert_allclose(forest.oob_score_, 1 - error / y.var())


def test_the_mixture_has_the_mean_and_covers(table):
    X, y, X_new, y_new = table
    forest = lk.RandomForestRegressor(40, min_samples_leaf=3).fit(X, y)
    dist = forest.predict_dist(X_new)
    np.testing.assert_allclose(dist.mean, forest.predict(X_new), rtol=1e-9)
    low, high = dist.interval(0.8)
    assert 0.7 < ((low <= y_new) & (y_new <= high)).mean() < 0.95
    median = dist.quantile(0.5)
    np.testing.assert_allclose(dist.cdf(median), 0.5, atol=1e-6)
    normal = families.Predictive(
        families.Normal(), np.tile([y.mean(), np.log(y.std())], (len(y_new), 1))
    )
    assert forest.nll(X_new, y_new) < -normal.log_prob(y_new).mean() - 0.2


def test_probabilities_are_mean_frequencies(table):
    X, y, X_new, _ = table
    labels = np.where(y > 0, "up", "down")
    forest = lk.RandomForestClassifier(7, max_depth=4).fit(X, labels)
    leaves = forest.apply(X_new)
    votes = forest.trees_.value[leaves].mean(axis=1)
    np.testing.assert_allclose(forest.votes(X_new), votes)
    np.testing.assert_array_equal(
        forest.predict(X_new), forest.classes_[votes.argmax(1)]
    )
    p = forest.predict_proba(X_new)
    assert (np.diff(p[np.argsort(votes[:, 1]), 1]) >= -1e-12).all()
    grown_out = lk.RandomForestClassifier(7).fit(X, labels)
    assert grown_out.votes(X_new).min() == 0
    assert grown_out.predict_proba(X_new).min() > 0.2 / len(X)
    assert set(forest.predict(X_new)) <= {"up", "down"}


def test_a_forest_has_nothing_that_belongs_to_one_tree(table):
    X, y, _, _ = table
    forest = lk.RandomForestRegressor(2).fit(X, y)
    tree = lk.DecisionTreeRegressor(max_depth=2).fit(X, y)
    for name in ("tree_", "text", "draw", "get_depth", "get_n_leaves", "pruning_path"):
        assert hasattr(tree, name)
        assert not hasattr(forest, name)


def test_a_forest_of_one_tree_is_a_normal(table):
    X, y, X_new, _ = table
    forest = lk.RandomForestRegressor(1).fit(X, y)
    dist = forest.predict_dist(X_new)
    assert type(dist.family) is type(forest.family_) is families.Normal
    np.testing.assert_allclose(dist.mean, forest.predict(X_new))


def test_bagging_of_a_learner_without_a_distribution(table):
    X, y, X_new, _ = table
    bag = lk.BaggingRegressor(lk.SVR(), 3).fit(X[:80], y[:80])
    dist = bag.predict_dist(X_new)
    np.testing.assert_allclose(dist.mean, bag.predict(X_new))
    assert (dist.std >= bag.scale_ * (1 - 1e-9)).all()


def test_garbage_in_absent_rows_changes_no_bit(table):
    X, y, X_new, _ = table
    w = np.r_[np.ones(400), np.zeros(100)]
    clean = lk.RandomForestRegressor(5).fit(X, y, w).predict(X_new)
    X, y = X.copy(), y.copy()
    X[400:], y[400:] = 1e300, np.nan
    dirty = lk.RandomForestRegressor(5).fit(X, y, w).predict(X_new)
    np.testing.assert_array_equal(clean, dirty)


@pytest.mark.parametrize(
    "base",
    [lk.Ridge(0.1), linear_model.Ridge(0.1), lk.DecisionTreeRegressor()],
    ids=str,
)
def test_bagging_of_any_learner(base, table):
    X, y, X_new, y_new = table
    bag = lk.BaggingRegressor(base, 12, oob_score=True, max_features=4).fit(X, y)
    predictions = [
        member.predict(X_new[:, columns])
        for member, columns in zip(bag.estimators_, bag.columns_, strict=True)
    ]
    np.testing.assert_allclose(bag.predict(X_new), np.mean(predictions, axis=0))
    dist = bag.predict_dist(X_new)
    np.testing.assert_allclose(dist.mean, bag.predict(X_new), rtol=1e-9)
    assert np.isfinite(bag.nll(X_new, y_new))
    assert all(len(columns) == 4 for columns in bag.columns_)
    assert bag.oob_score_ > 0.2


def test_bagging_lowers_the_variance_and_leaves_the_bias(rng):
    """Over training sets: the mean of trees has the same mean and less variance."""
    x = np.linspace(-1, 1, 40)[:, None]
    truth = np.sin(3 * x[:, 0])
    single, bagged = [], []
    for _ in range(25):
        X = rng.uniform(-1, 1, size=(80, 1))
        y = np.sin(3 * X[:, 0]) + 0.5 * rng.normal(size=80)
        single.append(lk.DecisionTreeRegressor().fit(X, y).predict(x))
        bagged.append(lk.BaggingRegressor(n_estimators=15).fit(X, y).predict(x))
    variance = [np.var(predictions, axis=0).mean() for predictions in (single, bagged)]
    bias = [np.mean((np.mean(s, axis=0) - truth) ** 2) for s in (single, bagged)]
    assert variance[1] < 0.65 * variance[0]
    assert abs(bias[1] - bias[0]) < 0.1 * variance[0]


def test_bagged_classifiers_average_probabilities():
    X, y = datasets.load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    bag = lk.BaggingClassifier(lk.LogisticRegression(alpha=1.0), 5, oob_score=True)
    bag.fit(X, names)
    predictions = [member.predict_proba(X) for member in bag.estimators_]
    votes = np.mean(predictions, axis=0)
    np.testing.assert_allclose(bag.votes(X), votes)
    np.testing.assert_array_equal(bag.predict(X), bag.classes_[votes.argmax(1)])
    assert bag.oob_score_ > 0.9
    assert set(bag.predict(X)) == {"a", "b", "c"}


def test_a_learner_without_weights_is_refused(table):
    from sklearn.neighbors import KNeighborsRegressor

    X, y, _, _ = table
    with pytest.raises(InputError, match="takes no sample_weight"):
        lk.BaggingRegressor(KNeighborsRegressor()).fit(X, y)
