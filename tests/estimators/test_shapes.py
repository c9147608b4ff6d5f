"""Any shape: more columns than rows, sparse matrices as they are, many rows."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn import linear_model, neighbors

import likely as lk
from likely.base import rows as base_rows
from likely.estimators.linear.inference.collinearity import CollinearityWarning
from likely.estimators.linear.logistic import SeparationWarning
from likely.estimators.linear.overlap import overlap_is_certain
from likely.estimators.linear.separation import separation
from likely.estimators.neighbors import candidates

WIDE = (30, 200)


def words_matrix(n: int, d: int, density: float) -> sparse.csr_matrix:
    rng = np.random.default_rng(3)
    rows, columns = np.nonzero(rng.random((n, d)) < density)
    return sparse.csr_matrix((rng.random(len(rows)), (rows, columns)), shape=(n, d))


@pytest.fixture
def wide(rng):
    X = rng.normal(size=WIDE) + 3.0
    return X, X[:, 0] + 0.1 * rng.normal(size=len(X))


@pytest.fixture
def words():
    """A sparse matrix that is kept, and numbers that depend on it."""
    rng = np.random.default_rng(3)
    X = words_matrix(900, 300, 0.02)
    z = np.asarray(X @ rng.normal(size=300))
    return X, z / z.std() + 0.3 * rng.normal(size=900)


# More columns than rows ----------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_wide_least_squares_is_the_solution_of_least_norm(wide, intercept):
    X, y = wide
    with pytest.warns(CollinearityWarning, match="200 columns and 30 rows"):
        ours = lk.LinearRegression(fit_intercept=intercept).fit(X, y)
    Z, t = (X - X.mean(0), y - y.mean()) if intercept else (X, y)
    np.testing.assert_allclose(
        ours.coef_, np.linalg.lstsq(Z, t, rcond=1e-10)[0], atol=1e-10
    )
    np.testing.assert_allclose(ours.predict(X), y, atol=1e-9)
    with pytest.raises(lk.core.InputError, match="30 rows"):
        ours.summary()


def test_wide_ridge_and_logistic_regression_are_scikit_learns(wide):
    X, y = wide
    ours, peer = lk.Ridge(2.0).fit(X, y), linear_model.Ridge(2.0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-10)
    classes = y > np.median(y)
    ours = lk.LogisticRegression(alpha=1.0).fit(X, classes)
    peer = linear_model.LogisticRegression(tol=1e-12, max_iter=10_000).fit(X, classes)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-5)


def test_wide_counts_are_those_of_the_same_penalised_likelihood(wide):
    X, y = wide
    counts = np.round(np.exp(0.5 * (y - y.mean())))
    ours = lk.PoissonRegressor(alpha=0.1).fit(X, counts)
    peer = linear_model.PoissonRegressor(alpha=0.1, tol=1e-10, max_iter=10_000)
    np.testing.assert_allclose(ours.coef_, peer.fit(X, counts).coef_, atol=1e-6)


def test_wide_penalty_by_folds_is_that_of_each_fold_alone(wide):
    X, y = wide
    ours = lk.Ridge("cv", alphas=[1.0, 100.0], cv=3).fit(X, y)
    assert ours.cv_nll_.shape == (2, 3)
    assert np.isfinite(ours.cv_nll_).all()
    strong = lk.cross_validate(lk.Ridge(), X, y, grid={"alpha": [5.0]}, cv=3)
    rows = np.ones(30, bool)
    rows[:10] = False  # folds of neighbours
    alone = linear_model.Ridge(5.0).fit(X[rows], y[rows]).coef_
    found = strong.phi.model.weight[0, :, :, 0]
    assert np.abs(found - alone).max(1).min() < 1e-8


def test_any_classes_of_few_rows_are_separated(wide):
    X, y = wide
    with pytest.warns(SeparationWarning, match="a plane separates the classes"):
        model = lk.LogisticRegression().fit(X, y > y.mean())
    assert model.score(X, y > y.mean()) == 1.0


# A proof that classes overlap ----------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_proves_that_classes_overlap_and_never_that_they_do_not(classes, rng):
    X = rng.normal(size=(400, 4))
    codes = np.digitize(X[:, 0] * 4 + rng.normal(size=400), [0.0, 3.0][: classes - 1])
    model = lk.LogisticRegression().fit(X, codes)
    eta = model.predict_dist(X).eta
    w = np.ones(400)
    assert overlap_is_certain(X, codes, w, eta, intercept=True)
    assert separation(X, codes, classes, intercept=True) is None
    assert not overlap_is_certain(
        X, codes, w, np.zeros_like(eta) + eta * 0.01, intercept=True
    )
    apart = X[:, 0] > 0
    for scale in (
        1.0,
        10.0,
        30.0,
    ):  # on the way to infinity, where there is no gradient
        eta = scale * X[:, :1]
        assert not overlap_is_certain(X, apart.astype(int), w, eta, intercept=True)


def test_confident_classes_are_fitted_without_a_linear_program(rng, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a linear program was solved")

    monkeypatch.setattr("likely.estimators.linear.separation.linprog", refuse)
    X = rng.normal(size=(2000, 10))
    y = rng.random(2000) < 1 / (1 + np.exp(-8 * X[:, 0]))
    model = lk.LogisticRegression().fit(X, y)
    assert model.separation_ is None
    peer = linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-4, atol=1e-4)


def test_many_rows_are_fitted_from_a_sample_to_the_same_minimum(rng):
    X = rng.normal(size=(30_000, 5)) * [1, 10, 0.1, 1, 1] + [0, 5, 0, 0, 1]
    eta = X @ [0.5, 0.05, 2.0, 0.0, -1.0]
    y = rng.random(30_000) < 1 / (1 + np.exp(-eta))
    w = rng.integers(0, 3, 30_000).astype(float)
    model = lk.LogisticRegression().fit(X, y, w)
    p = model.predict_proba(X)[:, 1]
    A = np.column_stack([X, np.ones(len(X))])
    assert np.abs(A.T @ (w * (p - y))).max() / w.sum() < 1e-9
    assert model.n_iter_ < 15
    counts = rng.poisson(np.exp(0.2 * eta))
    poisson = lk.PoissonRegressor().fit(X, counts)
    assert np.abs(A.T @ (poisson.predict(X) - counts)).max() / len(X) < 1e-9


# Sparse matrices -----------------------------------------------------------------------

SPARSE = [
    (lambda: lk.LinearRegression(), "number"),
    (lambda: lk.Ridge(0.5), "number"),
    (lambda: lk.Lasso(1e-3), "number"),
    (lambda: lk.ElasticNet(1e-3), "number"),
    (lambda: lk.LogisticRegression(alpha=1.0), "two"),
    (lambda: lk.LogisticRegression(alpha=1.0), "three"),
    (lambda: lk.LogisticRegression(alpha=0.3, fit_intercept=False), "two"),
    (lambda: lk.PoissonRegressor(alpha=0.01), "count"),
    (lambda: lk.NegativeBinomialRegressor(alpha=0.01), "count"),
    (lambda: lk.GammaRegressor(alpha=0.01), "positive"),
    (lambda: lk.LinearSVC(), "two"),
    (lambda: lk.LinearSVC(), "three"),
]


def targets_of(kind: str, z: np.ndarray) -> np.ndarray:
    if kind == "number":
        return z
    if kind in ("two", "three"):
        return np.digitize(z, [0.0] if kind == "two" else [-0.5, 0.5])
    rate = np.exp(0.7 * z)
    if kind == "positive":
        return rate * np.random.default_rng(0).gamma(3.0, size=len(z))
    return np.random.default_rng(0).negative_binomial(2, 2 / (2 + rate)).astype(float)


@pytest.mark.parametrize(("make", "kind"), SPARSE)
def test_sparse_rows_give_the_coefficients_of_dense_ones(
    make, kind, words, monkeypatch
):
    X, z = words
    y, w = targets_of(kind, z), np.random.default_rng(1).integers(0, 3, len(z)) * 1.0
    dense = make().fit(X.toarray(), y, w)
    monkeypatch.setattr("scipy.sparse._csr.csr_matrix.toarray", None)
    ours = make().fit(X, y, w)
    np.testing.assert_allclose(ours.coef_, dense.coef_, atol=2e-6)
    np.testing.assert_allclose(ours.intercept_, dense.intercept_, atol=2e-6)
    np.testing.assert_array_equal(ours.predict(X).shape, y.shape)
    monkeypatch.undo()
    np.testing.assert_allclose(
        ours.predict(X).astype(float),
        dense.predict(X.toarray()).astype(float),
        atol=1e-5,
    )


def test_sparse_rows_have_intervals_and_statistics_or_a_sentence(words):
    X, y = words
    assert base_rows.keep_sparse(X)
    ours, dense = lk.LinearRegression().fit(X, y), None
    dense = lk.LinearRegression().fit(X.toarray(), y)
    np.testing.assert_allclose(
        ours.summary().standard_errors, dense.summary().standard_errors, rtol=1e-6
    )
    low, high = lk.Ridge().fit(X, y).predict_interval(X)
    assert 0.8 < ((low < y) & (y < high)).mean() <= 1.0
    wide = X.T.tocsr()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = lk.LinearRegression().fit(wide, y[:300])
    with pytest.raises(lk.core.InputError, match="fewer"):
        ours.summary()


def test_sparse_separated_classes_are_found(words):
    X, z = words
    X = sparse.hstack([X, sparse.identity(900)]).tocsr()  # a column for each row
    with pytest.warns(SeparationWarning):
        model = lk.LogisticRegression().fit(X, z > 0)
    assert model.score(X, z > 0) == 1.0


def test_sparse_rows_with_nan_are_refused_unless_absent(words):
    X, z = words
    bad = X.copy()
    bad.data[5] = np.nan
    row = int(np.searchsorted(bad.indptr, 5, "right")) - 1
    with pytest.raises(lk.core.InputError, match=f"row {row}"):
        lk.Ridge().fit(bad, z)
    w = np.ones(len(z))
    w[row] = 0.0
    ours, without = lk.Ridge().fit(bad, z, w), lk.Ridge().fit(X, z, w)
    np.testing.assert_array_equal(ours.coef_, without.coef_)


def test_sparse_naive_bayes_is_that_of_dense_rows(words):
    X, z = words
    y = np.digitize(z, [-0.5, 0.5])
    ours, dense = lk.GaussianNB().fit(X, y), lk.GaussianNB().fit(X.toarray(), y)
    np.testing.assert_allclose(ours.theta_, dense.theta_, atol=1e-12)
    np.testing.assert_allclose(ours.var_, dense.var_, rtol=1e-9)
    np.testing.assert_allclose(ours.votes(X), dense.votes(X.toarray()), atol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_neighbours_are_those_of_dense_rows(metric, rng):
    X = words_matrix(700, 400, 0.08)
    y = rng.normal(size=700)
    ours = lk.KNeighborsRegressor(metric=metric).fit(X, y)
    dense = lk.KNeighborsRegressor(metric=metric).fit(X.toarray(), y)
    found = ours.predict(X[:50])
    np.testing.assert_allclose(found, dense.predict(X[:50].toarray()), atol=1e-9)


# Neighbours among candidates -----------------------------------------------------------


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_candidates_give_the_neighbours_of_all_rows(d, metric, rng, monkeypatch):
    X = rng.normal(size=(1500, d)).round(1)  # many ties
    y, Q = rng.normal(size=1500), rng.normal(size=(80, d)).round(1)
    w = rng.integers(0, 3, 1500).astype(float)
    some = lk.KNeighborsRegressor(metric=metric).fit(X, y, w)
    found = some.predict(Q)
    monkeypatch.setattr(candidates, "MIN_ROWS", 10**9)
    full = lk.KNeighborsRegressor(metric=metric).fit(X, y, w)
    np.testing.assert_allclose(found, full.predict(Q), atol=1e-12)
    assert abs(some.scale_ - full.scale_) < 1e-12
    if metric == "manhattan" and d > 2:
        peer = neighbors.KNeighborsRegressor(metric=metric).fit(X, y)
        plain = lk.KNeighborsRegressor(metric=metric).fit(X, y).predict(Q)
        assert np.median(np.abs(plain - peer.predict(Q))) < 1e-12


# Newton's method with conjugate gradients ----------------------------------------------


def test_newton_with_conjugate_gradients_finds_the_minimum_of_scipy(rng):
    from likely.solvers.second_order.newton_cg import Columns, Slopes, newton_cg

    X, y = rng.normal(size=(60, 5)) + 2.0, rng.normal(size=60)

    class LogCosh:
        def value(self, eta):
            return float(np.logaddexp(eta[:, 0] - y, y - eta[:, 0]).mean())

        def slopes(self, eta):
            t = np.tanh(eta[:, 0] - y)
            bend = ((1 - t**2) / 60)[:, None]
            return Slopes((t / 60)[:, None], lambda V: bend * V, bend)

    columns = Columns.of(X, np.full(60, 1 / 60), True)
    ridge = np.r_[np.full(5, 0.1), 0.0][:, None]
    found = newton_cg(
        columns, LogCosh(), np.zeros((6, 1)), ridge=ridge, tolerance=1e-12
    )
    assert found.converged

    def objective(b):
        r = (X - X.mean(0)) @ b[:5] + b[5] - y
        return np.logaddexp(r, -r).mean() + 0.05 * b[:5] @ b[:5]

    best = minimize(objective, np.zeros(6), tol=1e-14)
    assert found.loss <= best.fun + 1e-14
    np.testing.assert_allclose(found.B[:, 0], best.x, atol=1e-6)


def test_conjugate_gradients_stop_at_the_rounding_of_the_gradient(monkeypatch):
    """An intercept for each of several classes has a direction in which H is 0."""
    from likely.solvers.second_order.newton_cg import Columns

    products, times = [], Columns.times

    def counted(self, B):
        products.append(1)
        return times(self, B)

    monkeypatch.setattr(Columns, "times", counted)
    rng = np.random.default_rng(6)
    X = words_matrix(1000, 2500, 0.01)
    z = np.asarray(X @ rng.normal(size=2500))
    lk.LogisticRegression(alpha=1.0).fit(X, np.digitize(z / z.std(), [-0.5, 0.5]))
    assert len(products) < 75
