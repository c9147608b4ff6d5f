"""Hand-written derivatives against the plain versions beside them; precision; errors."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import InputError, float64
from likely.layers import (
    BatchNorm,
    Chain,
    LayerNorm,
    MixedPrecision,
    initial_state,
)
from likely.layers.norms import batch_norm, layer_norm


@partial(jax.jit, static_argnums=0)
def both(function, *args):
    """Values, a pulled-back cotangent and the Hessian along a direction."""

    def total(*args):
        values = [y.ravel() for y in function(*args)]
        return sum(y @ jnp.sin(1.0 + jnp.arange(y.size)) for y in values)

    ahead = tuple(jnp.cos(jnp.arange(a.size)).reshape(a.shape) for a in args)
    slope = jax.grad(total, argnums=tuple(range(len(args))))
    return function(*args), jax.jvp(slope, args, ahead)


def same(a, b):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, 1e-9, 1e-11), a, b)


@pytest.mark.parametrize("positions", [1, 4])
def test_batch_norm_by_hand_is_the_plain_one(rng, positions):
    with float64():
        X = jnp.asarray(rng.normal(size=(6, positions, 3)) + 3)
        w = jnp.array([1.0, 2.0, 0.0, 1.0, 0.5, 3.0])
        args = X, w, jnp.array([1.0, -2.0, 0.5]), jnp.array([0.0, 1.0, 3.0])
        pair = (batch_norm.normalize, batch_norm.plain_normalize)
        same(*(both(lambda *args, f=f: f(*args, 1e-5), *args) for f in pair))


@pytest.mark.parametrize("given", range(4))
def test_batch_norm_differentiates_by_each_argument_alone(rng, given):
    with float64():
        X = jnp.asarray(rng.normal(size=(5, 2, 3)))
        args = X, jnp.array([1.0, 2.0, 0.0, 1.0, 0.5]), X[0, 0], X[0, 1]

        def one(f):
            def partly(a):
                return f(*args[:given], a, *args[given + 1 :], 1e-5)

            return both(partly, args[given])

        same(one(batch_norm.normalize), one(batch_norm.plain_normalize))


def test_what_an_absent_row_holds_changes_nothing(rng, getkey):
    X = jnp.asarray(rng.normal(size=(4, 2, 2, 3)), jnp.float32)
    w, norm, key = jnp.array([1.0, 0.0, 2.0, 1.0]), BatchNorm(3), getkey()

    def total(norm, X):
        y, state = norm(X, w=w, key=key, state=norm.initial_state())
        return jnp.sum(w[:, None, None, None] * y**3), state

    found = jax.grad(total, (0, 1), has_aux=True)(norm, X)
    same(found, jax.grad(total, (0, 1), has_aux=True)(norm, X.at[1].set(jnp.nan)))


def test_layer_norm_by_hand_is_the_plain_one(rng):
    with float64():
        X = jnp.asarray(rng.normal(size=(4, 6)) + 3)
        pair = (layer_norm.standardize, layer_norm.plain_standardize)
        same(*(both(lambda X, f=f: (f(X, 1e-5),), X) for f in pair))


def test_epsilon_stands_inside_the_root(getkey):
    """For (1, 2, 3)·1e-3: 0.306 with ε in the root, 1.21 with ε beside it."""
    X = jnp.array([[1e-3], [2e-3], [3e-3]])
    norm = BatchNorm(1, epsilon=1e-5)
    y, _ = norm(X, key=getkey(), state=norm.initial_state())
    assert y[2, 0] == pytest.approx(0.306, abs=5e-4)
    np.testing.assert_allclose(
        LayerNorm(3, epsilon=1e-5)(X.T)[0][0], y[:, 0], rtol=1e-5
    )


def test_batch_norm_of_images_counts_positions_and_weights(rng, getkey):
    X = rng.normal(size=(4, 3, 2, 5)).astype(np.float32)
    w = np.array([1.0, 0.0, 2.0, 1.0])
    norm = BatchNorm(5, rate=1.0)
    y, state = norm(
        jnp.asarray(X), w=jnp.asarray(w), key=getkey(), state=norm.initial_state()
    )
    kept = X[[0, 2, 2, 3]]
    np.testing.assert_allclose(state.mean, kept.mean((0, 1, 2)), atol=1e-6)
    np.testing.assert_allclose(state.variance, kept.var((0, 1, 2)), rtol=1e-5)
    expected = (X[2] - kept.mean((0, 1, 2))) / np.sqrt(kept.var((0, 1, 2)) + 1e-5)
    np.testing.assert_allclose(y[2], expected, rtol=1e-4, atol=1e-5)


def test_running_statistics_are_an_average_that_forgets(rng, getkey):
    norm = BatchNorm(2, rate=0.25)
    state, mean = norm.initial_state(), np.zeros(2)
    for _ in range(4):
        X = rng.normal(size=(8, 2))
        _, state = norm(jnp.asarray(X, jnp.float32), key=getkey(), state=state)
        mean = 0.75 * mean + 0.25 * X.mean(0)
    np.testing.assert_allclose(state.mean, mean, rtol=1e-5)


def test_a_far_mean_costs_no_digits():
    """E x² − m² would lose all digits here."""
    X = 4096 + np.array([[-1.0, 1.0, 2.0, -2.0]], np.float32)
    y, _ = LayerNorm(4)(jnp.asarray(X))
    np.testing.assert_allclose(y[0], (X[0] - 4096) / np.sqrt(2.5 + 1e-5), rtol=1e-4)


def test_statistics_are_single_precision_in_half_precision_networks(rng, getkey):
    """In bfloat16 a sum of 4096 ones is 256; statistics of such a batch must not be."""
    X = jnp.asarray(3 + rng.normal(size=(4096, 2)), jnp.float32)
    model = MixedPrecision(Chain(BatchNorm(2, rate=1.0), LayerNorm(2)), "bfloat16")
    eta, state = model(X, key=getkey(), state=initial_state(model))
    assert eta.dtype == jnp.float32
    assert state[0].mean.dtype == jnp.float32
    np.testing.assert_allclose(state[0].mean, X.mean(0), rtol=1e-3)
    np.testing.assert_allclose(state[0].variance, X.var(0), rtol=5e-3)


def test_no_state_is_a_sentence(getkey):
    with pytest.raises(InputError, match="initial_state"):
        Chain(BatchNorm(2))(jnp.ones((3, 2)), key=getkey())


def test_a_shape_that_does_not_fit_is_a_sentence():
    with pytest.raises(InputError, match="last axes"):
        LayerNorm(3)(jnp.ones((2, 6)))
