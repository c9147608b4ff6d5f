"""Backpropagation against formulas written out by hand, in float64 NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.autodiff import numerical_gradient, parameter_count, trace
from likely.core import InputError, float64
from likely.families import Categorical, Normal
from likely.models import mlp
from likely.objectives import NegativeLogLikelihood
from likely.typing import Batch


def sigmoid(t):
    return 1 / (1 + np.exp(-t))


def network(W1, b1, W2, b2, x, y):
    """The 2-1-2 network: tanh hidden, sigmoid output, half the squared error."""
    z1 = W1 @ x + b1
    a1 = jnp.tanh(z1)
    z2 = W2 @ a1 + b2
    a2 = jax.nn.sigmoid(z2)
    return 0.5 * jnp.sum((a2 - y) ** 2)


W1, b1 = np.array([[0.5, -0.4]]), np.array([0.1])
W2, b2 = np.array([[0.7], [-0.2]]), np.array([0.0, 0.2])
x, y = np.array([1.0, 2.0]), np.array([1.0, 0.0])


@pytest.fixture(scope="module")
def recorded():
    with float64():
        return trace(network, W1, b1, W2, b2, x, y, argnums=(0, 1, 2, 3))


def test_worked_2_1_2_network(recorded):
    """Seven parameters, and every quantity equals its explicit formula."""
    assert sum(np.size(p) for p in (W1, b1, W2, b2)) == parameter_count((2, 1, 2)) == 7
    # a₁ = σ(w₁₁x₁ + w₁₂x₂ + b), output i: σ(vᵢ a₁ + cᵢ)
    z1 = W1[0, 0] * x[0] + W1[0, 1] * x[1] + b1[0]
    a1 = np.tanh(z1)
    z2 = np.array([W2[0, 0] * a1 + b2[0], W2[1, 0] * a1 + b2[1]])
    a2 = sigmoid(z2)
    back = recorded.backprop()
    for found, expected in (
        (back[1].z, [z1]),
        (back[1].a, [a1]),
        (back[2].z, z2),
        (back[2].a, a2),
        (back.loss, ((a2 - y) ** 2).sum() / 2),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    delta2 = (a2 - y) * a2 * (1 - a2)  # dL/da = a − y for half the squared error
    delta1 = (1 - a1**2) * (W2[0, 0] * delta2[0] + W2[1, 0] * delta2[1])
    for found, expected in (
        (back[2].delta, delta2),
        (back[2].slope, a2 * (1 - a2)),
        (back[2].bias_gradient, delta2),
        (back[2].weight_gradient, np.outer(delta2, [a1])),
        (back[1].delta, [delta1]),
        (back[1].slope, [1 - a1**2]),
        (back[1].bias_gradient, [delta1]),
        (back[1].weight_gradient, delta1 * x[None]),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_recursion_of_the_notes(recorded):
    """δʲ = σ'(zʲ) ⊙ (Wʲ⁺¹)ᵀδʲ⁺¹, ∂L/∂b = δ, ∂L/∂W = δ aᵀ."""
    first, second = recorded.backprop().layers
    expected = first.slope * (second.weight.T @ second.delta)
    np.testing.assert_allclose(first.delta, expected, rtol=1e-14)
    for layer in (first, second):
        np.testing.assert_allclose(layer.bias_gradient, layer.delta)
        outer = np.outer(layer.delta, layer.a_in)
        np.testing.assert_allclose(layer.weight_gradient, outer, rtol=1e-14)


def test_misprinted_derivation_is_wrong(recorded):
    """With the derivative of the next layer's activation, δ is wrong."""
    first, second = recorded.backprop().layers
    wrong = sigmoid(first.z) * (1 - sigmoid(first.z)) * (second.weight.T @ second.delta)
    exact = numerical_gradient(network, W1, b1, W2, b2, x, y, argnums=1)
    assert np.abs(first.delta - exact).max() < 1e-9
    assert np.abs(wrong - exact).max() > 1e-2


def test_mean_squared_error_has_a_factor():
    """dL/da = a − y is for half the sum; the mean has 2(a − y)/n."""
    a, y = np.array([0.2, 0.7, 0.4]), np.array([0.0, 1.0, 1.0])
    with float64():
        half = trace(lambda a: 0.5 * jnp.sum((a - y) ** 2), a).reverse().gradient
        mean = trace(lambda a: jnp.mean((a - y) ** 2), a).reverse().gradient
    np.testing.assert_allclose(half, a - y, rtol=1e-14)
    np.testing.assert_allclose(mean, 2 * (a - y) / 3, rtol=1e-14)


def test_relu_passes_what_was_positive():
    """The adjoint times 1[b > 0]; at the kink JAX takes 0."""
    b = np.array([-1.0, 0.0, 2.0], np.float32)
    back = trace(lambda b: jnp.sum(jax.nn.relu(b) * jnp.array([5.0, 6.0, 7.0])), b)
    np.testing.assert_array_equal(back.reverse().gradient, [0.0, 0.0, 7.0])


def test_softmax_output_needs_the_full_jacobian(getkey):
    """Through softmax, δ of an output depends on all adjoints."""
    W = np.asarray(jax.random.normal(getkey(), (3, 2)))
    t = np.array([0.2, 0.5, 0.3], np.float32)

    def f(W, x):
        return -jnp.sum(t * jnp.log(jax.nn.softmax(W @ x)))

    back = trace(f, W, x.astype(np.float32), argnums=0).backprop()
    z = W @ x
    p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
    np.testing.assert_allclose(back[1].delta, p - t, atol=1e-6)


def test_generalised_delta_rule_for_any_activation():
    """The recursion holds for an activation without a name."""

    def odd(z):
        return z / (1 + z**2)

    def f(W1, W2, x):
        return jnp.sum(jnp.cos(W2 @ odd(W1 @ x)))

    with float64():
        back = trace(f, W1.T @ W1, W2.T @ W2 * np.ones((3, 2)), x).backprop()
    first, second = back.layers
    slope = (1 - first.z**2) / (1 + first.z**2) ** 2
    np.testing.assert_allclose(first.slope, slope, rtol=1e-13)
    expected = slope * (second.weight.T @ second.delta)
    np.testing.assert_allclose(first.delta, expected, rtol=1e-13)


def test_network_of_the_library_with_rows(getkey):
    """An MLP under its likelihood: names, and Z = A W + b for rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 4)).astype(np.float32)
    data = Batch(jnp.asarray(X), jnp.asarray(rng.integers(0, 3, 5)), jnp.ones(5))
    model = mlp((4, 3, 3), activation=jnp.tanh, key=getkey())
    objective = NegativeLogLikelihood.of(Categorical(3), data)
    recorded = trace(objective, model, data, argnums=0, has_aux=True)
    first, second = recorded.backprop().layers
    p = np.exp(second.z) / np.exp(second.z).sum(axis=1, keepdims=True)
    delta2 = (p - np.eye(3)[np.asarray(data.y)]) / 5
    delta1 = (1 - first.a**2) * (delta2 @ second.weight.T)
    near = {"rtol": 1e-4, "atol": 1e-6}
    np.testing.assert_allclose(second.delta, delta2, **near)
    np.testing.assert_allclose(first.delta, delta1, **near)
    np.testing.assert_allclose(first.weight_gradient, X.T @ delta1, **near)
    np.testing.assert_allclose(second.weight_gradient, first.a.T @ delta2, **near)
    np.testing.assert_allclose(first.bias_gradient, delta1.sum(axis=0), **near)
    assert {"W¹", "b¹", "z¹", "a¹", "W²", "z²"} <= set(recorded.names)
    assert first.activation == "tanh"
    text = str(recorded.backprop())
    assert "σ'(z¹) ⊙ δ² (W²)ᵀ" in text
    assert "δ¹, summed over examples" in text


def test_batch_norm_between_layers_is_found(getkey):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2)).astype(np.float32)
    data = Batch(jnp.asarray(X), jnp.asarray(X[:, 0]), jnp.ones(6))
    model = mlp((2, 3, 1), norm="batch", key=getkey())
    objective = NegativeLogLikelihood.of(Normal(scale=1.0), data)
    state = model.initial_state()
    recorded = trace(
        objective, model, data, argnums=0, has_aux=True, key=getkey(), state=state
    )
    back = recorded.backprop()
    assert [layer.weight.shape for layer in back.layers] == [(2, 3), (3, 1)]
    assert back[1].slope is None  # it is not entry by entry
    gradient = recorded.reverse().gradient
    np.testing.assert_array_equal(
        back[2].weight_gradient, jax.tree.leaves(gradient.layers[-1])[0]
    )


def test_functions_without_layers_say_so():
    with pytest.raises(InputError, match="no layer in this trace"):
        trace(lambda x: jnp.sin(x), 0.3).backprop()
