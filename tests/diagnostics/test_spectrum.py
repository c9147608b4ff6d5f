"""The spectrum of the Hessian and sharpness, against closed forms and the dense matrix."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import likely as lk
from likely import families, models
from likely.core import InputError
from likely.diagnostics import hessian_spectrum, loss_surface, sharpness


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1.0, 2.0]
    y = X @ [1.0, -1.0] + rng.normal(size=60)
    model = lk.LinearRegression().fit(X, y)
    A = np.column_stack([X, np.ones(60)])
    return X, y, model, A / np.std(y - model.predict(X))


@pytest.fixture(scope="module")
def network():
    """A network that is not at a minimum."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    return X, y, models.mlp((3, 8, 8, 1), activation="tanh", key=jax.random.key(0))


NORMAL = {"family": families.Normal(scale=1.0)}


def test_a_linear_model_has_the_curvature_of_its_design(line):
    X, y, model, A = line
    found = hessian_spectrum(model, X, y, n_values=3)
    values, vectors = np.linalg.eigh(A.T @ A / 60)
    np.testing.assert_allclose(found.values, values[::-1], rtol=1e-10)
    assert found.trace == pytest.approx(values.sum())
    assert found.trace_error == 0
    assert found.gradient < 1e-10
    curvatures = (A @ vectors[:, ::-1]) ** 2  # of each row along each eigenvector
    errors = curvatures.std(0, ddof=1) / np.sqrt(60)
    np.testing.assert_allclose(found.row_errors, errors, rtol=1e-8)
    assert "No eigenvalue is shown to be negative" in found.verdict


def test_lanczos_agrees_with_the_whole_hessian(network):
    X, y, model = network
    exact = hessian_spectrum(model, X, y, method="exact", **NORMAL)
    found = hessian_spectrum(model, X, y, method="lanczos", n_steps=24, **NORMAL)
    surface = loss_surface(model, X, y, **NORMAL)
    H = np.stack([surface.hessian_product(v) for v in np.eye(surface.n_parameters)])
    values = np.linalg.eigvalsh(H)
    np.testing.assert_allclose(exact.values, values[::-1][:5], atol=1e-12)
    assert (np.abs(found.values - exact.values) <= found.residuals + 1e-10).all()
    assert found.residuals[0] < 1e-6
    assert abs(found.lowest - values[0]) < found.lowest_residual + 1e-10
    assert abs(found.trace - exact.trace) < 4 * found.trace_error
    assert exact.negative == pytest.approx((values < -1e-4 * values[-1]).mean())
    assert abs(found.negative - exact.negative) < 4 * found.negative_error + 0.02
    for each in (exact, found):
        assert np.trapezoid(each.density, each.grid) == pytest.approx(1, abs=2e-3)
        assert "not a minimum" in each.verdict
        assert len(each.plot().axes) == 1
    again = hessian_spectrum(model, X, y, method="lanczos", n_steps=24, **NORMAL)
    np.testing.assert_array_equal(found.values, again.values)


def test_sharpness_of_a_quadratic_is_its_curvature(line):
    X, y, model, A = line
    found = sharpness(model, X, y, rho=0.1)
    top = np.linalg.eigvalsh(A.T @ A / 60)[-1]
    assert found.largest_eigenvalue.value == pytest.approx(top)
    assert found.rise.value == pytest.approx(0.5 * 0.1**2 * top, rel=1e-8)
    assert found.rise.value == pytest.approx(found.quadratic, rel=1e-8)
    # relative to each weight: the largest eigenvalue in units of the weights
    T = np.abs(loss_surface(model, X, y).center)
    relative = np.linalg.eigvalsh(T[:, None] * (A.T @ A / 60) * T)[-1]
    assert found.adaptive_rise.value == pytest.approx(0.5 * 0.1**2 * relative, rel=1e-3)
    noise = 0.5 * 0.05**2 * (T**2 * np.diag(A.T @ A / 60)).sum()
    assert abs(found.random_rise.value - noise) < 4 * found.random_rise.error
    assert len(found.plot().axes) == 1


@pytest.mark.slow
def test_adaptive_sharpness_does_not_see_the_scale_of_relu_layers(rng):
    """The same function with layers times and over 8: another λ, the same adaptive rise."""
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = models.mlp((2, 4, 1), key=jax.random.key(3))
    layers = lambda m: [m.layers[0].weight, m.layers[2].weight]  # noqa: E731
    first, second = layers(model)
    other = eqx.tree_at(layers, model, [8 * first, second / 8])
    a, b = (sharpness(m, X, y, **NORMAL) for m in (model, other))
    assert a.loss.value == pytest.approx(b.loss.value, rel=1e-12)
    assert a.adaptive_rise.value == pytest.approx(b.adaptive_rise.value, rel=0.02)
    assert abs(np.log(a.largest_eigenvalue.value / b.largest_eigenvalue.value)) > 0.5


def test_settings_are_checked(line):
    X, y, model, _ = line
    with pytest.raises(InputError, match="method is 'dense'"):
        hessian_spectrum(model, X, y, method="dense")
    with pytest.raises(InputError, match="n_starts at least 2"):
        hessian_spectrum(model, X, y, n_starts=1)
    with pytest.raises(InputError, match="rho"):
        sharpness(model, X, y, rho=-1.0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_convolutional_network_in_both_precisions(rng):
    X, y = rng.random((24, 8, 8, 1)), rng.integers(3, size=24)
    model = lk.CNNClassifier(max_iter=2).fit(X, y)
    double = hessian_spectrum(model, X, y, n_steps=20, n_starts=2)
    single = hessian_spectrum(model, X, y, n_steps=20, n_starts=2, precision="single")
    np.testing.assert_allclose(single.values[:2], double.values[:2], rtol=1e-3)
    v = jnp.ones(3)
    assert v.dtype == jnp.float32  # outside of the scope as before
