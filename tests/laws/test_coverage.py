"""Intervals of 90 % hold 90 % of new rows; what cannot be known is infinitely wide.

`python -m benchmarks.coverage` makes the table of the docs by the same simulation.
"""

import numpy as np
import pytest
from registries.estimators import ESTIMATORS, rows_for

import likely as lk
from benchmarks.coverage import CELLS, cases, coverage

LINEAR = [
    "LinearRegression()", "Ridge()", 'Ridge("cv")', "Lasso()", "Lasso(0.1)",
    'Lasso("cv")', "ElasticNet()", "ElasticNet(0.1)", "HuberRegressor()",
    "LADRegressor()", "QuantileRegressor()", "QuantileRegressor(quantile=0.3)",
    "PoissonRegressor()", "NegativeBinomialRegressor()", "GammaRegressor()",
    "LogTarget(LinearRegression())", "SplineRegressor()",
]  # fmt: skip
FITS = 40


def assert_covers(name, n, d, fits, least=0.85, most=0.95):
    """The mean over fits lies between the bounds, but for three standard errors."""
    shares = coverage(cases()[name], n, d, fits)
    error = 3 * shares.std(ddof=1) / np.sqrt(fits)
    assert least - error < shares.mean() < most + error, shares.mean()


@pytest.mark.parametrize("name", ["Ridge()", "Lasso(0.1)"])
def test_intervals_of_penalised_models_cover(name):
    assert_covers(name, 100, 50, 10)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d"), CELLS)
@pytest.mark.parametrize("name", LINEAR)
def test_intervals_cover(name, n, d):
    assert_covers(name, n, d, FITS)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("outputs", [0, 2])
def test_without_residuals_intervals_are_infinite(n, outputs, rng):
    X = rng.normal(size=(n, 3))
    y = rng.normal(size=(n, outputs)) if outputs else rng.normal(size=n)
    model = lk.LinearRegression().fit(X, y)
    low, high = model.predict_interval(X)
    assert (low == -np.inf).all()
    assert (high == np.inf).all()
    np.testing.assert_allclose(model.predict_dist(X).quantile(0.5), model.predict(X))
    assert model.nll(X, y) == np.inf


SINGULAR = {
    "a column twice": lambda X: X[:, [0, 1, 1]],
    "a constant column": lambda X: np.c_[X, np.full(len(X), 7.0)],
    "more columns than rows": lambda X: np.c_[X, np.eye(len(X))[:, :1]][
        :, [0, 1, 2, 2]
    ],
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("outputs", [0, 2])
def test_a_singular_design_knows_what_its_rows_span(name, outputs, rng):
    """Inside, it is the regression on independent columns; outside nothing is known."""
    X = rng.normal(size=(20, 2))
    y = rng.normal(size=(20, outputs)) if outputs else rng.normal(size=20)
    wide = SINGULAR[name](X)
    kept = np.linalg.qr(wide - wide.mean(0))[0][
        :, : np.linalg.matrix_rank(wide - wide.mean(0))
    ]
    model = lk.LinearRegression().fit(wide, y)
    ends = np.stack(model.predict_interval(wide))
    peer = np.stack(lk.LinearRegression().fit(kept, y).predict_interval(kept))
    np.testing.assert_allclose(ends, peer, rtol=1e-7)
    outside = wide[:2] + np.eye(wide.shape[1])[-1]
    assert np.isinf(model.predict_interval(outside)).all()
    w = np.r_[np.ones(15), np.zeros(5)]
    some = lk.LinearRegression().fit(wide, y, sample_weight=w)
    alone = lk.LinearRegression().fit(wide[:15], y[:15])
    np.testing.assert_allclose(
        some.predict_interval(wide), alone.predict_interval(wide), rtol=1e-9
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "make", [lk.LADRegressor, lk.HuberRegressor, lk.QuantileRegressor]
)
def test_robust_lines_through_all_rows_know_no_scale(make, rng):
    model = make().fit(rng.normal(size=(3, 2)), rng.normal(size=3))
    assert np.isinf(model.predict_interval(rng.normal(size=(4, 2)))).all()


def test_far_rows_are_less_certain(rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40)
    for make in (lk.LinearRegression, lk.Ridge, lk.LADRegressor, lk.HuberRegressor):
        model = make().fit(X, y)
        near, far = np.diff(model.predict_interval([[0.0, 0.0], [9.0, 9.0]]), axis=0)[0]
        assert far > 1.5 * near


WEIGHTED = ["linear regression", "ridge", "lasso", "elastic net", "huber regression",
            "least absolute deviations", "poisson regression", "gamma regression"]  # fmt: skip


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_weight_is_a_repetition_in_intervals_too(name):
    X, y = rows_for(name)
    w = np.arange(len(y)) % 3.0
    make, dirty = ESTIMATORS[name].make, np.where(w[:, None] > 0, X, np.nan)
    weighted = make().fit(dirty, y, sample_weight=w).predict_interval(X[:9])
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    repeated = make().fit(X[rows], y[rows]).predict_interval(X[:9])
    np.testing.assert_allclose(weighted, repeated, rtol=1e-5)
