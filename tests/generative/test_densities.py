"""Densities of flows and masked networks with any parameters: exact, in any order."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import likely as lk
from likely.base.training.unsupervised import Cells
from likely.core.checks import InputError
from likely.core.precision import float64
from likely.generative.autoregressive.any_order import fixed_orders, known_first
from likely.generative.autoregressive.columns import CodedColumns
from likely.generative.autoregressive.linear_conditionals import LinearConditionals
from likely.generative.autoregressive.masked_density import (
    ColumnStart,
    MaskedDensity,
)
from likely.generative.autoregressive.pixel_cells import PixelCells
from likely.generative.defended import best_share, mixed, training_noise
from likely.generative.pixels import PixelCode
from likely.layers import Whitening
from likely.models import MaskedMLP, TableFlow
from likely.models.flows.flow import Flow


def stirred(make, scale: float = 0.3):
    """Made with random parameters; no program is compiled for its first ones."""
    leaves, tree = jax.tree.flatten(eqx.filter_eval_shape(make))
    rng = np.random.default_rng(0)
    found = [
        scale * rng.normal(size=a.shape) if jnp.issubdtype(a.dtype, jnp.floating) else a
        for a in leaves
    ]
    return tree.unflatten([np.asarray(a, np.float64) for a in found])


# Flows --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "function", "base"),
    [
        ("autoregressive", "spline", "normal"),
        pytest.param("coupling", "spline", "student", marks=pytest.mark.slow),
        pytest.param("coupling", "affine", "normal", marks=pytest.mark.slow),
    ],
)
def test_a_flow_integrates_to_one(kind, function, base):
    settings = TableFlow(kind, function, 2, hidden=4, n_bins=4, base=base)
    flow = stirred(lambda: settings.build(2, 0, key=jax.random.key(0)))
    units = Whitening(np.array([0.5, -1.0]), np.array([[1.5, 0.8], [0.0, 0.7]]))
    flow = Flow(units, flow.bijection, flow.base)
    wide = 60.0 if base == "student" else 20.0
    ticks = np.linspace(-wide, wide, 701)
    grid = np.stack(np.meshgrid(ticks, ticks), -1).reshape(-1, 2)
    with float64():
        log_p = eqx.filter_jit(lambda f, X: f.log_prob(X))(flow, jnp.asarray(grid))
    total = np.exp(np.asarray(log_p)).sum() * (ticks[1] - ticks[0]) ** 2
    assert total == pytest.approx(1.0, abs=1e-2 if base == "student" else 1e-3)


# Masked networks ----------------------------------------------------------------------

KINDS, LEVELS = ("number", "category", "whole", "count"), (0, 3, 0, 0)
ORDER = np.array([2, 0, 3, 1])


def masked() -> MaskedDensity:
    """A network of a number, a word, a whole number on a lattice, and a count."""
    origin, step = np.array([0.0, 0.0, 0.25, 0.5]), np.array([1.0, 1.0, 0.5, 1.0])
    columns = CodedColumns(KINDS, LEVELS, origin, step, 2)
    network = stirred(
        lambda: MaskedMLP(
            columns.input_variables,
            columns.output_variables,
            6,
            1,
            key=jax.random.key(0),
        )
    )
    R = np.triu(0.3 * np.ones((6, 6))) + 0.7 * np.eye(6)
    linear = LinearConditionals(Whitening(np.zeros(6), R), columns.input_variables[:6])
    start = ColumnStart(np.full(3, 0.3), np.full(3, 0.2), (np.array([0.0, 1.0, -1.0]),))
    return MaskedDensity(columns, network, linear, start)


@eqx.filter_jit
def log_probs(model, cells, order):
    return model.log_probs(cells, order)


@pytest.mark.parametrize(
    "order",
    [pytest.param(np.arange(4), marks=pytest.mark.slow), ORDER],
    ids=["given", "other"],
)
def test_a_masked_network_sums_to_one_in_any_order(order):
    x = np.linspace(-12, 12, 61)
    whole = 0.25 + 0.5 * np.arange(-16, 17)
    parts = np.meshgrid(x, np.arange(3), whole, np.arange(40), indexing="ij")
    V = np.stack([p.ravel() for p in parts], 1)
    cells = Cells(V, np.zeros(V.shape, bool), np.zeros((len(V), 0)))
    with float64():
        cells = jax.tree.map(jnp.asarray, cells)
        found = log_probs(masked(), cells, jnp.asarray(order))
    for log_p in found:  # of the network, and of its start
        total = np.exp(np.asarray(log_p)).sum() * (x[1] - x[0])
        assert total == pytest.approx(1.0, abs=2e-2)


@pytest.mark.slow
def test_cells_depend_on_earlier_columns_only():
    model = masked()
    V = np.array([[0.3, 1.0, 0.75, 2.0]])
    with float64():
        etas = eqx.filter_jit(
            lambda V, order: model.columns.log_probs(
                model.etas(
                    Cells(V, jnp.zeros(V.shape, bool), jnp.zeros((1, 0))), order
                )[0],
                V,
            )
        )
        first = etas(jnp.asarray(V), jnp.asarray(ORDER))
        for j in range(4):
            other = V.copy()
            other[0, j] = {0: -1.0, 1: 0.0, 2: -0.25, 3: 7.0}[j]
            now = etas(jnp.asarray(other), jnp.asarray(ORDER))
            changed = np.asarray(now != first)[0]
            assert not changed[ORDER[j] > ORDER].any()
            assert changed[ORDER[j] < ORDER].all()


def test_known_columns_come_first():
    missing = np.array([[False, True, False], [True, False, False]])
    ranks = known_first(np.array([1, 0, 2]), missing)
    np.testing.assert_array_equal(ranks, [[0, 2, 1], [2, 0, 1]])
    orders = fixed_orders(5, 4)
    assert all(sorted(o) == list(range(5)) for o in orders)
    assert len({tuple(o) for o in orders}) == 4


# Pixels -------------------------------------------------------------------------------


@pytest.mark.parametrize(("levels", "K"), [(2, 1), (5, 1), (40, 3)])
def test_levels_of_a_pixel_sum_to_one(levels, K):
    cells = PixelCells(levels, K)
    eta = np.random.default_rng(0).normal(size=(1, cells.n_eta, 1))
    codes = np.arange(levels, dtype=float)[:, None]
    with float64():
        eta = jnp.asarray(np.repeat(eta, levels, 0))
        log_p = jax.jit(cells.log_prob)(eta, jnp.asarray(codes))
    assert np.exp(np.asarray(log_p)).sum() == pytest.approx(1.0, abs=1e-9)


def test_pixels_become_levels_and_come_back():
    bytes_ = np.arange(32, dtype=np.uint8).reshape(2, 4, 4)
    unit = np.round(np.linspace(0, 255, 32)).reshape(2, 4, 4) / 255
    digits = np.arange(32.0).reshape(2, 4, 4) % 17
    for X, levels in ((bytes_, 256), (unit, 256), (digits, 17), (bytes_ > 9, 2)):
        code = PixelCode.learn(X, None, "auto")
        assert code.levels == levels
        back = code.decode(code.encode(X))
        assert back.dtype == X.dtype
        np.testing.assert_allclose(back.astype(float), X.astype(float), atol=1e-12)
    assert (
        PixelCode.learn(
            np.random.default_rng(0).normal(size=(2, 4, 4)), None, "auto"
        ).levels
        == 0
    )
    with pytest.raises(InputError, match="none of the 17 values"):
        PixelCode.learn(digits, None, "auto").encode(digits + 9)


# The start that is kept -----------------------------------------------------------------


def test_the_share_is_that_of_largest_likelihood():
    rng = np.random.default_rng(0)
    own, start, w = rng.normal(size=50) - 1, rng.normal(size=50), rng.integers(1, 3, 50)
    share = best_share(own, start, w.astype(float))
    nats = [w @ mixed(own, start, s) + np.log(s) for s in np.linspace(0.02, 0.98, 97)]
    assert share == pytest.approx(
        np.linspace(0.02, 0.98, 97)[np.argmax(nats)], abs=0.01
    )
    assert best_share(start + 5, start, np.ones(50)) > 0.99
    assert best_share(start - 50, start, np.ones(50)) < 0.03
    assert training_noise("auto", 10) == 0.2
    assert training_noise("auto", 90_000) == pytest.approx(0.01)
    assert training_noise(0, 10) is None


# What cannot be -------------------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(20, 2))


@pytest.mark.parametrize(
    ("model", "rows", "words"),
    [
        (lk.NormalizingFlow(), np.where(X > 1, np.nan, X), "needs complete rows"),
        (lk.NormalizingFlow(), np.sign(X), "nothing for a flow to map"),
        (lk.NormalizingFlow("layers"), X, "kind is 'layers'"),
        (lk.NormalizingFlow(n_bins=1), X, "n_bins is 1"),
        (lk.NormalizingFlow(noise=-1), X, "noise is -1"),
        (lk.NormalizingFlow(), np.full((5, 2), np.inf), "infinity"),
        (lk.AutoregressiveDensity(order="both"), X, "order is 'both'"),
        (lk.AutoregressiveDensity(network="cnn"), X, "network is 'cnn'"),
        (
            lk.AutoregressiveDensity(network="masked"),
            X.reshape(5, 2, 4),
            "holds images",
        ),
        (lk.AutoregressiveDensity(), X.reshape(5, 2, 4), "have no levels"),
        (
            lk.AutoregressiveDensity(block=3),
            np.zeros((5, 2, 4), np.uint8),
            "does not divide the 8 pixels",
        ),
        (lk.AutoregressiveDensity(), X[:1], "1 sample"),
    ],
    ids=lambda value: "",
)
def test_what_cannot_be_is_refused(model, rows, words):
    with pytest.raises(ValueError, match=words):
        model.fit(rows)


def test_a_frame_of_words_alone_has_no_flow():
    with pytest.raises(InputError, match="AutoregressiveDensity"):
        lk.NormalizingFlow().fit(pd.DataFrame({"a": list("xyxyxxyy") * 3}))
