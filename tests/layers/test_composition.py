"""Residual connections, mixed precision, merged linear layers, recorded outputs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import InputError
from likely.layers import (
    BatchNorm,
    Chain,
    Dense,
    Dropout,
    MixedPrecision,
    Residual,
    collapse,
    compose,
    initial_state,
    record,
)
from likely.models import mlp


def rows(rng, d=3, n=6):
    return jnp.asarray(rng.normal(size=(n, d)), jnp.float32)


def test_a_residual_block_adds_to_its_input(rng, getkey):
    X, f = rows(rng), Dense(3, 3, key=getkey())
    np.testing.assert_allclose(Residual(f)(X)[0], X + f(X)[0], rtol=1e-6)
    s = Dense(3, 3, bias=False, key=getkey())
    np.testing.assert_allclose(Residual(f, s)(X)[0], s(X)[0] + f(X)[0], rtol=1e-6)


def test_blocks_that_start_at_zero_are_the_identity_and_learn(rng, getkey):
    X = rows(rng)
    block = Residual(Chain(jax.nn.relu, Dense(3, 3, init="zero", key=getkey())))
    deep = Chain(*[block] * 20)
    np.testing.assert_array_equal(deep(X)[0], X)
    slope = jax.grad(lambda m: (m(X)[0] ** 2).sum())(deep)
    first, last = slope.layers[0].block.layers[1], slope.layers[-1].block.layers[1]
    assert np.abs(first.weight).max() > 0.1
    np.testing.assert_allclose(first.weight, last.weight, rtol=1e-5)


def test_the_variance_doubles_with_each_block(getkey):
    """He's weights after a ReLU: Var h → 2 Var h."""
    h = jax.random.normal(getkey(), (300, 400))
    for _ in range(4):
        block = Residual(Chain(jax.nn.relu, Dense(400, 400, key=getkey())))
        after = block(h)[0]
        assert after.var() / h.var() == pytest.approx(2, rel=0.1)
        h = after


def test_states_of_block_and_shortcut_are_threaded(rng, getkey):
    layer = Residual(BatchNorm(3), BatchNorm(3, rate=0.5))
    X = rows(rng)
    _, (inner, outer) = layer(X, key=getkey(), state=initial_state(layer))
    np.testing.assert_allclose(inner.mean, 0.1 * X.mean(0), rtol=1e-5)
    np.testing.assert_allclose(outer.mean, 0.5 * X.mean(0), rtol=1e-5)
    assert initial_state(Residual(Dense(3, 3, key=getkey()))) is None


def test_half_precision_computes_in_it_and_learns_in_single(rng, getkey):
    X = rows(rng)
    model = mlp((3, 8, 2), dtype="bfloat16", key=getkey())
    assert isinstance(model, MixedPrecision)
    full = model.model(X)[0]
    half = model(X)[0]
    assert half.dtype == jnp.float32
    np.testing.assert_allclose(half, full, rtol=0.05, atol=0.05)
    assert np.abs(half - full).max() > 1e-5
    product = str(jax.make_jaxpr(lambda m, X: m(X)[0])(model, X))
    assert "bf16[6,8] = dot_general" in product
    slope = jax.grad(lambda m: (m(X)[0] ** 2).sum())(model)
    other = jax.grad(lambda m: (m(X)[0] ** 2).sum())(model.model)
    for a, b in zip(jax.tree.leaves(slope), jax.tree.leaves(other), strict=True):
        assert a.dtype == jnp.float32
        np.testing.assert_allclose(a, b, rtol=0.1, atol=0.05 * np.abs(b).max())
    with pytest.raises(InputError, match="bfloat16"):
        MixedPrecision(model, "int8")


@pytest.mark.parametrize(
    "biases", [(True, True), (True, False), (False, True), (False, False)]
)
def test_two_linear_layers_are_one(biases, rng, getkey):
    """W = W₁W₂, b = b₁W₂ + b₂: depth without a nonlinearity adds nothing."""
    layers = []
    for (n_in, n_out), bias in zip(((3, 7), (7, 2)), biases, strict=True):
        dense = Dense(n_in, n_out, bias=bias, key=getkey())
        if bias:
            b = jnp.asarray(rng.normal(size=n_out), jnp.float32)
            dense = eqx.tree_at(lambda d: d.bias, dense, b)
        layers.append(dense)
    X, one = rows(rng), collapse(*layers)
    assert one.weight.shape == (3, 2)
    assert (one.bias is None) == (not any(biases))
    np.testing.assert_allclose(one(X)[0], Chain(*layers)(X)[0], rtol=1e-4, atol=1e-5)


def test_composed_networks_are_a_deeper_one(rng, getkey):
    """ψ_dk = θ'_d1 φ_k and ψ_d0 = θ'_d0 + θ'_d1 φ_0: the new weights have rank 1."""
    first, second = mlp((1, 3, 1), key=getkey()), mlp((1, 4, 1), key=getkey())
    phi0 = jnp.array([0.7])
    first = eqx.tree_at(lambda m: m.layers[2].bias, first, phi0)
    both = compose(first, second)
    assert [type(layer).__name__ for layer in both.layers] == [
        "Dense", "Pointwise", "Dense", "Pointwise", "Dense"
    ]  # fmt: skip
    phi, theta = first.layers[2].weight, second.layers[0].weight
    np.testing.assert_allclose(both.layers[2].weight, phi @ theta, rtol=1e-6)
    np.testing.assert_allclose(both.layers[2].bias, phi0 @ theta, rtol=1e-6)
    assert np.linalg.matrix_rank(both.layers[2].weight) == 1
    x = jnp.linspace(-3, 3, 50)[:, None]
    np.testing.assert_allclose(both(x)[0], second(first(x)[0])[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(InputError, match="Dense layers"):
        compose(Chain(jax.nn.relu), second)


def test_record_shows_what_each_layer_makes(rng, getkey):
    model = mlp((3, 4, 4, 2), norm="batch", dropout=0.3, residual=True, key=getkey())
    X, state = rows(rng), initial_state(model)
    for seed in (None, 5):
        key, again = (None if seed is None else jax.random.key(seed) for _ in range(2))
        seen = record(model, X, key=key, state=state)
        made, _ = model(X, key=again, state=state)
        np.testing.assert_array_equal(seen[-1].value, made)
    paths = [r.path for r in seen]
    assert paths[:3] == [
        "layers[0]",
        "layers[1].block.layers[0]",
        "layers[1].block.layers[1]",
    ]
    assert sum(isinstance(r.layer, Dropout) for r in seen) == 2
    z, a = record(mlp((3, 5, 2), key=getkey()), X)[:2]
    np.testing.assert_array_equal(a.value, np.maximum(z.value, 0))


def test_record_finds_the_layer_that_went_bad(rng, getkey):
    model = mlp((3, 4, 4, 2), dtype="bfloat16", key=getkey())
    bad = jnp.full(4, jnp.inf)
    model = eqx.tree_at(lambda m: m.model.layers[2].bias, model, bad)
    seen = record(model, rows(rng))
    first = next(r for r in seen if not np.isfinite(np.asarray(r.value, float)).all())
    assert first.path == "model.layers[2]"
