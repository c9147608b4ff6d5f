"""Laws of all bijections: the inverse undoes, the log-determinant is that of the Jacobian."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from likely.core import float64
from likely.core.checks import InputError
from likely.layers.bijections.affine import AffineFunction
from likely.layers.bijections.autoregressive import Autoregressive
from likely.layers.bijections.composed import (
    Composed,
    Factored,
    FlatRows,
    Squeeze,
    standardized,
)
from likely.layers.bijections.coupling import Coupling
from likely.layers.bijections.linear import ActNorm, LULinear, Permutation
from likely.layers.bijections.pixels import PixelLogit
from likely.layers.bijections.sequential import SequentialAutoregressive
from likely.layers.bijections.spline import RationalQuadratic
from likely.layers.bijections.whitening import Whitening
from likely.models.flows.image_flow import ImageFlow
from likely.models.flows.table_flow import TableFlow
from likely.models.masked_mlp import CONDITION, MaskedMLP
from likely.models.mlp import mlp
from likely.models.sequence.block_network import BlockNetwork

D, G, N = 4, 2, 7
SPLINE = RationalQuadratic(4, 3.0)


def key():
    return jax.random.key(3)


def coupling(function, given: int = 0):
    net = mlp((2 + given, 8, 2 * function.n_parameters), key=key(), init="uniform")
    return Coupling(net, function, 2)


def masked(function, given: int = 0):
    inputs = (*range(D), *[CONDITION] * given)
    outputs = tuple(range(D)) * function.n_parameters
    return Autoregressive(MaskedMLP(inputs, outputs, 8, key=key()), function)


def sequential(function):
    net = BlockNetwork(
        blocks=2, block=2, width=1, n_outputs=function.n_parameters, n_given=0,
        size=4, n_layers=1, n_heads=2, hidden=6, key=key(),
    )  # fmt: skip
    return SequentialAutoregressive(net, function, 2)


def image(kind: str, function: str):
    X = jnp.ones((5, 4, 4, 1))
    settings = ImageFlow(
        kind, function, n_layers=1, hidden=6, size=4, n_heads=2, depth=1, n_bins=4
    )
    return settings.build(X, jnp.ones(5), jnp.zeros((5, 0)), 16, key=key()).bijection


TABLES = {
    "permutation": lambda: Permutation((2, 0, 3, 1)),
    "LU": lambda: LULinear((2, 0, 3, 1)),
    "actnorm": lambda: ActNorm.identity(D),
    "whitening": lambda: Whitening(jnp.zeros(D), jnp.eye(D)),
    "affine coupling": lambda: coupling(AffineFunction()),
    "spline coupling": lambda: coupling(SPLINE),
    "affine autoregressive": lambda: masked(AffineFunction()),
    "spline autoregressive": lambda: masked(SPLINE),
    "sequential": lambda: sequential(SPLINE),
    "flow of a table": lambda: (
        TableFlow(n_layers=2, hidden=6).build(D, 0, key=key()).bijection
    ),
}
CONDITIONAL = {
    "whitening": lambda: Whitening(jnp.zeros(G + D), jnp.eye(G + D)),
    "coupling": lambda: coupling(AffineFunction(), G),
    "autoregressive": lambda: masked(SPLINE, G),
}
IMAGES = {
    "logit": lambda: PixelLogit(16),
    "squeeze": lambda: Squeeze((2, 2)),
    "scales": lambda: image("coupling", "affine"),
    "pixel after pixel": lambda: image("autoregressive", "spline"),
}


def stirred(make, seed: int = 0):
    """A bijection with random parameters; no program is compiled for its first ones."""
    leaves, tree = jax.tree.flatten(eqx.filter_eval_shape(make))
    rng = np.random.default_rng(seed)
    found = []
    for leaf in leaves:
        values = 0.1 * rng.normal(size=leaf.shape)
        if leaf.ndim == 2 and leaf.shape[0] == leaf.shape[1]:
            values += np.eye(len(values))
        found.append(jnp.asarray(values, leaf.dtype))
    return tree.unflatten(found)


@eqx.filter_jit
def round_trip(bijection, X):
    Z, _ = bijection.forward(X)
    return Z, bijection.inverse(Z)


def check(bijection, X, given, exact: float):
    """The inverse undoes the map, and the log-determinant is that of autodiff."""

    @eqx.filter_jit
    def laws(b, X, given):
        Z, log_det = b.forward(X, given)
        back = b.inverse(Z, given)

        def row(x, c):
            c = None if c is None else c[None]
            return b.forward(x.reshape(1, *X.shape[1:]), c)[0].ravel()

        J = jax.vmap(jax.jacfwd(row))(X.reshape(len(X), -1), given)
        return Z, log_det, back, jnp.linalg.slogdet(J)[1]

    Z, log_det, back, slogdet = laws(bijection, X, given)
    assert log_det.shape == (len(X),)
    scale = np.maximum(1.0, np.abs(X))
    np.testing.assert_allclose(back / scale, X / scale, atol=exact)
    np.testing.assert_allclose(log_det, slogdet, atol=100 * exact)
    return Z


def in_double(tree):
    return jax.tree.map(
        lambda a: jnp.asarray(a, jnp.float64) if eqx.is_inexact_array(a) else a, tree
    )


SLOW = (
    "spline coupling",
    "affine autoregressive",
    "sequential",
    "flow of a table",
    "autoregressive",
    "scales",
    "pixel after pixel",
)
"""Bijections whose laws take long to compile."""


def every(registry):
    """The names of a registry; those that take long to compile are for the slow run."""
    names = [
        pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
        for name in registry
    ]
    return pytest.mark.parametrize("name", names)


@every(TABLES)
def test_bijections_of_tables(name):
    bijection = stirred(TABLES[name])
    X = 1.5 * np.random.default_rng(1).normal(size=(N, D))
    single, back = round_trip(bijection, jnp.asarray(X, jnp.float32))
    np.testing.assert_allclose(back, X, atol=1e-5)
    with float64():
        Z = check(in_double(bijection), jnp.asarray(X), None, 1e-10)
        np.testing.assert_allclose(single, Z, atol=1e-4)


@every(CONDITIONAL)
def test_conditional_bijections(name):
    bijection = stirred(CONDITIONAL[name])
    rng = np.random.default_rng(1)
    X, C = rng.normal(size=(N, D)), rng.normal(size=(N, G))
    with float64():
        model = in_double(bijection)
        Z = check(model, jnp.asarray(X), jnp.asarray(C), 1e-10)
        other = model.forward(jnp.asarray(X), jnp.asarray(C + 1.0))[0]
    assert np.abs(other - Z).max() > 1e-3


@every(IMAGES)
def test_bijections_of_images(name):
    bijection = stirred(IMAGES[name])
    X = np.random.default_rng(1).uniform(0.1, 15.9, size=(3, 4, 4, 1))
    with float64():
        check(in_double(bijection), jnp.asarray(X), None, 1e-8)


def test_the_spline_is_the_identity_at_zero_and_outside():
    x = jnp.linspace(-6, 6, 41)[:, None]
    forward = jax.jit(SPLINE.forward)
    y, log_slope = forward(x, jnp.zeros((41, SPLINE.n_parameters, 1)))
    np.testing.assert_allclose(y, x, atol=1e-6)
    np.testing.assert_allclose(log_slope, 0, atol=1e-6)
    theta = np.random.default_rng(0).normal(size=(1, SPLINE.n_parameters, 1))
    theta = jnp.asarray(np.repeat(theta, 41, 0), x.dtype)
    y, log_slope = forward(x, theta)
    outside = np.abs(x) > 3
    np.testing.assert_array_equal(y[outside], x[outside])
    assert (np.diff(np.asarray(y)[:, 0]) > 0).all()


def test_the_order_of_a_masked_layer_is_kept():
    """The Jacobian is triangular: z_j depends on x_1, ..., x_j only."""
    layer = stirred(lambda: masked(AffineFunction()))
    J = jax.jit(jax.jacfwd(lambda x: layer.forward(x[None])[0][0]))(jnp.ones(D))
    np.testing.assert_array_equal(np.triu(J, 1), 0)
    assert (np.abs(np.tril(J, -1)[np.tril_indices(D, -1)]) > 0).all()


def test_actnorm_begins_at_standard_columns():
    rng = np.random.default_rng(0)
    X, w = 5 + 3 * rng.normal(size=(50, D)), rng.integers(0, 3, 50).astype(float)
    layer, Z = standardized(
        Composed(ActNorm.identity(D)), jnp.asarray(X, jnp.float32), jnp.asarray(w)
    )
    Z = np.asarray(Z, float)
    mean = np.average(Z, axis=0, weights=w)
    np.testing.assert_allclose(mean, 0, atol=1e-5)
    np.testing.assert_allclose(
        np.average((Z - mean) ** 2, axis=0, weights=w), 1, rtol=1e-4
    )
    twice = ActNorm.of(
        jnp.asarray(np.repeat(X, w.astype(int), 0)), jnp.ones(int(w.sum()))
    )
    np.testing.assert_allclose(layer.parts[0].log_scale, twice.log_scale, atol=1e-5)


@jax.jit
def whitened(X, new):
    return Whitening.of(X, jnp.ones(len(X))).forward(new)


def test_whitening_is_the_normal_distribution_of_the_rows():
    """With many rows nothing is shrunk: the density is that of the sample's moments."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) @ rng.normal(size=(3, 3)) + 1
    with float64():
        Z, log_det = whitened(jnp.asarray(X), jnp.asarray(X[:5]))
    log_p = (
        -0.5 * (np.asarray(Z) ** 2).sum(1)
        - 1.5 * np.log(2 * np.pi)
        + np.asarray(log_det)
    )
    right = multivariate_normal(X.mean(0), np.cov(X.T, bias=True)).logpdf(X[:5])
    np.testing.assert_allclose(log_p, right, atol=2e-3)


def test_whitening_shrinks_where_rows_are_few():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 10))
    new = rng.normal(size=(500, 10))
    Z, log_det = whitened(jnp.asarray(X, jnp.float32), jnp.asarray(new, jnp.float32))
    log_p = np.mean(-0.5 * (np.asarray(Z) ** 2).sum(1) + log_det)
    assert (
        log_p > np.mean(-0.5 * (new**2).sum(1)) - 8
    )  # unshrunk it is below by hundreds


def test_scales_keep_all_numbers():
    inner = Composed(FlatRows((2, 2, 2)))
    bijection = Composed(Squeeze((2, 2)), Factored(inner, (2, 2, 4)))
    X = jnp.arange(32.0).reshape(2, 4, 4, 1)
    Z, log_det = bijection.forward(X)
    assert sorted(np.asarray(Z).ravel()) == list(range(32))
    np.testing.assert_array_equal(log_det, 0)
    np.testing.assert_array_equal(bijection.inverse(Z), X)


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="each of 0, 1, ..., 2 once"):
        Permutation((0, 2, 2))
    with pytest.raises(InputError, match="at least 2 bins"):
        RationalQuadratic(1)
    with pytest.raises(InputError, match="no blocks of 2 × 2"):
        Squeeze().forward(jnp.zeros((1, 3, 4, 1)))
