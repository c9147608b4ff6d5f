import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from likely.core import InputError
from likely.layers import (
    ACTIVATIONS,
    ELU,
    Chain,
    Dense,
    Heaviside,
    LeakyReLU,
    PolynomialActivation,
    PReLU,
    Sigmoid,
    activation,
)

S = np.array([-3.0, -0.7, 0.0, 0.4, 2.5], np.float32)
FORMULAS = {
    "relu": lambda s: np.maximum(0, s),
    "leaky_relu": lambda s: np.where(s >= 0, s, 0.01 * s),
    "prelu": lambda s: np.where(s >= 0, s, 0.25 * s),
    "elu": lambda s: np.where(s >= 0, s, np.expm1(s)),
    "softplus": lambda s: np.log(1 + np.exp(s)),
    "sigmoid": special.expit,
    "tanh": lambda s: (np.exp(2 * s) - 1) / (np.exp(2 * s) + 1),
    "gelu": lambda s: s * stats.norm.cdf(s),
    "silu": lambda s: s * special.expit(s),
    "sin": np.sin,
    "polynomial": lambda s: s**2,
    "heaviside": lambda s: s >= 0,
    "straight_through": lambda s: s >= 0,
    "identity": lambda s: s,
}


def of(spec, s=S):
    return np.asarray(activation(spec, s.shape[-1])(jnp.asarray(s)[None])[0])[0]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_are_the_formula(name):
    np.testing.assert_allclose(of(name), FORMULAS[name](S), rtol=2e-6, atol=1e-7)


def test_one_number_is_the_setting():
    np.testing.assert_allclose(of(("leaky_relu", 0.2)), LeakyReLU(0.2).of(S))
    np.testing.assert_allclose(of(["elu", 0.5])[:2], 0.5 * np.expm1(S[:2]), rtol=1e-6)
    np.testing.assert_allclose(of(("polynomial", 3)), S**3, rtol=1e-6)
    np.testing.assert_allclose(of(("prelu", 0.1))[0], -0.3, rtol=1e-6)
    assert activation(ELU(2.0), 3) == ELU(2.0)
    assert activation(jnp.cos, 3)(jnp.zeros(1))[0] == 1


def test_softplus_is_log_two_at_zero():
    assert of("softplus")[2] == pytest.approx(0.693147, abs=1e-6)


def test_tanh_is_a_sigmoid_of_twice_the_slope():
    np.testing.assert_allclose(of("tanh"), 2 * of(("sigmoid", 2.0)) - 1, atol=1e-6)


def test_a_steep_sigmoid_is_a_step():
    away = np.delete(S, 2)
    np.testing.assert_allclose(of(("sigmoid", 1e4), away), of("heaviside", away))
    assert of(("sigmoid", 1e4))[2] == 0.5
    steepest = jax.grad(lambda s: Sigmoid(8.0).of(s))(0.0)
    assert steepest == pytest.approx(8 / 4)


def test_far_values_stay_finite_with_their_slopes():
    far = jnp.array([-1e4, 1e4])
    for name in set(ACTIVATIONS) - {"polynomial"}:
        layer = activation(name, 2)
        value, slope = jax.value_and_grad(lambda s, f=layer: f(s)[0].sum())(far)
        assert np.isfinite([value, *slope]).all(), name


def test_a_step_passes_nothing_back_unless_it_is_straight_through():
    s = jnp.asarray(S)
    seen = jnp.arange(5.0)

    def back(layer):
        return jax.grad(lambda s: (layer.of(s) * seen).sum())(s)

    np.testing.assert_array_equal(back(Heaviside()), 0)
    np.testing.assert_array_equal(back(Heaviside(straight_through=True)), seen)


def test_prelu_has_a_slope_for_each_unit():
    layer = PReLU(2)
    X = jnp.array([[-1.0, -1.0], [-2.0, 3.0]])
    slope = jax.grad(lambda layer: layer(X)[0].sum())(layer).slope
    np.testing.assert_allclose(slope, [-3.0, -1.0])


def test_polynomials_explode_with_depth():
    """s^p twice is s^(p²): from 1.5, six squarings make 1.5⁶⁴."""
    s = jnp.array([1.5])
    for _ in range(6):
        s = PolynomialActivation(2).of(s)
    np.testing.assert_allclose(s, 1.5**64, rtol=1e-4)


def test_one_neuron_with_a_hill_separates_what_no_line_does(getkey):
    """XOR: a monotone neuron cuts the plane along a line, one that rises and falls not."""
    X = np.array(list(itertools.product([0.0, 1.0], repeat=2)), np.float32)
    xor = np.array([0, 1, 1, 0])

    def unit(weight, bias, spec):
        neuron = Chain(Dense(2, 1, key=getkey()), activation(spec, 1))
        numbers = [jnp.array(weight)[:, None], jnp.array([bias])]
        neuron = jax.tree.unflatten(jax.tree.structure(neuron), numbers)
        return np.asarray(neuron(jnp.asarray(X))[0][:, 0])

    np.testing.assert_allclose(unit([1.0, -1.0], 0.0, "polynomial"), xor)
    hill = unit([np.pi / 2, np.pi / 2], 0.0, "sin")
    np.testing.assert_array_equal(hill > 0.5, xor)
    grid = np.linspace(-3, 3, 13)
    for w1, w2, b in itertools.product(grid, repeat=3):
        line = X @ [w1, w2] + b > 0  # the cut of any increasing activation
        assert (line != xor).any()
        assert (line == xor).any()


@pytest.mark.parametrize("spec", ["rellu", ("relu", 0.1), ("polynomial", 1.5), ELU])
def test_what_is_no_activation_is_refused(spec):
    with pytest.raises(InputError, match="activation|power"):
        activation(spec, 3)
