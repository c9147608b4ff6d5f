import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.layers import Dense
from likely.models import Linear, Null, Shared, mlp
from likely.typing import LinearModel, Model

D, N = 3, 6


def models(key):
    return {
        "null": Null(jnp.array([1.0, 2.0])),
        "linear": Linear.zeros(D, 2),
        "linear without bias": Linear.zeros(D, 2, bias=False),
        "shared": Shared(Linear.zeros(D, 1), jnp.array([0.5])),
        "mlp": mlp((D, 8, 2), key=key),
    }


@pytest.mark.parametrize("name", models(jax.random.key(0)))
def test_every_model_keeps_the_protocol(name, rng, getkey):
    model = models(getkey())[name]
    X = jnp.asarray(rng.normal(size=(N, D)), jnp.float32)
    assert isinstance(model, Model)
    eta, state = model(X)
    assert eta.shape == (N, 2)
    assert state is None
    jitted, _ = jax.jit(lambda m, X: m(X))(model, X)
    np.testing.assert_allclose(jitted, eta, rtol=1e-6)
    rows = [model(X[i : i + 1])[0] for i in range(N)]
    np.testing.assert_allclose(jnp.concatenate(rows), eta, rtol=1e-5)


def test_linear_is_its_design_times_its_coefficients(rng):
    X = jnp.asarray(rng.normal(size=(N, D)), jnp.float32)
    model = Linear(jnp.asarray(rng.normal(size=(D, 2)), jnp.float32), jnp.ones(2))
    assert isinstance(model, LinearModel)
    np.testing.assert_allclose(model.design(X)[:, -1], 1)
    product = model.design(X) @ model.coefficients
    np.testing.assert_allclose(product, model(X)[0], rtol=1e-5)
    again = model.with_coefficients(model.coefficients)
    np.testing.assert_array_equal(again.weight, model.weight)
    np.testing.assert_array_equal(again.bias, model.bias)


def test_shared_appends_the_same_tail_to_every_row(rng):
    X = jnp.asarray(rng.normal(size=(N, D)), jnp.float32)
    eta, _ = Shared(Linear.zeros(D, 1), jnp.array([0.5]))(X)
    np.testing.assert_array_equal(eta[:, 1], 0.5)


def test_a_dense_layer_has_k_times_d_plus_one_numbers(getkey):
    """c'(c+1), not (c'+1)c, which is 18 for c=3, c'=5 instead of 20."""
    layer = Dense(3, 5, key=getkey())
    assert layer.weight.size + layer.bias.size == 20
