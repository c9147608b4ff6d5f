"""Implicit regularisation: orders of errors, batch sizes, least norm; worked numbers by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import likely as lk
from likely import families, models
from likely.core import InputError
from likely.diagnostics import (
    batch_size_study,
    gradient_flow,
    hessian_spectrum,
    implicit_regularization,
    loss_surface,
    minimum_norm,
    modified_loss,
)
from likely.diagnostics.dynamics.losses import gradient
from likely.models import Linear
from likely.solvers import GradientDescent, minimize

NORMAL = {"family": families.Normal(scale=1.0)}


@pytest.fixture(scope="module")
def network():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    y = np.sin(2 * X[:, 0])
    return X, y, models.mlp((2, 4, 1), activation="tanh", key=jax.random.key(0))


def square(x):
    return jnp.sum(x**2)


def test_one_step_on_a_parabola():
    """L = x², η = 0.1, x₀ = 1: descent 0.8, flow 0.818731, modified 0.802519; minus 0.83527."""
    step = minimize(square, np.ones(1), solver=GradientDescent(0.1, steps=1))
    assert np.asarray(step.model).item() == pytest.approx(0.8)
    one, time = np.ones(1), np.array([0.1])
    flows = {
        rate: gradient_flow(
            modified_loss(square, start=one, rate=rate), one, time
        ).item()
        for rate in (0.0, 0.1)
    }
    assert flows[0.0] == pytest.approx(np.exp(-0.2), abs=1e-9)
    assert flows[0.1] == pytest.approx(0.802519, abs=5e-7)
    assert flows[0.1] == pytest.approx(np.exp(-0.22), abs=1e-9)
    printed = np.exp(-0.18)  # with a minus: L − η/4 |∇L|²
    assert printed == pytest.approx(0.83527, abs=5e-6)
    assert abs(flows[0.1] - 0.8) < abs(flows[0.0] - 0.8) < abs(printed - 0.8)
    terms = modified_loss(square, start=one, rate=0.1).at(one)
    assert terms == pytest.approx((1.0, 0.1, 0.0))
    assert terms.total == pytest.approx(1.1)


def test_the_modified_flow_has_the_hessian_in_it(network):
    """−∇L̃ = −∇L − (η/2) H∇L, by products with the Hessian."""
    X, y, model = network
    surface = loss_surface(model, X, y, **NORMAL)
    modified = modified_loss(model, X, y, rate=0.3, **NORMAL)
    g = surface.gradient()
    expected = g + 0.15 * surface.hessian_product(g)
    found = gradient(modified, surface.center)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_the_batch_term_by_hand(rng):
    """Least squares: gradients of batches are −Aᵀ(y − Aφ)/n on their own rows."""
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    line = Linear.zeros(2, bias=False)
    modified = modified_loss(line, X, y, rate=0.2, n_batches=3, **NORMAL)
    phi = rng.normal(size=2)
    terms = modified.at(phi)
    parts = [np.flatnonzero(w[:12]) for w in modified.batches]
    assert sorted(np.concatenate(parts)) == list(range(12))
    g = -X.T @ (y - X @ phi) / 12
    each = [-X[i].T @ (y[i] - X[i] @ phi) / 4 for i in parts]
    assert terms.gradient == pytest.approx(0.05 * g @ g)
    assert terms.batches == pytest.approx(
        0.05 * np.mean([(e - g) @ (e - g) for e in each])
    )
    with pytest.raises(InputError, match="not 5 batches of equal size"):
        modified_loss(line, X, y, rate=0.2, n_batches=5, **NORMAL)
    with pytest.raises(InputError, match="unequal weights"):
        modified_loss(line, X, y, np.arange(12) + 1, rate=0.2, n_batches=3, **NORMAL)
    with pytest.raises(InputError, match="batches are of rows"):
        modified_loss(np.eye(2), rate=0.1, n_batches=2)
    with pytest.raises(InputError, match="rate is -1"):
        modified_loss(np.eye(2), rate=-1)


@pytest.mark.slow
@settings(max_examples=6)
@given(st.floats(0.01, 100), st.integers(0, 1000))
def test_descent_is_second_order_near_the_modified_flow(top, seed):
    """Over three decades of steps the slopes are within 0.15 of 1 and 2, on quadratics."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    found = implicit_regularization((Q * [top, 0.3 * top, 0.01 * top]) @ Q.T)
    assert found.rates[-1] / found.rates[0] == pytest.approx(1000)
    np.testing.assert_allclose(found.slopes, [1, 2], atol=0.15)
    assert found.holds


def test_descent_on_a_network_is_second_order_too(network):
    X, y, model = network
    found = implicit_regularization(model, X, y, **NORMAL)
    assert found.rates[-1] / found.rates[0] == pytest.approx(1000)
    np.testing.assert_allclose(found.slopes, [1, 2], atol=0.15)
    assert (found.slope_errors < 0.05).all()
    assert "theory 2" in found.verdict
    assert len(found.plot().axes) == 1


@pytest.mark.parametrize(
    "n_batches",
    [
        4,
        pytest.param(2, marks=pytest.mark.slow),
        pytest.param(5, marks=pytest.mark.slow),
    ],
)
def test_the_mean_over_all_orders_is_third_order_near_its_modified_flow(
    network, n_batches
):
    X, y, model = network
    found = implicit_regularization(model, X, y, n_batches=n_batches, **NORMAL)
    np.testing.assert_allclose(found.slopes, [2, 2, 3], atol=0.15)
    assert found.errors[2, -1] < 0.2 * found.errors[0, -1]
    assert "all orders" in found.verdict


@pytest.mark.slow
def test_kinks_spoil_the_order(network):
    X, y, _ = network
    model = models.mlp((2, 6, 1), key=jax.random.key(0))
    found = implicit_regularization(model, X, y, **NORMAL)
    assert not found.holds
    assert "kinks" in found.verdict


def test_settings_of_orders_are_checked(network):
    X, y, model = network
    with pytest.raises(InputError, match="give 2 to 5"):
        implicit_regularization(model, X, y, n_batches=10, **NORMAL)
    with pytest.raises(InputError, match="beyond 2/L = 0.4"):
        implicit_regularization(np.diag([1.0, 5.0]), rates=[1e-4, 1e-3, 0.5])


# batch sizes --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(64, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=64)
    settings_ = models.MLP((24,), "tanh")
    options = {"rate": 0.15, "n_steps": 2000, "n_seeds": 4, **NORMAL}
    return (
        X,
        y,
        settings_,
        batch_size_study(settings_, X, y, batch_sizes=(2, 8, 64, 128), **options),
    )


def test_small_batches_find_flat_weights_of_low_norm(study):
    found = study[-1]
    assert found.sizes == (2, 8, 64)  # 128 is more than there are rows
    for values in (found.sharpness, found.norm):
        slope, error = found.trend(values)
        assert slope > 3 * error > 0
    assert (found.sharpness[0] < found.sharpness[-1]).all()
    assert "flatter" in found.verdict
    assert "of lower norm" in found.verdict
    assert found.residual < 1e-3
    assert found.diverged == 0
    assert len(found.plot().axes) == 3


@pytest.mark.slow
def test_a_batch_of_all_rows_is_gradient_descent(study):
    """The same weights as the solver's own run, and the same largest eigenvalue as exactly."""
    X, y, settings_, found = study
    first = jax.random.split(jax.random.split(jax.random.key(0), 4)[1], 3)[0]
    start = settings_.build(2, 1, key=first)
    solver = GradientDescent(0.15, steps=2000)
    fit = lk.recipe.fit(
        NORMAL["family"],
        start,
        lk.typing.Batch(
            X.astype(np.float32), y.astype(np.float32), np.ones(64, np.float32)
        ),
        solver=solver,
        key=jax.random.key(7),
    )
    leaves = [np.ravel(leaf) for leaf in jax.tree.leaves(fit.model)]
    assert found.norm[-1, 1] == pytest.approx(
        np.linalg.norm(np.concatenate(leaves)), rel=1e-3
    )
    top = hessian_spectrum(fit, X, y).values[0]
    assert found.sharpness[-1, 1] == pytest.approx(top, rel=1e-2)


def test_settings_of_the_study_are_checked(study):
    X, y, settings_, _ = study
    with pytest.raises(InputError, match="two or more"):
        batch_size_study(settings_, X, y, batch_sizes=(4,), **NORMAL)
    with pytest.raises(InputError, match="n_seeds"):
        batch_size_study(settings_, X, y, n_seeds=1, **NORMAL)


# least norm ---------------------------------------------------------------------------


def test_descent_from_zero_ends_at_the_solution_of_least_norm(rng):
    X, y = rng.normal(size=(8, 20)), rng.normal(size=8)
    found = minimum_norm(X, y, n_steps=2000)
    best = np.linalg.pinv(X) @ y
    assert found.least_norm == pytest.approx(np.linalg.norm(best))
    by_name = dict(zip(found.solvers, range(len(found.solvers)), strict=True))
    for name in ("gradient descent", "momentum", "Nesterov", "single rows"):
        assert found.distances[by_name[name]] < 1e-6
        assert found.outside[by_name[name]] < 1e-10
    assert found.distances[by_name["Adam"]] > 0.05
    # from elsewhere: A⁺y + (I − A⁺A) φ₀
    other = by_name["gradient descent from elsewhere"]
    assert found.distances[other] == pytest.approx(found.expected[other], rel=1e-6)
    assert found.expected[other] > 0.3
    assert found.errors[other] < 1e-6
    assert "Not: Adam" in found.verdict
    assert len(found.plot().axes) == 1


@pytest.mark.slow
def test_least_norm_with_weights_biases_and_rows_that_contradict(rng):
    X, y = rng.normal(size=(8, 12)), rng.normal(size=8)
    X[7], w = X[6], np.r_[np.full(2, 2.0), np.ones(5), 3.0]
    found = minimum_norm(X, y, w, model=Linear.zeros(12), n_steps=4000)
    A = np.column_stack([X, np.ones(8)]) * np.sqrt(w)[:, None]
    best = np.linalg.pinv(A, rcond=1e-10) @ (y * np.sqrt(w))
    assert found.least_norm == pytest.approx(np.linalg.norm(best))
    assert found.rank == 7
    assert "single rows" not in found.solvers
    assert found.distances[0] < 1e-6


@pytest.mark.slow
def test_where_least_norm_means_nothing(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    with pytest.raises(InputError, match="one solution"):
        minimum_norm(X, y)
    network = models.mlp((3, 2, 1), key=jax.random.key(0))
    with pytest.raises(InputError, match="no linear model"):
        minimum_norm(X, y, model=network)
    with pytest.raises(InputError, match="one target"):
        minimum_norm(X, np.stack([y, y], 1))
