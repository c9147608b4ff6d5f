"""Stationary points and what a step will do, from the Hessian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import float64
from likely.solvers import classify, step_forecast


def minimum(x):
    return x[0] ** 2 + 3 * x[1] ** 2


def maximum(x):
    return -minimum(x)


def saddle(x):
    return x[0] ** 2 - x[1] ** 2


def degenerate(x):
    return x[0] ** 4 + x[1] ** 2


KINDS = {
    minimum: "a minimum: all 2 eigenvalues of the Hessian are positive, from 2 to 6",
    maximum: "a maximum: all 2 eigenvalues of the Hessian are negative, from -6 to -2",
    saddle: "a saddle: of 2 eigenvalues of the Hessian 1 negative (lowest -2) "
    "and 1 positive (highest 2)",
    degenerate: "undecided: of 2 eigenvalues of the Hessian 1 zero, 0 negative "
    "and 1 positive",
}


@pytest.mark.parametrize("f", KINDS)
def test_kinds(f):
    """B27."""
    found = classify(f, [0.0, 0.0])
    assert found.kind == f.__name__
    assert str(found) == KINDS[f]


def test_directions_go_with_eigenvalues():
    found = classify(saddle, [0.0, 0.0])
    np.testing.assert_array_equal(found.eigenvalues, [-2, 2])
    np.testing.assert_allclose(np.abs(found.directions), [[0, 1], [1, 0]])


def test_points_with_a_slope_are_not_stationary():
    found = classify(minimum, {0: 1.0, 1: 0.0})
    assert found.kind == "not stationary"
    assert str(found) == "not stationary: the largest gradient entry is 2"


def quadratic(rng):
    A = rng.normal(size=(4, 4))
    H, b = A @ A.T + np.eye(4), rng.normal(size=4)
    return H, b, lambda x: 0.5 * x @ H @ x + b @ x


def test_the_forecast_is_exact_on_quadratics(rng):
    """F21, X004-23: (η²/2) gᵀHg; divided by ‖g‖², as printed, it is not."""
    H, b, f = quadratic(rng)
    x, rate = rng.normal(size=4), 0.3
    g = H @ x + b
    true = f(x - rate * g)
    np.testing.assert_allclose(step_forecast(f, x, rate).forecast, true, rtol=1e-12)
    printed = f(x) - rate * g @ g + 0.5 * rate**2 * (g @ H @ g) / (g @ g)
    assert abs(printed - true) > 0.1 * abs(true)


def test_harm_is_half_the_rate_times_the_curvature(rng):
    """F21, X004-23: (η/2) gᵀHg > ‖g‖²; printed (η/2)‖g‖² > ‖g‖² knows no curvature."""
    H, b, f = quadratic(rng)
    x = rng.normal(size=4)
    g = H @ x + b
    limit = 2 * step_forecast(f, x, 1.0).best_rate
    rates = limit * np.array([0.5, 0.99, 1.01, 2])
    rises = [f(x - rate * g) > f(x) for rate in rates]
    assert [step_forecast(f, x, rate).harmful for rate in rates] == rises
    assert [0.5 * rate > 1 for rate in rates] != rises


def test_the_best_rate_is_the_lowest_point_of_the_forecast(rng):
    _, _, f = quadratic(rng)
    x = rng.normal(size=4)
    best = step_forecast(f, x, 1.0).best_rate
    around = [step_forecast(f, x, best * c).forecast for c in (0.9, 1.0, 1.1)]
    assert around[1] == min(around)
    assert np.isinf(step_forecast(lambda x: x[0], x, 1.0).best_rate)


def test_a_batch_of_rates(rng):
    _, _, f = quadratic(rng)
    with float64():
        x, rates = jnp.asarray(rng.normal(size=4)), jnp.array([0.01, 0.1])
        batch = jax.vmap(lambda rate: step_forecast(f, x, rate).forecast)(rates)
    single = [step_forecast(f, np.asarray(x), rate).forecast for rate in (0.01, 0.1)]
    np.testing.assert_allclose(batch, single, rtol=1e-12)
