"""Line searches: brackets, the golden section, sufficient decrease, flattening."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import float64
from likely.solvers import SteepestDescent, bracket, golden_section, minimize
from likely.solvers.second_order.line_search import (
    ARMIJO,
    SEARCHES,
    WOLFE,
    Point,
)


def wavy(x):
    return jnp.sum(x**2) + 0.3 * jnp.sin(5 * x[0])


def start(f, x):
    """A point with a way to evaluate, and the direction of steepest descent."""
    evaluate = jax.value_and_grad(lambda x, state: (f(x), state), has_aux=True)
    (value, _), g = evaluate(jnp.asarray(x), None)
    return evaluate, Point(jnp.asarray(x), value, g, None), -g, -(g @ g)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 2.0), (0.2, 50.0)])
def test_golden_section_finds_half_of_the_digits(low, high):
    with float64():
        f = lambda t: jnp.cosh(t - 0.4)  # noqa: E731
        t, value = golden_section(f, jnp.asarray(low), jnp.asarray(high))
    np.testing.assert_allclose(t, 0.4, atol=1e-7)
    np.testing.assert_allclose(value, 1.0, rtol=1e-15)


def test_golden_section_costs_one_evaluation_a_step():
    """F8: each keeps 0.618 of the bracket."""
    seen = []

    def f(t):
        seen.append(float(t))
        return (t - 0.3) ** 2

    with float64(), jax.disable_jit():
        golden_section(f, jnp.asarray(0.0), jnp.asarray(1.0))
    expected = np.log(2 * np.finfo(float).eps ** 0.5 * 0.3) / np.log((5**0.5 - 1) / 2)
    assert abs(len(seen) - expected) <= 4
    np.testing.assert_allclose(sorted(seen[:2]), [0.381966, 0.618034], atol=1e-6)


@pytest.mark.parametrize("first", [1e-6, 1.0, 1e6])
def test_brackets_hold_the_minimum(first):
    with float64():
        f = lambda t: (t - 2.0) ** 2  # noqa: E731
        low, high = bracket(f, jnp.asarray(first))
        assert low < 2 < high


@pytest.mark.parametrize("first", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("name", SEARCHES)
def test_searches_keep_their_promises(name, first):
    with float64():
        evaluate, at, d, slope = start(wavy, [2.0, -1.0])
        found = SEARCHES[name](evaluate, at, d, slope, first)
        assert found.ok
        t, new = found.step, found.point
        np.testing.assert_allclose(new.x, at.x + t * d)
        assert new.f <= at.f + ARMIJO * t * slope
        if name == "wolfe":
            assert new.g @ d >= WOLFE * slope
        if name == "golden":
            np.testing.assert_allclose(new.g @ d / slope, 0.0, atol=1e-6)
        if name == "backtracking":
            assert t <= first


def test_values_that_are_not_finite_are_stepped_back_from():
    with float64():
        evaluate, at, d, slope = start(lambda x: x[0] - jnp.log(x[0]), [3.0])
        for search in SEARCHES.values():
            found = search(evaluate, at, d, slope, 100.0)
            assert found.ok
            assert jnp.isfinite(found.point.f)


def test_steepest_descent_with_an_exact_search_zigzags_at_right_angles():
    """Along the golden section, f − f* shrinks by ((κ−1)/(κ+1))² at the worst start."""
    kappa = 9.0

    def bowl(x):
        return 0.5 * (x[0] ** 2 + kappa * x[1] ** 2)

    found = minimize(bowl, [kappa, 1.0], solver=SteepestDescent(8, 0.0, path=True))
    turns = np.diff(found.trace.model[:8], axis=0)
    cosines = np.sum(turns[1:] * turns[:-1], axis=1)
    cosines /= np.linalg.norm(turns[1:], axis=1) * np.linalg.norm(turns[:-1], axis=1)
    np.testing.assert_allclose(cosines, 0.0, atol=1e-5)
    ratios = found.trace.loss[1:8] / found.trace.loss[:7]
    np.testing.assert_allclose(ratios, ((kappa - 1) / (kappa + 1)) ** 2, rtol=1e-5)
