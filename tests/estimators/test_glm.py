"""The estimators beyond least squares, against scikit-learn, SciPy and closed forms."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn import datasets, linear_model, preprocessing
from sklearn.model_selection import KFold

import likely as lk
from likely.core import InputError
from likely.estimators import SeparationWarning


@pytest.fixture(scope="module")
def diabetes():
    X, y = datasets.load_diabetes(return_X_y=True)
    return 20 * X[:200], y[:200]


@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_lasso_and_elastic_net_are_scikit_learns(ratio, diabetes):
    X, y = diabetes
    ours = lk.Lasso(2.0) if ratio == 1 else lk.ElasticNet(2.0, l1_ratio=ratio)
    peer = linear_model.ElasticNet(alpha=2.0, l1_ratio=ratio, tol=1e-13).fit(X, y)
    ours.fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(ours.coef_ == 0, peer.coef_ == 0)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["poisson", "gamma"])
def test_log_linear_models_are_scikit_learns(kind, alpha, diabetes):
    X, y = diabetes
    ours = lk.PoissonRegressor if kind == "poisson" else lk.GammaRegressor
    peer = getattr(linear_model, f"{kind.title()}Regressor")
    peer = peer(alpha=alpha, tol=1e-10, solver="newton-cholesky").fit(X, y)
    model = ours(alpha).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-7)


def test_least_absolute_deviations_solve_the_linear_program(diabetes, rng):
    X, y = diabetes
    w = rng.integers(0, 3, len(y)).astype(float)
    model = lk.LADRegressor().fit(X, y, sample_weight=w)
    A, n = np.column_stack([X, np.ones(len(X))]), len(y)
    cost = np.r_[np.zeros(22), w, w]
    both = np.hstack([A, -A, np.eye(n), -np.eye(n)])
    best = linprog(cost, A_eq=both, b_eq=y, bounds=(0, None)).fun
    np.testing.assert_allclose(w @ np.abs(y - model.predict(X)), best, rtol=1e-9)
    np.testing.assert_allclose(
        model.scale_, np.average(np.abs(y - model.predict(X)), weights=w)
    )


def test_outliers_do_not_pull(rng):
    X = rng.normal(size=(200, 1))
    y = 2 * X[:, 0] + 0.1 * rng.normal(size=200)
    y[:8] += 50
    plain = lk.LinearRegression().fit(X, y)
    for model in (lk.HuberRegressor(), lk.LADRegressor()):
        assert abs(model.fit(X, y).intercept_) < 0.25 * abs(plain.intercept_)
        np.testing.assert_allclose(model.coef_, 2, atol=0.2)


def test_huber_is_a_maximum_of_the_likelihood(diabetes):
    X, y = diabetes
    model = lk.HuberRegressor().fit(X, y)

    def nll() -> float:
        return -model.predict_dist(X, uncertainty="none").log_prob(y).mean()

    best, kept = nll(), model.phi_
    import equinox as eqx

    for move in (0.01, -0.01):
        for leaf in (lambda p: p.model.tail, lambda p: p.model.model.bias):
            model.phi_ = eqx.tree_at(leaf, kept, leaf(kept) + move)
            assert nll() > best
    model.phi_ = kept


def test_negative_binomial_tends_to_poisson(rng):
    X = rng.normal(size=(400, 2))
    y = rng.binomial(40, 1 / (1 + np.exp(2 - X[:, 0]))).astype(
        float
    )  # less than Poisson
    even = lk.PoissonRegressor().fit(X, y)
    extra = lk.NegativeBinomialRegressor().fit(X, y)
    np.testing.assert_allclose(extra.coef_, even.coef_, atol=1e-4)
    assert extra.concentration_ > 1e3


@pytest.mark.parametrize("make", [lk.LinearRegression, lk.Ridge, lk.Lasso])
def test_several_outputs_are_one_model_each(make, diabetes, rng):
    X, y = diabetes
    Y = np.column_stack([y, -2 * y + rng.normal(size=len(y)), rng.normal(size=len(y))])
    both = make().fit(X, Y)
    for j in range(3):
        one = make().fit(X, Y[:, j])
        np.testing.assert_allclose(both.coef_[j], one.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(both.scale_[j], one.scale_, rtol=1e-6)
    assert both.predict(X).shape == Y.shape
    np.testing.assert_allclose(
        both.nll(X, Y), sum(make().fit(X, v).nll(X, v) for v in Y.T), rtol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("make", [lk.Ridge, lk.Lasso, lk.PoissonRegressor], ids=str)
def test_the_penalty_is_chosen_by_held_out_nats(make, diabetes):
    X, y = diabetes
    y = y.round()
    folds = KFold(4)
    model = make("cv", cv=folds).fit(X, y)
    loop = lk.cross_validate(make(), X, y, grid={"alpha": model.alphas_}, cv=folds)
    np.testing.assert_allclose(model.cv_nll_, loop.nll, rtol=1e-6)
    assert model.alpha_ == loop.best_params["alpha"]
    again = make(model.alpha_).fit(X, y)
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-8, atol=1e-10)


def test_sparse_rows_are_the_dense_ones(diabetes):
    from scipy.sparse import csr_array

    X, y = diabetes
    sparse, dense = (lk.LinearRegression().fit(a, y) for a in (csr_array(X), X))
    np.testing.assert_array_equal(sparse.coef_, dense.coef_)
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), dense.predict(X))


# Classes ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return preprocessing.scale(X[:, :3]), y


@pytest.mark.parametrize("weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_class_weights_are_scikit_learns(weight, cancer):
    X, y = cancer
    ours = lk.LogisticRegression(1.0, class_weight=weight).fit(X, y)
    peer = linear_model.LogisticRegression(class_weight=weight, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-4)
    plain = lk.LogisticRegression(class_weight=weight).fit(X, y)
    with pytest.raises(InputError, match="class_weight makes up observations"):
        plain.summary()
    assert (plain.summary(errors="HC0").standard_errors > 0).all()


def test_a_threshold_trades_precision_for_recall(cancer):
    from sklearn.metrics import f1_score, precision_score, recall_score

    from likely.evaluate import operating_points

    X, y = cancer
    p = lk.LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    points = operating_points(y, p)
    for i in range(0, len(points.threshold), 60):
        called = p > points.threshold[i]
        if called.any():
            np.testing.assert_allclose(points.precision[i], precision_score(y, called))
        np.testing.assert_allclose(points.recall[i], recall_score(y, called))
    assert (np.diff(points.recall) <= 0).all()
    strict, loose = (lk.LogisticRegression(threshold=t).fit(X, y) for t in (0.9, 0.1))
    assert recall_score(y, strict.predict(X)) < recall_score(y, loose.predict(X))
    best = lk.LogisticRegression(threshold="f1").fit(X, y)
    scores = [f1_score(y, p > t) for t in np.linspace(0.01, 0.99, 99)]
    assert f1_score(y, best.predict(X)) >= max(scores) - 1e-12
    with pytest.raises(InputError, match="give a number"):
        lk.LogisticRegression(threshold="fi").fit(X, y)


def test_separating_columns_are_named():
    import pandas as pd

    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["age", "sex", "dose"])
    y = X["dose"] > 0.2
    with pytest.warns(
        SeparationWarning, match="a plane separates the classes, by dose,"
    ):
        model = lk.LogisticRegression().fit(X, y)
    with pytest.raises(InputError, match="firth=True"):
        model.summary()
    both = X["age"] + X["dose"] > 0.2
    with pytest.warns(SeparationWarning, match="by age, (sex, )?dose"):
        lk.LogisticRegression().fit(X, both)
    three = np.digitize(X["age"], [-0.5, 0.5])
    with pytest.warns(SeparationWarning, match="by age"):
        lk.LogisticRegression().fit(X, three)


def test_quasi_complete_separation_is_found():
    rng = np.random.default_rng(2)
    rare = np.r_[np.ones(8), np.zeros(52)]
    X = np.column_stack([rng.normal(size=60), rare])
    y = np.r_[np.ones(8), rng.integers(0, 2, 52)]  # the rare kind always says yes
    with pytest.warns(SeparationWarning, match=r"quasi-complete\), by x1"):
        lk.LogisticRegression().fit(X, y)
    firth = lk.LogisticRegression(firth=True).fit(X, y)
    assert 0 < firth.coef_[0, 1] < 6
    assert np.isfinite(firth.summary().standard_errors).all()


def test_a_good_fit_is_not_taken_for_a_separation(recwarn):
    rng = np.random.default_rng(0)
    x = np.r_[np.linspace(-30, 30, 200), 0.5, -0.5]
    y = np.r_[np.linspace(-30, 30, 200) > 0, False, True].astype(int)
    lk.LogisticRegression().fit(x[:, None] + 0 * rng.normal(size=(202, 1)), y)
    assert not [w for w in recwarn if issubclass(w.category, SeparationWarning)]


def test_firth_adds_half_an_observation_to_each_cell():
    """A constant, and one indicator, have closed forms."""
    y = np.r_[np.ones(3), np.zeros(9)]
    kind = np.r_[1, 1, 1, np.zeros(5), np.ones(4)]
    model = lk.LogisticRegression(firth=True).fit(kind[:, None], y)
    odds = lambda yes, no: np.log((yes + 0.5) / (no + 0.5))  # noqa: E731
    np.testing.assert_allclose(model.intercept_, odds(0, 5), rtol=1e-8)
    np.testing.assert_allclose(model.coef_[0, 0], odds(3, 4) - odds(0, 5), rtol=1e-8)


def test_perceptron_makes_no_mistake_where_a_plane_separates(rng):
    X = rng.normal(size=(100, 3))
    y = X @ [1.0, -2.0, 0.5] > 0.3
    model = lk.Perceptron().fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.mistakes_ == 0.0
    side = X @ model.coef_[0] + model.intercept_[0] >= 0
    np.testing.assert_array_equal(model.predict(X), side)
    kind = np.digitize(X[:, 0], [-0.5, 0.5])
    three = lk.Perceptron().fit(np.column_stack([X, X[:, 0] ** 2]), kind)
    assert three.score(np.column_stack([X, X[:, 0] ** 2]), kind) > 0.95


@pytest.mark.parametrize(
    ("model", "y", "words"),
    [
        (lk.PoissonRegressor(), [1.0, -1.0, 2.0], "y has -1.0 in row 1.*counts"),
        (lk.GammaRegressor(), [1.0, 0.0, 2.0], "above 0"),
        (lk.HuberRegressor(epsilon=0.0), [1.0, 2.0, 3.0], "epsilon is 0.0"),
        (lk.ElasticNet(l1_ratio=2.0), [1.0, 2.0, 3.0], "l1_ratio is 2.0"),
        (lk.Ridge("auto"), [1.0, 2.0, 3.0], "alpha is 'auto'"),
        (lk.LogisticRegression(firth=True), [0, 1, 2], "two classes"),
        (lk.SplineRegressor(smoothing="aic"), [1.0, 2.0, 3.0], "smoothing is 'aic'"),
    ],
    ids=str,
)
def test_settings_and_targets_get_sentences(model, y, words):
    with pytest.raises(InputError, match=words):
        model.fit([[1.0], [2.0], [4.0]], y)


def test_exposure_gets_a_sentence():
    with pytest.raises(InputError, match="exposure is 0.0 in row 1"):
        lk.PoissonRegressor().fit([[1.0], [2.0]], [1.0, 2.0], exposure=[1.0, 0.0])


def test_counts_without_extra_variance(rng):
    """r is as good as infinite, and its logarithm has no error: 1/r has."""
    for _ in range(4):
        X = rng.normal(size=(100, 3))
        truth = np.exp(0.5 + X @ [0.5, -0.3, 0.0])
        y = rng.poisson(truth).astype(float)
        model = lk.NegativeBinomialRegressor().fit(X, y)
        spread = model.predict_dist(X).std / np.sqrt(truth)
        assert (spread > 0.5).all()
        assert (spread < 3).all()
        order = rng.permutation(100)
        moved = lk.NegativeBinomialRegressor().fit(X[order], y[order])
        np.testing.assert_allclose(model.coef_, moved.coef_, rtol=1e-6)
        np.testing.assert_allclose(
            model.predict_dist(X).std, moved.predict_dist(X).std, rtol=1e-6
        )
        table = model.summary().estimate
        plain = lk.PoissonRegressor().fit(X, y).summary().estimate
        if model.concentration_ > 1e5:
            errors = np.sqrt(np.diagonal(table.covariance))[:-1]
            expected = np.sqrt(np.diagonal(plain.covariance))
            np.testing.assert_allclose(errors, expected, rtol=1e-4)
            assert "(1/r = 0)" in str(model.summary())
