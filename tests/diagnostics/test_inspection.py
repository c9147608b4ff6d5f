"""Feature maps, filters, maximal inputs, saliency, symmetry and signals of networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import InputError
from likely.diagnostics import (
    class_activation,
    equivariance_error,
    feature_maps,
    filters,
    gradient_autocorrelation,
    invariance_error,
    maximal_input,
    saliency,
    signal_profile,
)
from likely.layers import Chain, Convolution, Dense, Flatten, Pooling
from likely.models import MLP, mlp
from likely.plots import images, signal_profile as profile_plot

X = jnp.asarray(np.random.default_rng(0).normal(size=(3, 8, 8, 1)), jnp.float32)


def first():
    return jax.random.key(0)


@pytest.fixture(scope="module")
def network():
    a, b = jax.random.split(first())
    return Chain(
        Convolution(1, 3, edges="cyclic", key=a),
        jax.nn.relu,
        Pooling(None, kind="mean"),
        Dense(3, 2, key=b),
    )


def test_maps_and_filters(network):
    maps = feature_maps(network, X)
    assert list(maps) == ["layers[0]", "layers[1]"]
    np.testing.assert_array_equal(maps["layers[1]"], np.maximum(maps["layers[0]"], 0))
    np.testing.assert_array_equal(filters(network), network.layers[0].weight)
    with pytest.raises(InputError, match="1 convolutions"):
        filters(network, 1)


def test_the_maximal_input_of_a_linear_unit_is_its_weight(network):
    line = Dense(4, 2, key=first())
    found = maximal_input(line, (4,), 1, norm=2.0, key=first())
    weight = np.asarray(line.weight[:, 1])
    np.testing.assert_allclose(found, 2 * weight / np.linalg.norm(weight), atol=1e-3)
    picture = maximal_input(network, (8, 8, 1), 2, layer="layers[0]", key=first())
    f = np.asarray(network.layers[0].weight)[:, :, 0, 2]
    patch = picture[3:6, 3:6, 0]  # around the middle, (4, 4)
    np.testing.assert_allclose(patch, 8 * f / np.linalg.norm(f), atol=0.02)
    with pytest.raises(InputError, match="there is no layer 'x'"):
        maximal_input(network, (8, 8, 1), 0, layer="x", key=first())


def test_class_activation_adds_up_to_the_output(network):
    eta = np.asarray(network(X)[0])
    E = class_activation(network, X, 1, resized=False)
    bias = float(network.layers[-1].bias[1])
    np.testing.assert_allclose(E.mean((1, 2)), eta[:, 1] - bias, atol=1e-5)
    assert class_activation(network, X, 1).shape == (3, 8, 8)
    slope = saliency(network, X, 1)
    step = 1e-2 * np.ones_like(X)
    ahead, behind = (np.asarray(network(X + s * step)[0])[:, 1] for s in (1, -1))
    np.testing.assert_allclose(
        (slope * step).sum((1, 2, 3)), (ahead - behind) / 2, atol=1e-3
    )
    with pytest.raises(InputError, match="needs a chain"):
        class_activation(network.layers[0], X, 0)


def test_convolutions_are_equivariant_and_means_invariant(network):
    def shift(X):
        return np.roll(np.asarray(X), (2, 3), (1, 2))

    conv = network.layers[0]
    assert equivariance_error(lambda X: conv(jnp.asarray(X))[0], shift, X) < 1e-6
    assert invariance_error(lambda X: network(jnp.asarray(X))[0], shift, X) < 1e-6
    dense = Chain(Flatten(), Dense(64, 2, key=first()))
    assert invariance_error(lambda X: dense(jnp.asarray(X))[0], shift, X) > 0.1
    assert invariance_error(lambda X: conv(jnp.asarray(X))[0], shift, X) > 0.1


def test_signals_keep_their_size_under_he_and_die_under_less():
    rows = jax.random.normal(jax.random.key(1), (200, 50))
    deep = {
        name: mlp((50, *[50] * 8, 50), init=init, key=jax.random.key(2))
        for name, init in (("he", "he"), ("small", ("gaussian", 0.5 / 50)))
    }
    seen = {n: signal_profile(m, rows, key=jax.random.key(3)) for n, m in deep.items()}
    he, small = seen["he"], seen["small"]
    assert he.names[:3] == ["input", "Dense", "relu"]
    assert he.gradients[-1] == 1
    second = he.values[1::2] / he.values[1]  # outputs of dense layers
    assert (second > 0.3).all()
    assert (second < 3).all()
    # a quarter of He's variance: each layer has a quarter of the last one's
    factor = (small.values[-1] / small.values[1]) ** (1 / 8)
    assert abs(factor - 0.25) < 0.05
    assert small.gradients[0] < 1e-3 < he.gradients[0]
    assert len(profile_plot(seen).axes) == 2


def test_gradients_shatter_with_depth_and_skips_keep_them():
    line = jnp.stack([jnp.linspace(-2, 2, 64), jnp.ones(64)], 1)

    def correlation(depth, **options):
        settings = MLP((32,) * depth, **options)
        return gradient_autocorrelation(
            lambda k: settings.build(2, 1, key=k), line, draws=40, key=jax.random.key(4)
        )

    shallow, deep = correlation(1), correlation(24)
    skips = correlation(24, residual=True)
    assert shallow[0] == deep[0] == pytest.approx(1.0)
    assert shallow[8] > 0.7
    assert deep[8] < 0.4
    assert deep[8] + 0.1 < skips[8] < shallow[8]


def test_pictures_are_drawn():
    assert len(images(X, titles=["a", "b", "c"], title="three").axes) == 3
    assert len(images(np.zeros((2, 4, 4, 3)), signed=True).axes) == 2
