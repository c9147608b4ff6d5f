import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

from likely import files, recipe
from likely.core import InputError, float64
from likely.families import Bernoulli
from likely.layers import (
    BatchNorm,
    Dense,
    Dropout,
    LayerNorm,
    MixedPrecision,
    Residual,
    initial_state,
)
from likely.models import MLP, mlp
from likely.solvers import Adam
from likely.typing import Batch


def numbers(model, *values):
    """The model with these weights and biases, first to last."""
    leaves = [jnp.asarray(v, jnp.float32) for v in values]
    return jax.tree.unflatten(jax.tree.structure(model), leaves)


def kinds(model) -> list[str]:
    return [type(layer).__name__ for layer in model.layers]


# The formulas -------------------------------------------------------------------------


def test_shallow_network_of_one_variable(rng, getkey):
    """y = φ₀ + Σ_d φ_d a[θ_d0 + θ_d1 x]."""
    theta1, theta0, phi = rng.normal(size=(3, 5))
    model = mlp((1, 5, 1), key=getkey())
    model = numbers(model, theta1[None], theta0, phi[:, None], [0.3])
    x = np.linspace(-2, 2, 9)
    by_hand = [
        0.3 + sum(phi[d] * max(0, theta0[d] + theta1[d] * v) for d in range(5))
        for v in x
    ]
    y = model(jnp.asarray(x[:, None], jnp.float32))[0][:, 0]
    np.testing.assert_allclose(y, by_hand, rtol=1e-5, atol=1e-6)


def test_shallow_network_in_general(rng, getkey):
    """h_d = a[θ_d0 + Σ_i θ_di x_i]; y_j = φ_j0 + Σ_d φ_jd h_d, for any numbers of each."""
    theta, theta0 = rng.normal(size=(3, 4)), rng.normal(size=4)
    phi, phi0 = rng.normal(size=(4, 2)), rng.normal(size=2)
    model = mlp((3, 4, 2), activation="tanh", key=getkey())
    model = numbers(model, theta, theta0, phi, phi0)
    X = rng.normal(size=(5, 3))
    by_hand = np.empty((5, 2))
    for n, j in np.ndindex(5, 2):
        h = [
            np.tanh(theta0[d] + sum(theta[i, d] * X[n, i] for i in range(3)))
            for d in range(4)
        ]
        by_hand[n, j] = phi0[j] + sum(phi[d, j] * h[d] for d in range(4))
    y = model(jnp.asarray(X, jnp.float32))[0]
    np.testing.assert_allclose(y, by_hand, rtol=1e-5, atol=1e-6)


def test_deep_network_is_affine_maps_and_activations_in_turn(rng, getkey):
    """a^(j+1) = σ(a^j W + b)."""
    sizes = (4, 6, 5, 3, 2)
    model = mlp(sizes, activation="silu", key=getkey())
    a = X = rng.normal(size=(7, 4)).astype(np.float32)
    for j, layer in enumerate(model.layers[::2]):
        z = a @ np.asarray(layer.weight) + np.asarray(layer.bias)
        a = z * expit(z) if j < 3 else z
    np.testing.assert_allclose(model(jnp.asarray(X))[0], a, rtol=1e-4, atol=1e-5)


def test_the_worked_network_of_two_one_two_units(getkey):
    """Two inputs, one hidden unit, two outputs, each formula written out."""
    w11, w12, b1 = 0.5, -0.4, 0.1
    v11, v21, c1, c2 = 0.7, -0.2, 0.0, 0.2
    model = mlp((2, 1, 2), activation="sigmoid", key=getkey())
    model = numbers(model, [[w11], [w12]], [b1], [[v11, v21]], [c1, c2])
    x1, x2 = 1.0, 2.0
    hidden = 1 / (1 + np.exp(-(w11 * x1 + w12 * x2 + b1)))
    first, second = v11 * hidden + c1, v21 * hidden + c2
    y = model(jnp.array([[x1, x2]]))[0][0]
    np.testing.assert_allclose(y, [first, second], rtol=1e-6)


# The settings -------------------------------------------------------------------------


def test_the_order_of_the_parts(getkey):
    model = mlp((3, 8, 4, 2), norm="batch", dropout=0.1, key=getkey())
    hidden = ["Dense", "BatchNorm", "Pointwise", "Dropout"]
    assert kinds(model) == [*hidden, *hidden, "Dense"]
    assert model.layers[3].rate == pytest.approx(0.1)
    assert kinds(mlp((3, 2), norm="batch", dropout=0.5, key=getkey())) == ["Dense"]


def test_residual_networks_activate_before_they_add(getkey):
    model = mlp((3, 8, 8, 4, 2), norm="layer", residual=True, key=getkey())
    assert kinds(model) == [
        "Dense",
        "Residual",
        "Residual",
        "LayerNorm",
        "Pointwise",
        "Dense",
    ]
    same, narrower = model.layers[1:3]
    assert kinds(same.block) == ["LayerNorm", "Pointwise", "Dense"]
    assert same.shortcut is None
    assert narrower.shortcut.weight.shape == (8, 4)
    assert narrower.shortcut.bias is None


def test_a_zero_residual_network_starts_as_one_with_a_single_hidden_layer(rng, getkey):
    """Each block is the identity, so depth is added without changing the start."""
    X = jnp.asarray(rng.normal(size=(5, 3)), jnp.float32)
    deep = mlp((3, 8, 8, 8, 8, 2), residual="zero", key=getkey())
    first, last = deep.layers[0], deep.layers[-1]
    shallow = last(jnp.maximum(first(X)[0], 0))[0]
    np.testing.assert_array_equal(deep(X)[0], shallow)


def test_settings_are_plain_data_and_come_back_from_files(tmp_path, getkey):
    given = {
        "hidden": [8, 8],
        "activation": ["leaky_relu", 0.2],
        "norm": "layer",
        "dropout": 0.25,
        "residual": "zero",
        "init": ["gaussian", 0.5],
        "output_init": "zero",
        "dtype": "bfloat16",
    }
    settings = MLP(**given)
    assert settings == MLP(**{**given, "hidden": (8, 8)})
    assert hash(settings) == hash(MLP(**given))
    files.save(settings, tmp_path / "settings.likely")
    again = files.load(tmp_path / "settings.likely")
    assert again == settings
    one, two = (s.build(3, 2, key=jax.random.key(4)) for s in (settings, again))
    assert isinstance(one, MixedPrecision)
    X = jnp.ones((2, 3))
    np.testing.assert_array_equal(one(X)[0], 0)
    jax.tree.map(np.testing.assert_array_equal, one, two)


def test_hidden_may_be_one_number(getkey):
    assert MLP(8).hidden == MLP(np.int64(8)).hidden == MLP(np.array([8])).hidden == (8,)
    assert MLP(()).hidden == ()
    assert kinds(MLP(()).build(3, 2, key=getkey())) == ["Dense"]


def test_init_reaches_every_dense_layer(getkey):
    model = mlp(
        (100, 200, 100), init=("gaussian", 4.0), output_init="zero", key=getkey()
    )
    first, last = model.layers[0], model.layers[2]
    assert np.std(first.weight) == pytest.approx(2, rel=0.05)
    np.testing.assert_array_equal(last.weight, 0)


def test_parts_are_what_the_words_say(getkey):
    def types(**settings):
        model = mlp((3, 4, 4, 1), key=getkey(), **settings)
        seen = jax.tree.leaves(model, is_leaf=lambda x: isinstance(x, PARTS))
        return {type(x) for x in seen if isinstance(x, PARTS)}

    assert types() == {Dense}
    assert types(norm="batch", dropout=0.1) == {Dense, BatchNorm, Dropout}
    assert types(norm="layer") == {Dense, LayerNorm}
    assert types(residual=True) == {Dense, Residual}


PARTS = (Dense, BatchNorm, LayerNorm, Dropout, Residual)


def test_double_precision_by_scope(getkey):
    with float64():
        model = mlp((2, 3, 1), norm="batch", activation="prelu", key=getkey())
        leaves = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
        assert {leaf.dtype for leaf in leaves} == {np.dtype("float64")}
        assert initial_state(model)[1].mean.dtype == np.float64


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"hidden": (8, 0)}, "width of each"),
        ({"norm": "group"}, '"batch", "layer" or None'),
        ({"residual": "one"}, '"zero"'),
        ({"activation": "rleu"}, "relu, leaky_relu"),
        ({"init": "kaiming"}, "he, he_out"),
        ({"output_init": "kaiming"}, "he, he_out"),
        ({"dropout": 1.0}, "probability to drop"),
        ({"dtype": "int8"}, "bfloat16"),
    ],
)
def test_wrong_settings_are_refused_with_a_sentence(settings, says):
    with pytest.raises(InputError, match=says):
        MLP(**settings)


def test_a_network_with_everything_learns_xor(getkey):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32).repeat(8, 0)
    data = Batch(X, (X.sum(1) == 1).astype(np.float32), np.ones(32, np.float32))
    model = mlp(
        (2, 16, 16, 1), activation="gelu", norm="layer", residual="zero",
        dropout=0.1, key=getkey(),
    )  # fmt: skip
    solver = Adam(0.02, steps=200)
    fit = recipe.fit(Bernoulli(), model, data, solver=solver, key=getkey())
    assert np.abs(fit(X).mean - data.y).max() < 0.1
