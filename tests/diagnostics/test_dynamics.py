"""Linear networks in closed form against the training loop, an ODE solver and by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import solve_ivp

import likely as lk
from likely import models
from likely.core import InputError
from likely.diagnostics import balanced, gradient_flow, linear_dynamics
from likely.diagnostics.dynamics import closed_form
from likely.diagnostics.dynamics.losses import PlainFunction, Quadratic

KEY = jax.random.key(0)


def white(rng, n=40, d=3) -> np.ndarray:
    X = rng.normal(size=(n, d))
    X = X - X.mean(0)
    return X @ np.linalg.cholesky(np.linalg.inv(X.T @ X / n))


def rotation(rng, n: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(n, n)))[0]


def linear_mlp(sizes, variance=1e-3):
    return models.mlp(
        sizes, activation="identity", init=("gaussian", variance), key=jax.random.key(0)
    )


@pytest.fixture(scope="module")
def two():
    """Three modes that begin along the singular vectors of the target, at 0.01."""
    rng = np.random.default_rng(0)
    X, U, V, R = white(rng), rotation(rng, 3), rotation(rng, 3), rotation(rng, 4)[:, :3]
    Y = X @ (V * [3.0, 1.5, 0.8]) @ U.T
    start = eqx.tree_at(
        lambda m: [m.layers[0].weight, m.layers[2].weight],
        linear_mlp((3, 4, 3)),
        [0.1 * V @ R.T, 0.1 * R @ U.T],
    )
    return X, Y, start, linear_dynamics(start, X, Y, rate=0.004, n_steps=800)


# closed forms -------------------------------------------------------------------------


@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.integers(0, 1000))
def test_two_balanced_layers_obey_their_equations(d, k, h, seed):
    """The Riccati solution against SciPy's ODE solver on Q and W, any shapes and inputs cI."""
    rng = np.random.default_rng(seed)
    G, c = rng.normal(size=(k, d)), float(rng.uniform(0.3, 2))
    m = min(d, k, h)
    R, U, V = rotation(rng, h)[:, :m], rotation(rng, k)[:, :m], rotation(rng, d)[:, :m]
    root = np.sqrt(rng.uniform(0.01, 1, m))
    W, Q = R * root @ V.T, U * root @ R.T
    times = np.array([0.0, 0.1, 0.5, 3.0])

    def slope(_, z):
        W, Q = z[: h * d].reshape(h, d), z[h * d :].reshape(k, h)
        left = G - c * Q @ W
        return np.r_[(2 * Q.T @ left).ravel(), (2 * left @ W.T).ravel()]

    start = np.r_[W.ravel(), Q.ravel()]
    flow = solve_ivp(slope, (0, 3), start, "DOP853", times, rtol=1e-11, atol=1e-12).y.T
    expected = [z[h * d :].reshape(k, h) @ z[: h * d].reshape(h, d) for z in flow]
    found = closed_form.two_layers(W, Q, G, c, times)
    np.testing.assert_allclose(found, np.stack(expected), atol=1e-7)


def test_aligned_modes_are_sigmoids():
    """Q = U√a, W = √a Vᵀ: each mode alone, half at log(s/a − 1)/(4s)."""
    rng = np.random.default_rng(1)
    U, V = rotation(rng, 3), rotation(rng, 3)
    s, a = np.array([2.0, 1.0, 0.5]), np.array([1e-3, 2e-3, 1e-2])
    times = np.linspace(0, 6, 200)
    A = closed_form.two_layers(
        np.sqrt(a)[:, None] * V.T, U * np.sqrt(a), (U * s) @ V.T, 1.0, times
    )
    found = np.einsum("km,tkd,dm->tm", U, A, V)
    np.testing.assert_allclose(
        found, closed_form.sigmoid_mode(s, a, 1.0, times), atol=1e-9
    )
    half = closed_form.half_time(s, a, 1.0)
    np.testing.assert_allclose(half, np.log(s / a - 1) / (4 * s))
    at_half = closed_form.sigmoid_mode(s, a, 1.0, half)
    np.testing.assert_allclose(np.diag(at_half), s / 2)


def test_one_layer_with_white_inputs_and_target_identity():
    """A(t) = I + e^(−2t)(A₀ − I), which solves Ȧ = 2(I − A)."""
    A0 = np.array([[0.3, -1.0], [2.0, 0.5]])
    times = np.array([0.0, 0.4, 1.0])
    found = closed_form.one_layer(A0, np.eye(2), np.eye(2), times)
    expected = np.eye(2) + np.exp(-2 * times)[:, None, None] * (A0 - np.eye(2))
    np.testing.assert_allclose(found, expected, atol=1e-14)


# against the training loop ------------------------------------------------------------


def test_one_layer_any_inputs(rng):
    """The flow within the accuracy of the ODE solver, the steps within rounding."""
    X = rng.normal(size=(30, 3)) * [1.0, 2.0, 0.5] + 1
    Y = X @ rng.normal(size=(3, 2)) + rng.normal(size=(30, 2))
    start = models.Linear(
        jnp.asarray(rng.normal(size=(3, 2))), jnp.asarray(rng.normal(size=2))
    )
    w = np.r_[np.zeros(5), np.full(5, 2.0), np.ones(20)]
    X[:5] = np.nan
    found = linear_dynamics(start, X, Y, w, rate=0.01, n_steps=300)
    assert found.flow_error < 1e-7
    gap = found.trained - found.closed
    scale = np.abs(found.closed).max()
    np.testing.assert_allclose(gap, found.predicted_gap, atol=1e-9 * scale)
    assert found.stated_error == pytest.approx(found.training_error, rel=1e-5)
    assert len(found.strengths) == 4  # the bias is an input that is always 1
    A = np.column_stack([X[5:], np.ones(25)])
    values = np.linalg.eigvalsh((A.T * w[5:]) @ A / w.sum())
    np.testing.assert_allclose(np.sort(found.speeds), 2 * values, rtol=1e-9)
    assert "fades at its own rate" in found.verdict


def test_two_layers_learn_mode_after_mode(two):
    found = two[-1]
    assert found.layers == 2
    np.testing.assert_allclose(found.strengths, [3, 1.5, 0.8], rtol=1e-9)
    assert found.flow_error < 1e-7
    # what the rate does is predicted by the modified flow, to second order
    gap = found.trained - found.closed
    assert np.abs(gap).max() > 1e-3
    assert np.abs(gap - found.predicted_gap).max() < 0.05 * np.abs(gap).max()
    closed, trained = found.half_times
    np.testing.assert_allclose(closed, found.sigmoid_times, atol=2e-3)
    assert (np.diff(closed) > 0).all()
    np.testing.assert_allclose(closed, trained, rtol=0.03)
    assert "one after another" in found.verdict
    assert len(found.plot().axes) == 2
    assert len(found.to_frame()) == 3


@pytest.mark.slow
def test_the_gap_to_training_is_of_first_order(two):
    X, Y, start, _ = two
    errors = [
        linear_dynamics(start, X, Y, rate=r, n_steps=int(2 / r)).training_error
        for r in (0.004, 0.002, 0.001)
    ]
    slopes = np.diff(np.log(errors)) / np.diff(np.log([0.004, 0.002, 0.001]))
    np.testing.assert_allclose(slopes, 1, atol=0.15)


def test_balanced_layers_are_the_same_function(rng):
    model = linear_mlp((4, 5, 2), 0.5)
    other = balanced(model)
    with jax.enable_x64(True):
        X = jnp.asarray(rng.normal(size=(7, 4)))
        np.testing.assert_allclose(other(X)[0], model(X)[0], atol=1e-5)
    W, Q = (np.asarray(other.layers[i].weight).T for i in (0, 2))
    np.testing.assert_allclose(W @ W.T, Q.T @ Q, atol=1e-12)


def test_what_the_closed_form_does_not_cover_is_said(rng):
    X = white(rng, 20)
    Y = X[:, :2]
    narrow = linear_mlp((3, 2, 2))
    with pytest.raises(InputError, match="relu, so it is not linear"):
        linear_dynamics(models.mlp((3, 4, 2), key=KEY), X, Y)
    with pytest.raises(InputError, match="not balanced"):
        linear_dynamics(narrow, X, Y)
    with pytest.raises(InputError, match="not white"):
        linear_dynamics(balanced(narrow), X * [1, 2, 3], Y)
    with pytest.raises(InputError, match="subtract the means"):
        linear_dynamics(balanced(narrow), X, Y + 1)
    with pytest.raises(InputError, match="beyond the limit"):
        linear_dynamics(balanced(narrow), X, Y, rate=2.0)
    with pytest.raises(InputError, match="3 layers with weights"):
        linear_dynamics(linear_mlp((3, 2, 2, 2)), X, Y)
    with pytest.raises(InputError, match="nothing to learn"):
        linear_dynamics(models.Linear.zeros(3, 2), X, 0 * Y, n_steps=5)
    with pytest.raises(InputError, match="from 3 inputs to 2 outputs"):
        linear_dynamics(models.Linear.zeros(3, 2), X, Y[:, 0])
    with pytest.raises(InputError, match="at most 4096"):
        linear_dynamics(models.Linear.zeros(3, 2), X, Y, n_steps=10_000)


@pytest.mark.slow
def test_principal_components_make_inputs_white(rng):
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    Z = lk.PCA(whiten=True).fit_transform(X)
    Y = Z[:, :2] - Z[:, :2].mean(0)
    found = linear_dynamics(balanced(linear_mlp((3, 3, 2))), Z, Y, n_steps=300)
    assert found.flow_error < 1e-7


# gradient flow ------------------------------------------------------------------------


def test_gradient_flow_of_a_quadratic_is_an_exponential():
    values = np.array([0.5, 3.0])
    times = np.array([0.0, 0.2, 0.2, 1.0, 4.0])
    found = gradient_flow(Quadratic(np.diag(values)), np.array([1.0, -2.0]), times)
    expected = np.exp(-np.outer(times, values)) * [1, -2]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    with pytest.raises(InputError, match="ascending"):
        gradient_flow(Quadratic(np.eye(2)), np.ones(2), np.array([1.0, 0.5]))


@pytest.mark.slow
def test_a_flow_that_is_infinite_after_a_while_is_refused():
    with pytest.raises(InputError, match="finite path"):
        gradient_flow(PlainFunction(_falls), np.ones(1), np.array([5.0]))


def _falls(x):
    return -jnp.sum(x**4)
