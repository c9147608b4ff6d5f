"""What every layer keeps to: shapes, weights, absent rows, derivatives, files."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from registries.layers import LAYERS

from likely import files
from likely.core import float64
from likely.diagnostics import parameter_count
from likely.layers import cast, initial_state
from likely.typing import Model

N = 5
every = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if example.slow else name
        for name, example in LAYERS.items()
    ],
)


def rows(name: str) -> jax.Array:
    """Rows that are nowhere near a kink at 0."""
    x = np.random.default_rng(1).normal(size=(N, *LAYERS[name].row))
    return jnp.asarray(x + 0.1 * np.sign(x))


def made(name: str, seed: int = 0):
    layer = LAYERS[name].make(jax.random.key(seed))
    return layer, initial_state(layer)


def trained(layer, state, X, w):
    """A loss of the outputs that counts weights, and the state after."""
    y, state = layer(X, w=w, key=jax.random.key(7), state=state)
    y = jnp.where((w > 0).reshape(-1, *[1] * (y.ndim - 1)), y, 0)
    target = jnp.cos(jnp.arange(y[0].size)).reshape(1, *y.shape[1:])
    each = ((y - target) ** 2).reshape(len(w), -1).sum(1)
    return w @ each / w.sum(), state


compiled = eqx.filter_jit(trained)
slopes = eqx.filter_jit(eqx.filter_value_and_grad(trained, has_aux=True))


def close(a, b, rtol=2e-5, atol=2e-6):
    jax.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol, atol),
        *(eqx.filter(tree, eqx.is_array) for tree in (a, b)),
    )


@every
def test_shapes_and_parameters(name):
    layer, state = made(name)
    X = rows(name)
    assert isinstance(layer, Model)
    for key in (None, jax.random.key(1)):
        y, after = layer(X, w=jnp.ones(N), key=key, state=state)
        assert y.shape == (N, *LAYERS[name].out)
        assert y.dtype == jnp.float32
        assert jax.tree.structure(after) == jax.tree.structure(state)
    assert parameter_count(layer) == LAYERS[name].parameters


@every
def test_use_is_of_single_rows_and_moves_nothing(name):
    layer, state = made(name)
    X = rows(name)
    y, after = layer(X, state=state)
    close(after, state, 0, 0)
    others = X.at[1:].set(jnp.nan)
    alone, _ = layer(others, state=state)
    np.testing.assert_array_equal(alone[0], y[0])


@every
def test_weight_two_is_the_row_twice(name):
    if LAYERS[name].random:
        pytest.skip("each row draws its own mask")
    with float64():
        layer, state = made(name)
        X, w = rows(name), jnp.array([2.0, 1.0, 0.0, 2.0, 0.0])
        (loss, after), slope = slopes(layer, state, X, w)
        twice = X[np.array([0, 0, 1, 3, 3])]
        (same, again), other = slopes(layer, state, twice, jnp.ones(N))
        exact = 2e-5 if "float32" in name else 1e-9
        close((loss, after, slope), (same, again, other), exact, exact)


@every
def test_garbage_in_an_absent_row_changes_nothing(name):
    layer, state = made(name)
    X, w = rows(name), jnp.array([1.0, 0.0, 2.0, 1.0, 0.0])
    clean = compiled(layer, state, X, w)
    for garbage in (np.nan, np.inf, -1e30):
        bad = X.at[np.array([1, 4])].set(garbage)
        close(compiled(layer, state, bad, w), clean, 0, 0)


LONG = ("batch norm, images", "mlp")  # to differentiate


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow)
        if name.startswith(LONG) or example.slow
        else name
        for name, example in LAYERS.items()
    ],
)
def test_derivatives_are_slopes(name):
    """Both modes, and of the norms the second derivative, against finite differences."""
    if not LAYERS[name].smooth:
        pytest.skip("its derivative is a convention")
    with float64():
        layer, state = made(name)
        learned, fixed = eqx.partition(layer, eqx.is_inexact_array)
        X, w = rows(name), jnp.array([2.0, 1.0, 0.5, 1.0, 3])

        def loss(learned, X, w):
            return trained(eqx.combine(learned, fixed), state, X, w)[0]

        point = (cast(learned, "float64"), X, w)
        order = 2 if name.startswith(("batch norm", "layer norm")) else 1
        modes = LAYERS[name].modes
        check_grads(jax.jit(loss), point, order, modes, eps=1e-4, atol=1e-4, rtol=1e-4)


@every
def test_compiled_members_are_the_loop(name):
    members, w = range(3), jnp.array([1.0, 0.0, 2.0, 1.0, 1.0])
    triples = [(*made(name, m), rows(name) * (1 + m)) for m in members]
    stacked = jax.tree.map(
        lambda *a: jnp.stack(a) if eqx.is_array(a[0]) else a[0], *triples
    )
    together = eqx.filter_vmap(lambda triple: trained(*triple, w)[0])
    losses = eqx.filter_jit(together)(stacked)
    alone = [compiled(*triple, w)[0] for triple in triples]
    np.testing.assert_allclose(losses, alone, rtol=1e-5)


@every
def test_files_give_the_same_bits(name, tmp_path):
    layer, state = made(name)
    path = tmp_path / "layer.safetensors"
    files.save((layer, state), path)
    loaded = files.load(path)
    X, w = rows(name), jnp.ones(N)
    close(compiled(*loaded, X, w), compiled(layer, state, X, w), 0, 0)


@every
def test_half_precision_is_close(name):
    layer, state = made(name)
    X = rows(name)
    half, after = cast(layer, "bfloat16")(
        cast(X, "bfloat16"),
        w=jnp.ones(N),
        key=jax.random.key(7),
        state=state,
    )
    if name != "mixed precision, float32":
        assert half.dtype == jnp.bfloat16
    assert all(a.dtype == jnp.float32 for a in jax.tree.leaves(after))
    full, _ = layer(X, w=jnp.ones(N), key=jax.random.key(7), state=state)
    np.testing.assert_allclose(np.asarray(half, float), full, rtol=0.1, atol=0.15)
