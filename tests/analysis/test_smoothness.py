"""Curvature and Lipschitz constants, certificates of networks, classes of functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely import analysis
from likely.core.checks import InputError
from likely.layers import Chain, Dense, Heaviside, LayerNorm
from likely.models import mlp


def test_constants_of_quadratics_are_exact(rng):
    A = rng.normal(size=(4, 4))
    A = A @ A.T + np.eye(4)
    found = analysis.curvature_bounds(A)
    values = np.linalg.eigvalsh(A)
    np.testing.assert_allclose([found.mu, found.L], values[[0, -1]], rtol=1e-12)
    assert found.exact
    np.testing.assert_allclose(found.condition, np.linalg.cond(A), rtol=1e-10)
    np.testing.assert_allclose(A @ found.L_direction, found.L * found.L_direction)
    assert analysis.curvature_bounds(-A).condition == np.inf
    sampled = analysis.curvature_bounds(
        lambda x: 0.5 * x @ A @ x, [-1] * 4, [1] * 4, n=30
    )
    np.testing.assert_allclose([sampled.mu, sampled.L], values[[0, -1]], rtol=1e-9)
    assert not sampled.exact
    assert str(found).startswith("μ = ")
    assert "≤" in str(sampled)


def test_constants_from_sampled_hessians_bound():
    """log cosh: curvature 1 − tanh² between 1 − tanh²(2) and 1."""
    found = analysis.curvature_bounds(lambda x: jnp.log(jnp.cosh(x)).sum(), -2, 2)
    low = 1 - np.tanh(2) ** 2
    assert low - 1e-12 <= found.mu <= low + 1e-6
    assert 1 - 1e-6 <= found.L <= 1
    np.testing.assert_allclose(np.abs(found.mu_point), 2, atol=1e-6)
    np.testing.assert_allclose(found.L_point, 0, atol=1e-3)


def quadratic(x):
    return 0.5 * x[0] ** 2 + 12.5 * x[1] ** 2


def test_strong_convexity_with_its_witness():
    box = [-1, -1], [1, 1]
    assert (
        analysis.strong_convexity(quadratic, 1.0, *box, n=200).answer == "not refuted"
    )
    found = analysis.strong_convexity(quadratic, 1.2, *box, n=200)
    assert found.refuted
    x, y = found.witness["x"], found.witness["y"]
    rise = (np.array([1.0, 25.0]) * (x - y)) @ (x - y)
    assert rise < 1.2 * ((x - y) ** 2).sum()
    np.testing.assert_allclose(found.witness["rise"], 1, rtol=1e-3)


def test_lipschitz_constants_are_approached_from_below():
    """L = sup |f'| for a function of a number, the largest singular value for a matrix."""
    found = analysis.lipschitz_estimate(lambda x: jnp.sin(3 * x), -1, 1, n=300)
    assert 3 * (1 - 1e-6) < found.value <= 3 * (1 + 1e-9)
    quotient = np.abs(np.sin(3 * found.x) - np.sin(3 * found.y)) / np.abs(
        found.x - found.y
    )
    np.testing.assert_allclose(quotient, found.value, rtol=1e-6)
    A = np.array([[1.0, 2], [0, 1], [3, -1]])
    found = analysis.lipschitz_estimate(lambda x: jnp.asarray(A) @ x, [-1, -1], [1, 1])
    exact = np.linalg.norm(A, 2)
    assert 0.999 * exact < found.value <= exact * (1 + 1e-6)


SETTINGS = [
    {"activation": "relu"},
    {"activation": "tanh", "residual": True},
    {"activation": "gelu", "dropout": 0.2},
    {"activation": "sin"},
]
MORE = [
    {"activation": name, "residual": residual}
    for name in (
        "silu",
        "softplus",
        "sigmoid",
        "elu",
        "leaky_relu",
        "polynomial",
        "prelu",
    )
    for residual in (False, True)
]


@pytest.mark.parametrize(
    "settings",
    [*SETTINGS, *(pytest.param(m, marks=pytest.mark.slow) for m in MORE)],
    ids=str,
)
def test_bounds_of_networks_hold(settings):
    """No quotient is above the certified bound, no output outside its interval."""
    net = mlp([2, 6, 6, 3], key=jax.random.key(1), **settings)
    bound = analysis.lipschitz_bound(net, [-1, 0], [1, 0.5])
    found = analysis.lipschitz_estimate(
        lambda x: net(x[None])[0][0], [-1, 0], [1, 0.5], n=200
    )
    assert 0.05 * bound.value < found.value <= bound.value
    assert bound.value <= min(bound.by_intervals, bound.by_norms)
    X = np.random.default_rng(0).uniform([-1, 0], [1, 0.5], size=(500, 2))
    out = np.asarray(net(jnp.asarray(X, jnp.float32))[0])
    assert (out >= bound.low - 1e-5).all()
    assert (out <= bound.high + 1e-5).all()
    smaller = analysis.lipschitz_bound(net, [-0.1, 0.2], [0.1, 0.3])
    assert smaller.value <= bound.value * (1 + 1e-9)


def test_bounds_of_a_linear_network_are_exact():
    net = mlp([3, 4, 2], key=jax.random.key(0), activation="identity")
    W = np.asarray(net.layers[0].weight, float) @ np.asarray(
        net.layers[2].weight, float
    )
    found = analysis.lipschitz_bound(net, [-1] * 3, [1] * 3)
    np.testing.assert_allclose(
        found.by_intervals, np.linalg.norm(np.abs(W), 2), rtol=1e-6
    )
    pairs = [
        (np.asarray(net.layers[i].weight), np.zeros(k)) for i, k in ((0, 4), (2, 2))
    ]
    by_pairs = analysis.lipschitz_bound(pairs, [-1] * 3, [1] * 3)
    np.testing.assert_allclose(by_pairs.value, found.value, rtol=1e-6)


def test_networks_without_bounds_are_refused():
    dense = Dense(2, 2, key=jax.random.key(0))
    for layer, sentence in ((Heaviside(), "it jumps"), (LayerNorm(2), "LayerNorm")):
        with pytest.raises(InputError, match=sentence):
            analysis.lipschitz_bound(Chain(dense, layer), [-1, -1], [1, 1])
    with pytest.raises(InputError, match="one number for each input"):
        analysis.lipschitz_bound(Chain(dense), [-1], [1])
    with pytest.raises(InputError, match="give low and high"):
        analysis.curvature_bounds(quadratic)


def test_the_inclusions_are_strict():
    """sqrt is uniformly continuous and not Lipschitz, abs Lipschitz and not smooth."""
    for example in analysis.counter_examples():
        found = analysis.regularity(example.function, example.low, example.high)
        assert found.kind == example.kind, example.name
    root = analysis.counter_examples()[1]
    found = analysis.regularity(root.function, root.low, root.high)
    np.testing.assert_allclose(found.modulus, np.sqrt(found.step), rtol=1e-6)
    np.testing.assert_allclose(found.steepest, 0, atol=1e-4)
    for f in (jnp.sin, jnp.exp, lambda x: x**3, lambda x: 2 * x):
        assert analysis.regularity(f, -1, 2).kind == "C1"
    steep = analysis.regularity(lambda x: 5 * x, 0, 1)
    np.testing.assert_allclose(steep.quotient, 5, rtol=1e-9)
