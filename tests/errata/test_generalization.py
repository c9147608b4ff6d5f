"""Bias and variance of the notes: formulas as printed and as they are right."""

import numpy as np
import pytest

import likely as lk
from likely import data
from likely.diagnostics.generalization.decomposition.parts import Judged
from likely.diagnostics.generalization.decomposition.squared import squared_parts

M, T = 4000, 6


def fits_of_unequal_variance():
    """f_D(x) ~ N(μ(x) + 0.5, s(x)²) at six points x that count the same."""
    rng = np.random.default_rng(0)
    mu, s = np.arange(1.0, T + 1), np.linspace(0.2, 2, T)
    return mu + 0.5 + s * rng.normal(size=(M, T)), mu, s


def parts():
    F, mu, s = fits_of_unequal_variance()
    judged = Judged(np.ones((M, T), bool), np.ones(T), fixed=True)
    return squared_parts(F, mu, np.full(T, 0.3), judged), mu, s


def test_the_variance_is_a_mean_over_x_too():
    """X000-8: E_X E_D (f̄ − f_D)²; printed without E_X it is a function of x, not a number."""
    found, _, s = parts()
    assert found.variance.value == pytest.approx(
        np.mean(s**2), abs=4 * found.variance.error
    )
    assert s[-1] ** 2 > 2 * found.variance.value > 8 * s[0] ** 2


def test_the_error_is_the_square_of_a_difference():
    """X001-10: (f − μ)²; printed f² − μ², which is large where f is right, or negative."""
    found, mu, s = parts()
    F = fits_of_unequal_variance()[0]
    right, printed = np.mean((F - mu) ** 2), np.mean(F**2 - mu**2)
    assert found.risk.value - 0.3 == pytest.approx(right, abs=1e-12)
    assert right == pytest.approx(0.25 + np.mean(s**2), rel=0.05)
    assert printed > 2 * right


def test_y_is_a_function_of_x_and_noise():
    """X003-8: y = f(x) + ε; printed y = x + ε, whose errors are not the noise."""
    table = data.curve(4000, noise=0.3, random_state=0)
    right = table.y - table.truth["mean"](table.X)
    assert np.mean(right**2) == pytest.approx(0.09, rel=0.1)
    assert abs(np.corrcoef(right, table.X[:, 0])[0, 1]) < 0.05
    assert np.mean((table.y - table.X[:, 0]) ** 2) > 2 * 0.09


def test_fits_through_all_rows_have_no_training_error_and_a_test_error():
    """X000-14: two fits have 0 training error, not 0 test error as the caption says."""
    table = data.curve(30, noise=0.3, random_state=0)
    new = data.curve(500, noise=0.3, random_state=1)
    for model in (lk.DecisionTreeRegressor(), lk.KNeighborsRegressor(1)):
        model.fit(table.X, table.y)
        assert np.mean((model.predict(table.X) - table.y) ** 2) < 1e-20
        assert np.mean((model.predict(new.X) - new.y) ** 2) > 0.09
