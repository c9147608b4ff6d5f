"""Where columns begin, and in which units they are, changes what algebra says, and no more.

A model with an intercept does not care where a column begins, nor, without a penalty, in
which units it is measured. Adding a large number rounds the column, so the fit is
compared with one to the rounded column less that number, which does not round again.
"""

import warnings

import jax
import numpy as np
import pytest
from registries.estimators import ESTIMATORS, parameters, rows_for
from sklearn.base import clone

import likely as lk
from likely import recipe, solvers
from likely.core import float64
from likely.core.checks import InputError
from likely.estimators.linear.model import LinearModel
from likely.estimators.linear.standardised import PrecisionWarning
from likely.families import Poisson
from likely.models import Linear
from likely.typing import Batch

LINEAR = [
    name for name, entry in ESTIMATORS.items() if isinstance(entry.make(), LinearModel)
]
PENALISED = ("ridge", "lasso", "elastic net")
SCALED = [name for name in LINEAR if name not in PENALISED]
OTHERS = ["spline regression", "rounded regression"]
"""Linear models without coefficients in a table: of these, predictions alone."""
SHIFTS = np.array([1e10, -1e7, 1e3, 0.0])
UNITS = np.array([1e-10, 1e10, 1e-4, 1.0])


def predictions(model, X) -> np.ndarray:
    """The parameters of p(y | x) of each row, the uncertainty of a fit included."""
    return model.predict_dist(X).eta


def table(model, errors: str = "model") -> tuple[np.ndarray, ...]:
    """Slopes, their errors and p-values, one row for each entry of η."""
    found = model.summary(errors=errors).estimate
    parts = found.coefficients, found.standard_errors, found.p_values
    return tuple(part[found.slopes] for part in parts)


def intercept(model) -> np.ndarray:
    """b, or where there are thresholds −τ of each."""
    thresholds = getattr(model, "thresholds_", None)
    return model.intercept_ if thresholds is None else -thresholds


def fitted(name: str, X, y, w=None):
    return clone(ESTIMATORS[name].make()).fit(X, y, sample_weight=w)


@pytest.mark.parametrize("name", LINEAR + OTHERS)
def test_a_shift_changes_the_intercept_alone(name, rng):
    X, y = rows_for(name)
    far = X + SHIFTS
    near, w = far - SHIFTS, rng.integers(0, 3, len(X)).astype(float)
    garbage = np.where(w[:, None] > 0, far, np.nan)
    a, b = fitted(name, garbage, y, w), fitted(name, near, y, w)
    np.testing.assert_allclose(predictions(a, far), predictions(b, near), 1e-6, 1e-6)
    if name in OTHERS:
        return
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8, atol=1e-10)
    moved = intercept(b) - b.coef_ @ SHIFTS
    np.testing.assert_allclose(intercept(a), moved, rtol=1e-8)
    if name in PENALISED:
        return
    for one, other in zip(table(a), table(b), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("name", SCALED)
def test_a_unit_changes_its_own_coefficient_alone(name):
    X, y = rows_for(name)
    a, b = fitted(name, X * UNITS, y), fitted(name, X, y)
    np.testing.assert_allclose(a.coef_ * UNITS, b.coef_, rtol=1e-8)
    np.testing.assert_allclose(predictions(a, X * UNITS), predictions(b, X), 1e-6, 1e-6)
    units = np.tile(UNITS, len(table(a)[0]) // len(UNITS))
    for one, other, unit in zip(table(a), table(b), (units, units, 1), strict=True):
        np.testing.assert_allclose(one * unit, other, rtol=1e-6)


PINBALL = ("least absolute deviations", "quantile regression")
NOT_OF_A_MEAN = ("ordinal regression", "survival regression")
ROBUST = [name for name in SCALED if name not in PINBALL + NOT_OF_A_MEAN]


@pytest.mark.parametrize("name", parameters(ROBUST, slow=ROBUST[1:]))
def test_robust_errors_follow_shifts_and_units(name):
    X, y = rows_for(name)
    far = (X + SHIFTS) * UNITS
    a, b = fitted(name, far, y), fitted(name, far / UNITS - SHIFTS, y)
    units = np.tile(UNITS, len(table(a)[0]) // len(UNITS))
    for errors in ("HC0", "HC3"):
        one, other = table(a, errors), table(b, errors)
        np.testing.assert_allclose(one[1] * units, other[1], rtol=1e-4)


CENTRED = [n for n in SCALED if "fit_intercept" in ESTIMATORS[n].make().get_params()]


@pytest.mark.parametrize("name", parameters(CENTRED, slow=CENTRED[1:]))
def test_units_without_an_intercept(name):
    X, y = rows_for(name)
    a, b = (
        clone(ESTIMATORS[name].make()).set_params(fit_intercept=False).fit(X * unit, y)
        for unit in (UNITS, 1.0)
    )
    np.testing.assert_allclose(a.coef_ * UNITS, b.coef_, rtol=1e-8)


CLOSED = [n for n in SCALED if ESTIMATORS[n].kind == "numbers"] + ["gamma regression"]


@pytest.mark.parametrize("unit", [1e-10, 1e10])
@pytest.mark.parametrize("name", CLOSED)
def test_the_unit_of_y_is_that_of_the_coefficients(name, unit):
    X, y = rows_for(name)
    a, b = fitted(name, X, y * unit), fitted(name, X, y)
    slope = 1.0 if name == "gamma regression" else unit
    for one, other, scale in zip(table(a), table(b), (slope, slope, 1), strict=True):
        np.testing.assert_allclose(one, scale * other, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-10, 1e10])
@pytest.mark.parametrize("name", CLOSED)
def test_predictions_have_the_unit_of_y(name, unit):
    X, y = rows_for(name)
    a, b = fitted(name, X, y * unit), fitted(name, X, y)
    one, other = a.predict_dist(X), b.predict_dist(X)
    np.testing.assert_allclose(one.mean / unit, other.mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(one.std / unit, other.std, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in LINEAR if ESTIMATORS[n].kind == "numbers"])
def test_where_y_begins_changes_the_intercept_alone(name):
    X, y = rows_for(name)
    far = y + 1e10
    a, b = fitted(name, X, far), fitted(name, X, far - 1e10)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=2e-5, atol=2e-5)


# Cases by name ------------------------------------------------------------------------


def test_columns_far_from_zero():
    """Time stamps in milliseconds, and worse."""
    Z = np.random.default_rng(0).normal(size=(300, 3))
    y = Z.sum(1) + np.random.default_rng(1).normal(size=300)
    model = lk.LinearRegression().fit(1e8 + Z, y)
    np.testing.assert_allclose(model.coef_, lk.LinearRegression().fit(Z, y).coef_, 1e-6)
    assert model.score(1e8 + Z, y) > 0.6
    outputs = np.column_stack([y, -2 * y])
    both = lk.LinearRegression().fit(1e8 + Z, outputs)
    np.testing.assert_allclose(both.coef_, np.outer([1, -2], model.coef_), rtol=1e-9)
    for shift in (3e6, 1e10):
        lad = lk.LADRegressor().fit(shift + Z, y)
        near = lk.LADRegressor().fit((shift + Z) - shift, y)
        np.testing.assert_allclose(lad.coef_, near.coef_, rtol=1e-9)


@pytest.mark.slow
def test_folds_and_resamples_use_the_same_coordinates(rng):
    X, y = rows_for("ridge")
    far = 1e9 + X
    near = far - 1e9
    for make in (lambda: lk.Ridge("cv"), lambda: lk.LogisticRegression("cv")):
        t = y if isinstance(make(), lk.Ridge) else (y > 0).astype(int)
        a, b = make().fit(far, t), make().fit(near, t)
        np.testing.assert_allclose(a.cv_nll_, b.cv_nll_, rtol=1e-7)
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-7)
    a, b = (lk.HuberRegressor().fit(Z, y) for Z in (far, near))
    one, other = (m.summary(errors="bootstrap", n_resamples=5) for m in (a, b))
    size = slice(1, None)
    np.testing.assert_allclose(
        one.estimate.standard_errors[size], other.estimate.standard_errors[size], 1e-6
    )


@pytest.mark.slow
def test_a_penalty_is_about_the_columns_as_they_are():
    X, y = rows_for("logistic regression")
    units = np.array([1e-4, 1e4, 1.0, 1.0])
    a = lk.LogisticRegression(0.5).fit(X * units, y)
    b = lk.LogisticRegression(0.5, solver="lbfgs", max_iter=5000).fit(X * units, y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-5, atol=1e-9)
    grid = lk.cross_validate(
        lk.LogisticRegression(), X * units, y, grid={"alpha": [0.5]}
    )
    loop = lk.cross_validate(lk.LogisticRegression(0.5), X * units, y)
    np.testing.assert_allclose(grid.nll, loop.nll, rtol=1e-7)


def test_errors_of_powers_of_a_year(rng):
    """Robust errors of a polynomial in the year are those of one in its own units."""
    year = np.linspace(1950, 2020, 60)
    y = 0.1 * year + rng.normal(size=60) * np.linspace(1, 2, 60)
    t = (year - 1985) / 20
    powers = np.arange(1, 5)
    a = lk.LinearRegression().fit(year[:, None] ** powers, y)
    b = lk.LinearRegression().fit(t[:, None] ** powers, y)
    for errors in ("model", "HC0", "HC1", "HC2", "HC3"):
        one, other = (m.summary(errors=errors).estimate for m in (a, b))
        ratio = one.standard_errors[-1] * 20.0**4 / other.standard_errors[-1]
        np.testing.assert_allclose(ratio, 1, rtol=1e-6)
        assert np.isfinite(one.standard_errors).all()
        np.testing.assert_allclose(one.f_test[0], other.f_test[0], rtol=1e-6)
    np.testing.assert_allclose(
        a.predict(year[:, None] ** powers), b.predict(t[:, None] ** powers), rtol=1e-9
    )
    for make in (lk.PoissonRegressor, lk.LADRegressor):
        counts = np.round(y - y.min())
        one = make().fit(year[:, None] ** powers, counts)
        other = make().fit(t[:, None] ** powers, counts)
        fit = other.predict(t[:, None] ** powers)
        np.testing.assert_allclose(
            one.predict(year[:, None] ** powers), fit, rtol=1e-5, atol=1e-6
        )


def test_columns_that_doubles_do_not_hold_are_named(rng):
    X = rng.normal(size=(50, 2))
    y = X.sum(1)
    with pytest.warns(PrecisionWarning, match="'x1' varies by"):
        lk.LinearRegression().fit(X + [0.0, 1e13], y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lk.LinearRegression().fit(X + [0.0, 1e10], y)
    rounding = np.where(X[:, 1] > 0, 0.3, 0.1 + 0.2)
    with pytest.warns(UserWarning, match="column 1 is constant"):
        model = lk.LinearRegression().fit(np.column_stack([X[:, 0], rounding]), y)
    assert np.abs(model.coef_).max() < 10


@pytest.mark.parametrize("value", [3.0, 1e14])
def test_a_constant_column_has_no_say(value, rng):
    X = rng.normal(size=(50, 2))
    y = X.sum(1) + rng.normal(size=50)
    with pytest.warns(UserWarning, match="column 2 is constant"):
        model = lk.LinearRegression().fit(np.column_stack([X, np.full(50, value)]), y)
    peer = lk.LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, [*peer.coef_, 0.0], atol=1e-12)
    median = lk.LADRegressor().fit(np.column_stack([X, np.full(50, value)]), y)
    with pytest.raises(InputError, match="'x2' is constant"):
        median.summary()


@pytest.mark.parametrize("unit", [1e-10, pytest.param(1e10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("solver", [solvers.Newton(), solvers.LBFGS()])
def test_solvers_do_not_take_small_columns_for_a_minimum(solver, unit):
    X, y = rows_for("poisson regression")
    with float64():
        models = [
            recipe.fit(
                Poisson(),
                Linear.zeros(X.shape[1]),
                Batch(X * u, y, np.ones(len(y))),
                solver=solver,
                key=jax.random.key(0),
            )
            for u in (unit, 1.0)
        ]
    a, b = (np.asarray(m.model.weight) for m in models)
    np.testing.assert_allclose(a * unit, b, rtol=1e-5, atol=1e-7)
    assert all(m.solution.status.converged for m in models)


def _small(x):
    return 1e-20 * ((1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2)


@pytest.mark.parametrize("solver", [solvers.BFGS(), solvers.LBFGS(), solvers.Newton()])
def test_a_small_function_is_minimised_all_the_same(solver):
    found = solvers.minimize(_small, np.array([-1.2, 1.0]), solver=solver)
    np.testing.assert_allclose(found.model, 1.0, atol=1e-5)


def test_few_rows_have_no_errors_rather_than_none_at_all(rng):
    """As many coefficients as rows: predictions, and a sentence instead of errors."""
    X, y = rng.normal(size=(3, 2)), rng.gamma(2, size=3)
    for make in (lk.GammaRegressor, lk.HuberRegressor, lk.LADRegressor):
        model = make().fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, rtol=1e-5)
        with pytest.raises(InputError, match="nothing is left"):
            model.summary()
