"""Symbolic derivatives against automatic ones; sharing against formulas written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from likely.autodiff import symbol, symbolic
from likely.autodiff.calculus.expression import cos, exp, log, sin, sqrt, tan, tanh
from likely.core import InputError, float64

x, y = symbol("x"), symbol("y")


def test_equal_expressions_are_the_same_object():
    assert x * y + 1 is x * y + 1
    assert symbol("x") is x
    assert (x * y).derivative("x") is y
    assert (x**2).derivative(x) is 2 * x


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        (sin(x * x) * exp(x), lambda x: jnp.sin(x * x) * jnp.exp(x)),
        (log(1 + x**2) / x, lambda x: jnp.log(1 + x**2) / x),
        (tanh(x) - sqrt(x), lambda x: jnp.tanh(x) - jnp.sqrt(x)),
        (2**x + x**x, lambda x: 2.0**x + x**x),
        (tan(x) * cos(-x) - 3, lambda x: jnp.tan(x) * jnp.cos(-x) - 3),
        (1 / x - (5 - x) / 2, lambda x: 1 / x - (5 - x) / 2),
    ],
)
def test_derivatives_are_jaxs(expression, function):
    slope, curvature = expression.derivative(x), expression.derivative(x).derivative(x)
    with float64():
        for at in (0.3, 0.9):
            exact = jax.grad(function)(at), jax.grad(jax.grad(function))(at)
            np.testing.assert_allclose(expression(x=at), function(at), rtol=1e-12)
            np.testing.assert_allclose(slope(x=at), exact[0], rtol=1e-12)
            np.testing.assert_allclose(curvature(x=at), exact[1], rtol=1e-11)


def test_shared_subexpressions_stop_the_swell():
    """A product of n equal factors: written out it doubles, shared it grows by one."""
    power = x
    for _ in range(12):
        power = power * power + 1
    slope = power.derivative(x)
    assert slope.tree_size > 2**12
    assert slope.size < 60
    with float64():

        def f(x):
            for _ in range(12):
                x = x * x + 1
            return x

        np.testing.assert_allclose(slope(x=0.1), jax.grad(f)(0.1), rtol=1e-12)


def test_program_names_shared_parts_once():
    slope = (sin(x * x) * exp(x * x)).derivative(x)
    lines = slope.program().splitlines()
    assert "t2 = x * x" in lines
    assert slope.program().count("x * x") == 1
    namespace = {"x": 0.7, "sin": np.sin, "cos": np.cos, "exp": np.exp}
    for line in lines[:-1]:
        exec(line, namespace)
    assert eval(lines[-1], namespace) == pytest.approx(slope(x=0.7))
    assert eval(str(slope), namespace) == pytest.approx(slope(x=0.7))


def test_from_a_function():
    f = symbolic(lambda x, y: jax.nn.sigmoid(x * y) + jnp.tanh(x) ** 3 / y)
    exact = jax.grad(lambda x, y: jax.nn.sigmoid(x * y) + jnp.tanh(x) ** 3 / y, (0, 1))
    with float64():
        expected = exact(0.3, 0.4)
    found = [f.derivative(name)(x=0.3, y=0.4) for name in ("x", "y")]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert jnp.isfinite(f(x=jnp.array(0.3), y=jnp.array(0.4)))


def test_the_sigmoid_of_the_notes():
    """tanh x = 2σ(2x) − 1 holds for 1/(1 + e⁻ˣ); with the printed e⁺ˣ the sign flips."""
    right = 2 / (1 + exp(-2 * x)) - 1
    printed = 2 / (1 + exp(2 * x)) - 1
    assert right(x=1.0) == pytest.approx(0.761594, abs=1e-6)
    assert printed(x=1.0) == pytest.approx(-0.761594, abs=1e-6)
    np.testing.assert_allclose(right.derivative(x)(x=0.4), 1 - np.tanh(0.4) ** 2)


leaves = st.sampled_from([x, y, x * y, x + 2]) | st.integers(1, 3).map(lambda n: x * n)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.tuples(inner, inner).map(lambda p: p[0] * p[1])
        | st.tuples(inner, inner).map(lambda p: p[0] - p[1] / 3)
        | st.tuples(inner, inner).map(lambda p: p[0] / (2 + p[1] ** 2))
        | inner.map(sin)
        | inner.map(tanh)
    ),
    max_leaves=8,
)


@settings(max_examples=100)
@given(trees)
def test_generated_expressions_against_complex_steps(tree):
    slope = tree.derivative(x)(x=0.4, y=-0.3)
    step = tree(x=0.4 + 1e-30j, y=-0.3)
    assert slope == pytest.approx(np.imag(step) / 1e-30, rel=1e-9, abs=1e-12)


def test_errors_are_sentences():
    with pytest.raises(InputError, match="has no place in a scalar expression"):
        symbolic(lambda x: jnp.floor(x))
    with pytest.raises(InputError, match="give a value for y"):
        (x * y)(x=1.0)
