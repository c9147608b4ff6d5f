"""Convolutional, residual and U-shaped networks: sizes, starts, PyTorch's weights."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely import diagnostics, layers, models
from likely.core import InputError
from likely.families import Categorical
from likely.layers import (
    Chain,
    Concatenated,
    Convolution,
    Pooling,
    Residual,
    Upsampling,
    initial_state,
    record,
)
from likely.objectives import NegativeLogLikelihood, PositionLikelihood
from likely.typing import Batch

GOLDEN = Path(__file__).parents[1] / "golden" / "convolution" / "torch.npz"
TORCH = dict(np.load(GOLDEN))


def fresh() -> jax.Array:
    return jax.random.key(0)


def sketched(settings, shape, n_out):
    """The shapes of a network, without its arrays."""
    return eqx.filter_eval_shape(
        lambda key: settings.build(shape, n_out, key=key), jax.random.key(0)
    )


# Sizes --------------------------------------------------------------------------------


def test_alexnet_has_the_sizes_of_the_notes():
    found = diagnostics.survey(
        sketched(models.alexnet(), (227, 227, 3), 1000), (227, 227, 3)
    )
    assert found.parameters == 60_965_224
    convolutions = [row for row in found.rows if row[0].startswith("Convolution")]
    assert [shape for _, shape, _ in convolutions] == [
        *((55, 55, 96), (27, 27, 256), (13, 13, 384), (13, 13, 384), (13, 13, 256)),
    ]
    assert np.prod(convolutions[0][1]) == 290_400
    assert convolutions[0][2] == 34_944
    pools = [shape for name, shape, _ in found.rows if name == "Pooling"]
    assert pools == [(27, 27, 96), (13, 13, 256), (6, 6, 256)]


@pytest.mark.parametrize(
    ("settings", "shape", "parameters", "multiply_adds"),
    [
        (models.lenet(), (28, 28, 1), 61_706, 416_520),
        (models.CNN(), (28, 28, 1), 421_642, 4_241_152),
        (models.resnet8(), (32, 32, 3), 77_850, 12_501_632),
        (models.resnet18(), (32, 32, 3), 11_172_170, 555_422_720),
        (models.UNet(), (32, 32, 1), 116_804, 24_854_528),
    ],
)
def test_named_networks(settings, shape, parameters, multiply_adds):
    """A multiply-add is two operations; there are few others."""
    model = sketched(settings, shape, 4 if isinstance(settings, models.UNet) else 10)
    found = diagnostics.survey(model, shape)
    assert found.parameters == parameters
    assert 1 <= found.flops / (2 * multiply_adds) < 1.05
    assert f"{parameters:,} parameters" in str(found)


def test_a_convolution_takes_two_operations_for_each_entry_and_place():
    layer = Convolution(3, 16, 3, bias=False, key=fresh())
    assert diagnostics.flops(layer, (8, 6, 3)) == 2 * 8 * 6 * 3 * 3 * 3 * 16
    assert layers.output_shape(layer, (8, 6, 3)) == (8, 6, 16)


def test_receptive_fields_are_as_derived():
    keys = iter(jax.random.split(fresh(), 4))
    model = Chain(
        Convolution(1, 2, 3, key=next(keys)),
        jax.nn.relu,
        Pooling(2),
        Convolution(2, 2, 3, dilation=2, key=next(keys)),
        Convolution(2, 1, 3, stride=2, key=next(keys)),
    )
    derived = diagnostics.stacked_field((3, 2, 3, 3), (1, 2, 1, 2), (1, 1, 2, 1))
    assert derived == 16
    assert diagnostics.receptive_field(model, (48, 40, 1)) == (derived, derived)
    assert diagnostics.stacked_field((3, 3, 3), dilation=(1, 2, 4)) == 15


def test_a_network_that_ends_in_features_sees_everything():
    model = models.CNN((2,), hidden=()).build((6, 4, 1), 2, key=fresh())
    assert diagnostics.receptive_field(model, (6, 4, 1)) == (6, 4)


# How they are made --------------------------------------------------------------------


def test_residual_blocks_that_start_at_zero_are_the_identity(rng):
    X = jnp.asarray(rng.normal(size=(2, 4, 4, 3)), jnp.float32)
    block = models.residual_block(3, 3, zero=True, key=fresh())
    state = initial_state(block)
    np.testing.assert_array_equal(block(X, state=state)[0], X)

    def loss(block):
        return (block(X, state=state)[0] ** 2).sum()

    slopes = eqx.filter_grad(loss)(block)
    assert np.abs(slopes.block.layers[-1].weight).max() > 0


def test_a_residual_block_activates_before_it_convolves():
    block = models.residual_block(4, 8, stride=2, key=fresh())
    names = [type(layer).__name__ for layer in block.block.layers]
    assert names == ["BatchNorm", "Pointwise", "Convolution"] * 2
    assert block.shortcut.size == (1, 1)
    assert layers.output_shape(block, (6, 6, 4)) == (3, 3, 8)


def test_variance_doubles_with_each_block_and_adds_up_under_a_norm(rng):
    """He initialisation: V → 2V without a norm; with one each block adds the same variance."""
    X = jnp.asarray(rng.normal(size=(4, 12, 12, 64)), jnp.float32)

    def grown(norm):
        h, ratios = X, [1.0]
        for seed in range(3):
            block = models.residual_block(64, 64, norm=norm, key=jax.random.key(seed))
            h, _ = block(h, key=jax.random.key(7), state=initial_state(block))
            ratios.append(float(h.var()))
        return np.array(ratios)

    bare, normed = grown(None), grown("batch")
    np.testing.assert_allclose(bare[1:] / bare[:-1], 2, rtol=0.25)
    np.testing.assert_allclose(np.diff(normed), np.diff(normed)[0], rtol=0.25)


def test_residual_networks_are_sums_over_paths():
    """y = x + f₁ + f₂ + f₃ with each fₖ of all before it (not of x + f₂ alone)."""
    functions = (jnp.sin, jnp.cos, jnp.tanh)
    x = jnp.full((1, 1), 0.4)
    y, _ = Chain(*(Residual(Chain(f)) for f in functions))(x)
    f1 = jnp.sin(x)
    f2 = jnp.cos(x + f1)
    np.testing.assert_allclose(y, x + f1 + f2 + jnp.tanh(x + f1 + f2), rtol=1e-6)
    np.testing.assert_allclose(y, 2.39768, rtol=1e-5)


def test_unet_keeps_positions_and_shows_its_layers(rng):
    X = jnp.asarray(rng.normal(size=(2, 8, 12, 1)), jnp.float32)
    for up in ("transposed", "nearest", "bilinear"):
        model = models.UNet((2, 3, 4), up=up, norm="group").build(
            (8, 12, 1), 5, key=fresh()
        )
        assert model(X)[0].shape == (2, 8, 12, 5)
    made = record(model, X)
    assert sum(isinstance(r.layer, Concatenated) for r in made) == 2
    np.testing.assert_allclose(made[-1].value, model(X)[0], rtol=1e-5, atol=1e-6)


def test_a_timed_unet_depends_on_the_time_of_each_row(rng):
    settings = models.UNet((2, 4), condition=8)
    model = models.timed(settings, (4, 4, 1), 1, scale=1000.0, key=fresh())
    X = jnp.asarray(rng.normal(size=(3, 4, 4, 1)), jnp.float32)
    t = jnp.array([0.1, 0.5, 0.9])
    y, _ = model((X, t))
    other, _ = model((X, t.at[1].set(0.2)))
    np.testing.assert_array_equal(np.abs(y - other).max((1, 2, 3)) > 0, [0, 1, 0])
    with pytest.raises(InputError, match="Conditional"):
        model.model(X)


def test_super_resolution_starts_as_interpolation(rng):
    X = jnp.asarray(rng.normal(size=(2, 4, 6, 3)), jnp.float32)
    settings = models.UNet((2, 4), zero=True)
    model = models.super_resolution(settings, (4, 6, 3), scale=2, key=fresh())
    y, _ = model(X)
    assert y.shape == (2, 8, 12, 3)
    np.testing.assert_array_equal(y, Upsampling(2, kind="bilinear")(X)[0])


def test_position_likelihood_is_the_mean_over_positions(rng):
    eta = rng.normal(size=(3, 2, 2, 4)).astype(np.float32)
    y, w = rng.integers(0, 4, (3, 2, 2)), np.array([1, 0, 2], np.float32)
    batch = jax.tree.map(jnp.asarray, Batch(eta, y.astype(np.float32), w))
    objective = PositionLikelihood.of(Categorical(4), batch)
    loss, _ = objective(lambda X, **_: (X, None), batch)
    rows = Batch(eta.reshape(12, 4), y.ravel().astype(np.float32), np.repeat(w, 4))
    flat = jax.tree.map(jnp.asarray, rows)
    same = NegativeLogLikelihood.of(Categorical(4), flat)
    expected, _ = same(lambda X, **_: (X, None), flat)
    np.testing.assert_allclose(loss, expected, rtol=1e-6)


# PyTorch's weights --------------------------------------------------------------------

SAME = {
    "cnn": (models.CNN((3, 4), hidden=(5,)), (8, 8, 2), 3),
    "resnet": (models.ResNet((4, 6)), (8, 8, 2), 3),
    "unet": (models.UNet((3, 4)), (8, 4, 1), 2),
}


def state_dict(name):
    return {
        n.partition(":")[2]: v for n, v in TORCH.items() if n.startswith(f"{name}:")
    }


@pytest.mark.parametrize("name", SAME)
def test_weights_from_pytorch_give_its_outputs(name):
    settings, shape, n_out = SAME[name]
    model = settings.build(shape, n_out, key=fresh())
    model, state = models.from_torch(model, state_dict(name), shape)
    y, _ = eqx.filter_jit(model)(jnp.asarray(TORCH[f"{name}.X"]), state=state)
    np.testing.assert_allclose(y, TORCH[f"{name}.y"], rtol=1e-5, atol=1e-5)
    kept = [v for layer in models.to_torch(model, shape) for v in layer.values()]
    theirs = [
        v for n, v in state_dict(name).items() if n.endswith((".weight", ".bias"))
    ]
    for ours, original in zip(kept, theirs, strict=True):
        np.testing.assert_array_equal(ours, original)


def test_weights_of_another_architecture_are_refused():
    model = models.CNN((3, 5), hidden=(5,)).build((8, 8, 2), 3, key=fresh())
    with pytest.raises(InputError, match="3.weight has shape"):
        models.from_torch(model, state_dict("cnn"), (8, 8, 2))
    with pytest.raises(InputError, match="4 layers with weights"):
        models.from_torch(Chain(model.layers[0]), state_dict("cnn"), (8, 8, 2))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: models.CNN(()), "at least one stage"),
        (lambda: models.CNN((2, 3), size=(3, 3, 3)), "one value for all"),
        (lambda: models.CNN(norm="layer"), '"group"'),
        (lambda: models.CNN(head="max"), "flatten"),
        (lambda: models.ResNet(blocks=(1, 2)), "for 3 stages"),
        (lambda: models.UNet(up="cubic"), "bilinear"),
        (lambda: models.UNet().build((30, 32, 1), 1, key=fresh()), "multiples of 4"),
        (
            lambda: models.timed(models.UNet(), (8, 8, 1), 1, key=fresh()),
            "condition is 0",
        ),
    ],
)
def test_errors_are_sentences(make, words):
    with pytest.raises(InputError, match=words):
        make()
