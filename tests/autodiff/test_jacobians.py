"""Jacobians of steps, what forward mode makes of them, and the order of products."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.autodiff import chain_product, trace
from likely.core import InputError, float64


def two_layers(W1, W2, x):
    h1 = jnp.tanh(W1 @ x)
    return jnp.sin(W2 @ h1)


RNG = np.random.default_rng(0)
W1, W2, X = (RNG.normal(size=s) for s in ((3, 2), (4, 3), (2,)))


@pytest.fixture(scope="module")
def recorded():
    with float64():
        return trace(two_layers, W1, W2, X)


def test_input_and_weight_jacobians_of_each_step(recorded):
    """∂ₓf ~ (c', c) and ∂_w f ~ (c', p)."""
    found = recorded.jacobians()
    kinds = {(j.output, j.input): (j.kind, j.shape) for j in found.local}
    product = recorded.steps[0]
    out, w, x = product.outputs[0], *product.inputs
    assert kinds[out, w] == ("weight", (3, 3, 2))  # c' = 3, p = 6
    assert kinds[out, x] == ("input", (3, 2))
    np.testing.assert_allclose(found.of("v1", "x"), W1)
    expected = np.einsum("ik,l->ikl", np.eye(3), X)
    np.testing.assert_allclose(found.of("v1", "W1"), expected)
    slope = 1 - np.tanh(W1 @ X) ** 2
    np.testing.assert_allclose(found.of("h1", "v1"), np.diag(slope), atol=1e-15)
    assert "∂h1/∂z¹" in str(found)  # v1 is what layer 1 computes


def test_forward_mode_multiplies_them_up(recorded):
    """∂hᵢ/∂wⱼ after every step is that of `jax.jacfwd`."""
    totals = recorded.jacobians().accumulate()
    with float64():
        exact = jax.jacfwd(two_layers, argnums=(0, 1, 2))(W1, W2, X)
        hidden = jax.jacfwd(lambda W: jnp.tanh(W @ X))(W1)
    for name, jacobian in zip(("W1", "W2", "x"), exact, strict=True):
        np.testing.assert_allclose(totals.of("result", name), jacobian, atol=1e-14)
    np.testing.assert_allclose(totals.of("h1", "W1"), hidden, atol=1e-14)
    assert totals.of("h1", "W1").shape == (3, 3, 2)
    assert "4×3×2" in str(totals)


def test_reverse_mode_takes_fewer_products_for_one_output():
    with float64():
        recorded = trace(lambda W1, W2, x: two_layers(W1, W2, x).sum(), W1, W2, X)
    totals = recorded.jacobians().accumulate()
    assert totals.reverse_multiply_adds < totals.multiply_adds / 4
    gradient = recorded.reverse().gradient
    np.testing.assert_allclose(totals.of("result", "W1"), gradient[0], atol=1e-14)


def test_a_value_used_twice_adds_up():
    with float64():
        recorded = trace(lambda x: x * x, np.array([1.0, 3.0]))
    np.testing.assert_allclose(
        recorded.jacobians().of("result", "x"), np.diag([2.0, 6.0])
    )


def test_large_jacobians_are_named_and_not_computed(recorded):
    found = recorded.jacobians(largest=10)
    assert any(j.value is None for j in found.local)
    assert "too large" in str(found)
    with pytest.raises(InputError, match="too large to multiply"):
        found.accumulate()
    with pytest.raises(InputError, match="no step makes"):
        found.of("result", "x")


def test_order_of_the_product():
    """Jₗ ... J₁, latest on the left; vector times matrix first."""
    J1, J2, J3 = RNG.normal(size=(3, 20, 20))
    row = RNG.normal(size=(1, 20))
    forward, many = chain_product([row, J3, J2, J1], order="forward")
    reverse, few = chain_product([row, J3, J2, J1], order="reverse")
    np.testing.assert_allclose(forward, reverse)
    np.testing.assert_allclose(reverse, row @ J3 @ J2 @ J1)
    assert (few, many) == (3 * 20**2, 2 * 20**3 + 20**2)
    assert np.abs(row @ J1 @ J2 @ J3 - reverse).max() > 1
    column, few = chain_product([J3, J2, J1, row.T], order="forward")
    assert few == 3 * 20**2
    with pytest.raises(InputError, match="order='up'"):
        chain_product([J1, J2], order="up")


def test_the_trace_of_the_notes():
    """hᵢ = fᵢ(hᵢ₋₁, wᵢ), y = Σ h, and 1ᵀ times Jacobians back."""
    h, w = np.array([0.3, -0.2]), [np.array([0.5, 1.5]), np.array([-1.0, 0.7])]

    def program(w, x):
        for each in w:
            x = jnp.tanh(each * x)
        return x.sum()

    with float64():
        recorded = trace(program, w, h)
    states, slopes = [h], []
    for each in w:
        states.append(np.tanh(each * states[-1]))
        slopes.append(1 - states[-1] ** 2)
    adjoint = np.ones(2)
    gradients = []
    for i in (1, 0):
        gradients.insert(0, adjoint * slopes[i] * states[i])
        adjoint = adjoint * slopes[i] * w[i]
    found = recorded.reverse().gradient
    np.testing.assert_allclose(found[0][0], gradients[0], rtol=1e-14)
    np.testing.assert_allclose(found[0][1], gradients[1], rtol=1e-14)
    np.testing.assert_allclose(found[1], adjoint, rtol=1e-14)
