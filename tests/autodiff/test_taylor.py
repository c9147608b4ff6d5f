"""Gradients, layouts and Taylor models against closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

from likely.autodiff import (
    chain_rule,
    directional_derivative,
    gradient,
    jacobian,
    taylor,
    taylor_series,
)
from likely.core import InputError

A = np.array([[2.0, 0.5], [0.5, 1.0]])


def bowl(x):
    return 0.5 * x @ A @ x


def test_gradient_and_directional_derivative():
    """D_v f = ∇f · v."""
    x, v = np.array([1.0, -2.0]), np.array([0.3, 0.4])
    np.testing.assert_allclose(gradient(bowl, x), A @ x)
    np.testing.assert_allclose(directional_derivative(bowl, x, v), A @ x @ v)


def inner(x):
    return jnp.stack([x[0] * x[1], x[0] ** 2, jnp.sin(x[1])])


def outer(y):
    return jnp.stack([y.sum(), y[0] * y[2]])


def test_jacobian_layouts():
    """Row i is the gradient of output i; the other layout is Jᵀ."""
    x = np.array([1.0, 2.0])
    J = jacobian(inner, x)
    np.testing.assert_allclose(J, [[2, 1], [2, 0], [0, np.cos(2)]], atol=1e-15)
    np.testing.assert_allclose(J[0], gradient(lambda x: inner(x)[0], x))
    np.testing.assert_allclose(jacobian(inner, x, "denominator"), J.T)
    assert jacobian(inner, x, "denominator").shape == (2, 3)  # n x m for Rⁿ → Rᵐ
    y = np.asarray(inner(x), float)
    for layout in ("numerator", "denominator"):
        whole = jacobian(lambda x: outer(inner(x)), x, layout)
        parts = chain_rule(
            jacobian(outer, y, layout), jacobian(inner, x, layout), layout
        )
        np.testing.assert_allclose(whole, parts, atol=1e-6)
    with pytest.raises(InputError, match="layout='row'"):
        jacobian(inner, x, "row")


def test_linearisation_of_the_notes():
    """f = x² − 1.5x at 0.51, linearised at 0.5."""
    f = lambda x: x**2 - 1.5 * x  # noqa: E731
    model = taylor(f, 0.5, order=1)
    assert round(float(f(0.51)), 4) == -0.5049
    assert round(float(model(0.51)), 4) == -0.5050
    assert model.remainder(0.51) == pytest.approx(1e-4)


def test_remainders_fall_with_the_order():
    """The remainder of a model of order k falls with the power k + 1 of the step."""

    def f(x):
        return jnp.sin(x).sum() * jnp.exp(0.3 * x[0])

    at, along = np.array([0.2, 0.5]), np.array([1.0, -0.4])
    assert taylor(f, at, 1).remainder_order(along) == pytest.approx(2, abs=0.15)
    assert taylor(f, at, 2).remainder_order(along) == pytest.approx(3, abs=0.15)
    exact = taylor(bowl, at, 2)
    np.testing.assert_allclose(exact.remainder(at + 5), 0, atol=1e-12)
    assert exact.order == 2
    with pytest.raises(InputError, match="order=3"):
        taylor(f, at, 3)


def test_vector_functions():
    model = taylor(inner, np.array([0.3, 0.4]), 2)
    x = np.array([0.31, 0.38])
    np.testing.assert_allclose(model(x), inner(x), atol=1e-5)
    assert model.curvature.shape == (3, 2, 2)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_integral_remainder(order):
    """The remainder is ∫ f⁽ⁿ⁺¹⁾(t)(x − t)ⁿ/n! dt."""
    series = taylor_series(jnp.exp, 0.3, order)
    assert series.order == order
    np.testing.assert_allclose(series.derivatives, np.exp(0.3))
    np.testing.assert_allclose(
        series.integral_remainder(1.1), series.remainder(1.1), rtol=1e-10
    )
    sine = taylor_series(jnp.sin, 0.0, 5)
    assert sine(0.5) == pytest.approx(0.5 - 0.5**3 / 6 + 0.5**5 / 120)
