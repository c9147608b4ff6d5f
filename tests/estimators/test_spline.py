"""Smooth regression: limits, criteria and bands."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import CubicSpline, make_smoothing_spline
from sklearn.exceptions import ConvergenceWarning

import likely as lk
from likely.core import float64
from likely.estimators.linear import spline
from likely.estimators.linear.smoothing import Criterion, smoothest
from likely.estimators.linear.spline import distinct, penalties
from likely.preprocess import NaturalSpline
from likely.preprocess.basis import natural_spline


@pytest.fixture
def wave(rng):
    x = np.sort(rng.uniform(0, 10, size=150))
    return x[:, None], np.sin(x) + 0.3 * rng.normal(size=150)


def test_the_basis_spans_natural_cubic_splines():
    knots = np.array([0.0, 1.0, 2.5, 4.0, 6.0])
    spline = CubicSpline(knots, [1.0, -1.0, 0.5, 2.0, 0.0], bc_type="natural")
    x = np.linspace(0, 6, 50)
    A = np.column_stack([np.ones(50), natural_spline(x, knots)])
    b, *_ = np.linalg.lstsq(A, spline(x), rcond=None)
    np.testing.assert_allclose(A @ b, spline(x), atol=1e-10)
    far = np.column_stack(
        [np.ones(3), natural_spline(np.array([7.0, 8.0, 9.0]), knots)]
    )
    np.testing.assert_allclose(np.diff(far @ b, 2), 0, atol=1e-9)  # straight beyond


def test_the_penalty_is_the_integral_of_the_squared_bend():
    knots = np.array([0.0, 0.2, 0.5, 1.0])
    S, curve = penalties([knots])
    x = np.linspace(0, 1, 20_001)
    bend = np.gradient(np.gradient(natural_spline(x, knots), x, axis=0), x, axis=0)
    b = np.array([0.3, 1.0, -2.0])
    np.testing.assert_allclose(
        b @ S @ b, np.trapezoid((bend @ b)[2:-2] ** 2, x[2:-2]), rtol=2e-3
    )
    np.testing.assert_array_equal(curve, [-1, 0, 0])


def tables(rng):
    """Tables on which a criterion has several valleys, or a long flat one."""
    X = rng.normal(size=(80, 3))
    noise = rng.normal(size=80)
    wave = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2
    far = X * [1.0, 1e6, 1e-6] + [0.0, 1e8, 3.0]
    return {
        "waves": (X, wave + 0.5 * noise),
        "far columns": (far, 1e4 * (wave + 0.5 * noise)),
        "noise": (X, noise),
        "a line": (X, X[:, 0] + 0.1 * noise),
        "without noise": (X, wave),
        "few values": (X.round(), wave + 0.5 * noise),
    }


@pytest.mark.parametrize("method", ["reml", "gcv"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "few values" else name
        for name in tables(np.random.default_rng(0))
    ],
)
def test_no_other_smoothing_is_better(name, method, rng):
    """No λ times or divided by 1.1, 2, 10 or 100 lowers the criterion."""
    model = lk.SplineRegressor(6, smoothing=method)
    problem = model._problem(*tables(rng)[name])
    batch = distinct(problem.batch)
    with float64():
        criterion = problem.learner.criterion(jax.tree.map(jnp.asarray, batch))[0]
        rho, value = _smoothing(criterion)
        moves = np.log([1.1, 2.0, 10.0, 100.0])
        near = rho[None] + np.kron(np.eye(len(rho)), np.r_[moves, -moves][:, None])
        assert jax.vmap(criterion)(near).min() > value - 1e-7


@eqx.filter_jit
def _smoothing(criterion):
    rho = smoothest(criterion)
    return rho, criterion(rho)


@pytest.mark.parametrize("method", ["reml", "gcv"])
def test_the_criterion_has_the_slopes_of_its_derivatives(method, rng):
    B, y = rng.normal(size=(40, 9)), rng.normal(size=40)
    curves = np.kron(np.eye(2), np.r_[0.0, np.ones(3)])
    curves = np.pad(curves, ((0, 0), (0, 1)))
    with float64():
        moments = map(jnp.asarray, (B.T @ B, 1e-10 * np.ones(9), B.T @ y, y @ y, 40.0))
        criterion = Criterion(*moments, jnp.asarray(curves), method, 3)
        rho = jnp.array([0.5, -1.0])
        (g, H), expected, (gain, gained) = _slopes(criterion, rho)
    np.testing.assert_allclose(g, expected[0], atol=1e-12)
    np.testing.assert_allclose(H, expected[1], atol=1e-12)
    np.testing.assert_allclose(gain, gained, atol=1e-12)


@eqx.filter_jit
def _slopes(criterion, rho):
    """The slopes and gains that the criterion knows, and those found otherwise."""
    found = criterion.expand(rho)
    to, gain = criterion.alone(found, rho)
    there = jax.vmap(criterion)(
        jnp.where(jnp.eye(len(rho), dtype=bool), to[None], rho[None])
    )
    slopes = jax.grad(criterion)(rho), jax.hessian(criterion)(rho)
    return criterion.slopes(found, rho), slopes, (gain, criterion(rho) - there)


def test_curves_that_leave_few_rows_free_are_reported(wave, monkeypatch):
    monkeypatch.setattr(spline, "MIN_SHARE_FREE", 0.99)
    with pytest.warns(ConvergenceWarning, match='use smoothing="reml"'):
        lk.SplineRegressor(smoothing="gcv").fit(*wave)


@pytest.mark.parametrize("method", ["reml", "gcv"])
def test_a_smooth_curve_is_found_with_its_band(method, wave):
    X, y = wave
    model = lk.SplineRegressor(smoothing=method).fit(X, y)
    truth = np.sin(X[:, 0])
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.12
    low, high = model.band(X)
    assert np.mean((low <= truth) & (truth <= high)) > 0.85
    low, high = model.predict_interval(X)
    assert 0.84 < np.mean((low <= y) & (y <= high)) < 0.97
    assert 6 < model.edf_ < 12


def test_gcv_is_scipys_where_every_row_is_a_knot(rng):
    x = np.linspace(0, 10, 40)
    y = np.sin(x) + 0.2 * rng.normal(size=40)
    peer = make_smoothing_spline(x, y)(x)
    model = lk.SplineRegressor(40, smoothing="gcv").fit(x[:, None], y)
    np.testing.assert_allclose(model.predict(x[:, None]), peer, atol=0.02)


def test_a_line_stays_a_line_and_weights_are_counts(rng):
    x = rng.uniform(0, 1, size=120)
    y = 2 * x + 0.1 * rng.normal(size=120)
    model = lk.SplineRegressor().fit(x[:, None], y)
    assert model.edf_ < 3
    line = lk.LinearRegression().fit(x[:, None], y)
    np.testing.assert_allclose(
        model.predict(x[:, None]), line.predict(x[:, None]), atol=0.05
    )
    w = rng.integers(0, 3, size=120)
    rows = np.repeat(np.arange(120), w)
    spoiled = np.where(w > 0, x, 1e300)[:, None]
    weighted = lk.SplineRegressor().fit(spoiled, y, sample_weight=w)
    repeated = lk.SplineRegressor().fit(x[rows, None], y[rows])
    np.testing.assert_allclose(weighted.edf_, repeated.edf_, rtol=1e-3)
    np.testing.assert_allclose(
        weighted.predict(x[:, None]), repeated.predict(x[:, None]), atol=1e-4
    )


def test_models_are_compared(wave):
    X, y = wave
    line = lk.LinearRegression().fit(X[::2], y[::2])
    curve = lk.LinearRegression(basis=NaturalSpline(6)).fit(X[::2], y[::2])
    nested = lk.compare(line, curve)
    assert nested == lk.compare(curve, line)
    assert nested.p_value < 1e-6
    assert nested.df == (4.0, 69.0)
    held = lk.compare(line, curve, X[1::2], y[1::2])
    assert held.difference > 3 * held.standard_error
    assert "in favour of b" in str(held)
    smooth = lk.SplineRegressor().fit(X[::2], y[::2])
    with pytest.raises(ValueError, match="give rows held out"):
        lk.compare(line, smooth)
    assert lk.compare(line, smooth, X[1::2], y[1::2]).difference > 0


def test_likelihood_ratio_of_nested_counts(rng):
    X = rng.normal(size=(200, 3))
    y = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    small, large = (lk.PoissonRegressor().fit(X[:, :j], y) for j in (1, 3))
    found = lk.compare(small, large)
    gap = large.summary().log_likelihood - small.summary().log_likelihood
    np.testing.assert_allclose(found.statistic, 2 * gap)
    assert found.df == (2,)


def test_partial_effects_have_bands(wave):
    X, y = wave
    both = np.column_stack([X[:, 0], np.cos(3 * X[:, 0])])
    for model in (
        lk.SplineRegressor().fit(both, y),
        lk.LinearRegression(basis=NaturalSpline(7)).fit(both, y),
    ):
        found = lk.partial_effect(model, both, 0)
        truth = np.sin(found.x) - np.sin(both[:, 0].mean())
        assert np.mean((found.low <= truth) & (truth <= found.high)) > 0.8
    line = lk.LinearRegression().fit(both, y)
    effect = lk.partial_effect(line, both, 1)
    slope = np.diff(effect.effect) / np.diff(effect.x)
    np.testing.assert_allclose(slope, line.coef_[1])
    with pytest.raises(ValueError, match="penalty"):
        lk.partial_effect(lk.Ridge().fit(both, y), both, 0)


def test_leverages_sum_to_the_effective_degrees_of_freedom(rng):
    """Σ (error of the curve / σ)² over the rows is the trace of the smoother."""
    X = rng.normal(size=(80, 2)) * [1.0, 50.0] + [3.0, -200.0]
    y = np.sin(X[:, 0]) + 0.01 * X[:, 1] + 0.3 * rng.normal(size=80)
    model = lk.SplineRegressor().fit(X, y)
    low, high = model.band(X, 0.95)
    t = stats.t(model.df_residual_).ppf(0.975)
    leverage = ((high - low) / (2 * t * model.scale_)) ** 2
    assert leverage.sum() == pytest.approx(model.edf_, rel=1e-4)
