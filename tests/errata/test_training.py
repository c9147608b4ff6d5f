"""Misprints and worked numbers about training: dynamics and implicit regularisation."""

import jax.numpy as jnp
import numpy as np

from likely.diagnostics import gradient_flow, modified_loss
from likely.diagnostics.dynamics import closed_form
from likely.diagnostics.dynamics.losses import PlainFunction, gradient
from likely.solvers import GradientDescent, minimize


def square(x):
    return jnp.sum(x**2)


def test_the_modified_loss_is_added_with_a_plus():
    """X001-12, W32: x², η = 0.1, from 1: GD 0.8; flow 0.818731; plus 0.802519; minus 0.83527."""
    one, time = np.ones(1), np.array([0.1])
    step = minimize(square, one, solver=GradientDescent(0.1, steps=1)).model
    plus = gradient_flow(modified_loss(square, start=one, rate=0.1), one, time)
    plain = gradient_flow(PlainFunction(square), one, time)
    minus = gradient_flow(PlainFunction(_minus), one, time)
    found = [np.asarray(a).item() for a in (step, plain, plus, minus)]
    np.testing.assert_allclose(found, [0.8, 0.818731, 0.802519, 0.83527], atol=5e-6)
    gaps = np.abs(np.array(found[1:]) - found[0])
    assert gaps[1] < gaps[0] < gaps[2]


def _minus(x):
    return jnp.sum(x**2) - 0.1 / 4 * jnp.sum((2 * x) ** 2)


def test_the_matrix_of_one_layer_in_terms_of_its_derivative():
    """X004-28: A = I − Ȧ/(2η); printed A = −½ηȦ + I. In time η·t, by differences."""
    A0, eta, t, h = np.array([[0.2, 0.7], [-0.4, 1.5]]), 0.5, 0.3, 1e-5
    times = eta * np.array([t - h, t, t + h])
    before, A, after = closed_form.one_layer(A0, np.eye(2), np.eye(2), times)
    derivative = (after - before) / (2 * h)
    np.testing.assert_allclose(A, np.eye(2) - derivative / (2 * eta), atol=1e-9)
    printed = np.eye(2) - 0.5 * eta * derivative
    assert np.abs(A - printed).max() > 0.3


def test_the_risk_of_two_layers_and_its_gradients():
    """X004-29: R = Tr(AAᵀ) − 2Tr(AGᵀ), A = QW: 2(QW − G)Wᵀ and 2Qᵀ(QW − G)."""
    rng = np.random.default_rng(0)
    Q, W, G = (rng.normal(size=s) for s in ((3, 2), (2, 4), (3, 4)))

    def risk(phi):
        A = phi[:6].reshape(3, 2) @ phi[6:].reshape(2, 4)
        return jnp.sum(A * A) - 2 * jnp.sum(A * G)

    found = gradient(PlainFunction(risk), np.r_[Q.ravel(), W.ravel()])
    right = np.r_[(2 * (Q @ W - G) @ W.T).ravel(), (2 * Q.T @ (Q @ W - G)).ravel()]
    np.testing.assert_allclose(found, right, atol=1e-12)
    # Q̇ and Ẇ of the closed form are minus these: one short step of time from balanced layers
    U, s, Vt = np.linalg.svd(G, full_matrices=False)
    Q, W = U * 0.3, 0.3 * Vt
    A = closed_form.two_layers(W, Q, G, 1.0, np.array([0.0, 1e-6]))
    left = G - Q @ W
    np.testing.assert_allclose(
        (A[1] - A[0]) / 1e-6, 2 * left @ W.T @ W + Q @ Q.T @ (2 * left), rtol=1e-4
    )
    printed = Q @ W - (0 * G + np.eye(3, 4))  # the identity in the place of G
    assert np.abs(printed - (Q @ W - G)).max() > 0.1
    assert s.min() > 0
