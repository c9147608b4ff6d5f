"""Joints and regions of ReLU networks, exactly."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import likely as lk
from likely import diagnostics, layers, models, solvers
from likely.core import InputError, float64
from likely.diagnostics import linear_pieces, linear_regions
from likely.layers import Chain, Dense, compose
from likely.models import mlp


def network(*values, **settings) -> Chain:
    """A chain of ReLUs with these weights and biases, in double precision."""
    weights = [np.atleast_2d(np.asarray(v, float)) for v in values[::2]]
    sizes = (weights[0].shape[0], *(w.shape[1] for w in weights))
    model = mlp(sizes, key=jax.random.key(0), **settings)
    leaves = [
        v for w, b in zip(weights, values[1::2], strict=True) for v in (w, np.array(b))
    ]
    return jax.tree.unflatten(jax.tree.structure(model), leaves)


def evaluated(model, x) -> np.ndarray:
    with float64():
        return np.asarray(model(jnp.asarray(x, float))[0])


def test_three_units_have_three_joints_and_four_regions():
    """5 − 3r(x) + 2r(x−1) − 2r(2−x)."""
    model = network([[1, 1, -1]], [0, -1, 2], [[-3], [2], [-2]], [5])
    pieces = linear_pieces(model, -10, 10)
    np.testing.assert_allclose(pieces.joints, [0, 1, 2], atol=1e-12)
    np.testing.assert_allclose(pieces.slopes[:, 0], [2, -1, 1, -1], atol=1e-12)
    # of one layer the joints are where its units are zero, −θ₀/θ₁
    dense = model.layers[0]
    np.testing.assert_allclose(np.sort(-dense.bias / dense.weight[0]), pieces.joints)


@pytest.mark.parametrize("hidden", [(7,), (6, 5), (4, 4, 4)])
def test_pieces_are_the_network_and_keep_the_bounds(hidden):
    """At most D + 1 regions of one layer, (D₁+1)(D₂+1)... of several."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        sizes = (1, *hidden, 1)
        values = []
        for pair in itertools.pairwise(sizes):
            values += [rng.normal(size=pair), rng.normal(size=pair[1])]
        model = network(*values)
        pieces = linear_pieces(model, -50, 50)
        x = np.linspace(-50, 50, 4001)
        by_pieces = np.interp(x, pieces.x, pieces.y[:, 0])
        np.testing.assert_allclose(
            by_pieces, evaluated(model, x[:, None])[:, 0], atol=1e-9
        )
        assert len(pieces.slopes) <= np.prod(np.add(hidden, 1))


def zigzag() -> Chain:
    """Up, down and up over [0, 1], onto [0, 1]: three monotone pieces."""
    return network([[1, 1, 1]], [0, -1 / 3, -2 / 3], [[3], [-6], [6]], [0])


def test_composing_networks_folds_the_line():
    """3 pieces × 3 = 9, each value reached from 3 × 3 points."""
    both = compose(zigzag(), zigzag())
    pieces = linear_pieces(both, 0, 1)
    assert len(pieces.slopes) == 9
    np.testing.assert_allclose(np.abs(pieces.slopes), 9)
    assert len(linear_pieces(zigzag(), 0, 1).preimages(0.3)) == 3
    found = pieces.preimages(0.3)
    assert len(found) == 9
    np.testing.assert_allclose(evaluated(both, found[:, None])[:, 0], 0.3, atol=1e-12)


def test_sixteen_regions_of_two_layers_of_three():
    """The most that D = 3, K = 2 can have, (D + 1)^K, reached by a zig-zag of 4 pieces."""
    signs, at = [[1, 1, -1]], [-1 / 8, -1 / 2, 3 / 4]
    four = network(signs, at, [[-32 / 3], [20 / 3], [-8]], [6])
    alone = linear_pieces(four, 0, 1)
    np.testing.assert_allclose(alone.slopes[:, 0], [8, -8 / 3, 4, -4])
    np.testing.assert_allclose(alone.y[:, 0], [0, 1, 0, 1, 0], atol=1e-12)
    pieces = linear_pieces(compose(four, four), 0, 1)
    assert len(pieces.slopes) == 16
    assert len(pieces.preimages(0.5)) == 16


def polygon_area(corners: np.ndarray) -> float:
    x, y = corners.T
    return 0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1))


def turns(corners: np.ndarray) -> np.ndarray:
    """The sine of the turning angle at each corner."""
    edges = np.roll(corners, -1, 0) - corners
    edges /= np.linalg.norm(edges, axis=1, keepdims=True)
    a, b = edges, np.roll(edges, -1, 0)
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


@pytest.mark.parametrize("hidden", [(6,), (4, 4)])
def test_regions_of_the_plane_are_convex_and_linear(hidden):
    rng = np.random.default_rng(2)
    values = []
    for pair in itertools.pairwise((2, *hidden, 2)):
        values += [rng.normal(size=pair), 0.5 * rng.normal(size=pair[1])]
    model = network(*values)
    regions = linear_regions(model, (-300, 300, -300, 300))
    if hidden == (6,):  # six lines in general position
        assert len(regions) == (6**2 + 6 + 2) / 2
    areas = [polygon_area(r.corners) for r in regions]
    assert min(areas) > 0
    assert sum(areas) == pytest.approx(600**2)
    for region in regions:
        assert (turns(region.corners) > -1e-6).all()
        share = rng.dirichlet(np.ones(len(region.corners)), size=5)
        inside = share @ region.corners
        linear = inside @ region.weight + region.bias
        np.testing.assert_allclose(
            evaluated(model, inside), linear, rtol=1e-7, atol=1e-7
        )


def test_leaky_slopes_have_a_kink_and_smooth_layers_are_refused():
    model = network([[1.0]], [0.0], [[2.0]], [1.0], activation=("leaky_relu", 0.1))
    pieces = linear_pieces(model, -1, 1)
    np.testing.assert_allclose(pieces.slopes[:, 0], [0.2, 2.0])
    smooth = mlp((1, 2, 1), activation="tanh", key=jax.random.key(0))
    with pytest.raises(InputError, match="piecewise linear"):
        linear_pieces(smooth, 0, 1)
    assert (
        len(linear_pieces(Chain(Dense(1, 1, key=jax.random.key(0))), 0, 1).joints) == 0
    )


# any model ----------------------------------------------------------------------------


def random_network(n_in, **settings):
    """A network with running statistics and biases that are not those of the start."""
    rng = np.random.default_rng(3)
    model = models.MLP((5, 4, 3), **settings).build(n_in, 2, key=jax.random.key(0))
    draw = lambda a: jnp.asarray(rng.normal(size=np.shape(a)), jnp.float32)  # noqa: E731
    model = jax.tree.map(lambda a: draw(a) if eqx.is_inexact_array(a) else a, model)
    state = layers.initial_state(model)
    state = jax.tree.map(lambda a: jnp.abs(draw(a)) + 0.5, state)
    return model, state


@pytest.mark.parametrize(
    "settings",
    [
        {"norm": "batch", "dropout": 0.2},
        {"residual": True, "activation": ("leaky_relu", 0.2)},
        {"residual": True, "norm": "batch"},
    ],
)
def test_norms_dropout_and_residual_blocks_are_piecewise_linear_too(settings):
    """The pieces and the regions are what the network computes in use."""
    model, state = random_network(1, **settings)
    pieces = diagnostics.linear_pieces(model, -3, 3, state=state)
    x = np.random.default_rng(0).uniform(-3, 3, 50).astype(np.float32)
    y, _ = model(jnp.asarray(x[:, None]), state=state)
    at = np.stack([np.interp(x, pieces.x, column) for column in pieces.y.T], 1)
    np.testing.assert_allclose(at, y, atol=2e-3 * np.abs(pieces.y).max())
    assert len(pieces.joints) > 3
    model, state = random_network(2, **settings)
    regions = diagnostics.linear_regions(model, (-2, 2, -2, 2), state=state)
    middle = np.stack([r.corners.mean(0) for r in regions])
    here = np.stack(
        [m @ r.weight + r.bias for m, r in zip(middle, regions, strict=True)]
    )
    y, _ = model(jnp.asarray(middle, jnp.float32), state=state)
    np.testing.assert_allclose(here, y, atol=2e-3 * np.abs(here).max())


def test_pieces_of_a_fitted_network_are_over_its_data(rng):
    """Inputs in the units of the data; the network of each member."""
    x = rng.uniform(100, 300, size=40)
    solver = solvers.Adam(0.01, steps=30, batch_size=20)
    fitted = lk.MLPRegressor((6,), solver=solver).fit(x[:, None], np.sin(x / 30))
    pieces = diagnostics.linear_pieces(fitted, 100, 300)
    network, state, Z = fitted.unpack(pieces.x[:, None])
    y, _ = network(jnp.asarray(Z), state=state)
    np.testing.assert_allclose(pieces.y[:, 0], np.asarray(y)[:, 0], atol=1e-4)
    assert diagnostics.count_regions(fitted, (100, 300)).linear == len(pieces.slopes)
    parts = diagnostics.unit_contributions(fitted, 100, 300)
    np.testing.assert_allclose(
        parts.output[0], np.interp(parts.axes[0], pieces.x, pieces.y[:, 0]), atol=1e-4
    )
    assert set(np.round(pieces.joints, 3)) <= set(np.round(parts.joints, 3))


def test_what_is_no_piecewise_linear_network_is_said():
    tanh = models.mlp((1, 3, 1), activation="tanh", key=jax.random.key(0))
    norm = models.mlp((1, 3, 1), norm="layer", key=jax.random.key(0))
    three = models.mlp((3, 3, 1), key=jax.random.key(0))
    for model, message in (
        (tanh, "tanh is not piecewise linear"),
        (norm, "LayerNorm is not piecewise linear"),
        (three, "takes networks with 1 input; this one has 3"),
        (lk.LinearRegression(), "needs a network, and LinearRegression has none"),
        (lk.MLPRegressor(), "not fitted yet"),
        (np.sin, "needs a chain of layers"),
    ):
        with pytest.raises(InputError, match=message):
            diagnostics.linear_pieces(model, 0, 1)
