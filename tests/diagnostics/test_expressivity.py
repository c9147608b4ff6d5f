"""Linear regions against bounds, and networks that were built to approximate."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from likely import diagnostics, layers
from likely.core import InputError
from likely.diagnostics import (
    activation_study,
    approximation_study,
    arrangement_regions,
    bernstein_network,
    box_network,
    count_regions,
    depth_study,
    depth_table,
    finite_network,
    folding_network,
    interval_network,
    polygonal_network,
    region_bounds,
    region_study,
    ridge_network,
    spline_network,
    square_network,
)
from likely.diagnostics.expressivity import ridges
from likely.diagnostics.expressivity.assembly import assembled, evaluated
from likely.diagnostics.expressivity.region_study import _random

WIDTHS = st.lists(st.integers(1, 4), min_size=1, max_size=3)


# regions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_in", "widths", "montufar", "lower", "upper"),
    [
        (2, (3,), 7, 7, 7),
        (2, (6,), 22, 22, 22),
        (2, (4, 4), 44, 44, 121),
        (2, (6, 6), 198, 352, 484),
        (1, (3, 3, 3), 36, 64, 64),
        (1, (1, 1), 2, 2, 3),
        (3, (9, 9), 27 * 130, 64 * 130, None),
    ],
)
def test_bounds_of_known_widths(n_in, widths, montufar, lower, upper):
    found = region_bounds(n_in, widths)
    assert (found.montufar, found.lower) == (montufar, lower)
    assert upper is None or found.upper == upper
    assert found.lower <= found.upper


def test_hyperplanes_divide_a_plane_into_n_squared_parts():
    for n in range(1, 12):
        assert arrangement_regions(n, 2) == (n**2 + n + 2) // 2
        assert arrangement_regions(n, 1) == n + 1


@settings(max_examples=6)
@given(WIDTHS, st.integers(0, 2**20), st.sampled_from([1, 2]))
def test_no_network_has_more_regions_than_the_bound(widths, seed, n_in):
    model = _random(n_in, tuple(widths), np.random.default_rng(seed))
    found = count_regions(model)
    bounds = region_bounds(n_in, widths)
    assert 1 <= found.maps <= found.linear <= bounds.upper
    if len(widths) == 1:  # lines in general position, of which none is flat
        assert found.linear <= arrangement_regions(widths[0], n_in)


@settings(max_examples=15)
@given(st.lists(st.integers(1, 5), max_size=2), st.integers(2, 4))
def test_folding_networks_of_a_line_reach_the_bound(folds, last):
    network = folding_network(1, (*folds, last))
    assert count_regions(network.model, (0, 1)).linear == network.regions
    if folds and min(folds) >= 3:
        assert network.regions == np.prod(np.add((*folds, last), 1))


@pytest.mark.parametrize(
    "widths",
    [(3,), (2, 5), (5, 3), (6, 3)],
)
def test_folding_networks_of_a_plane_reach_the_bound(widths):
    network = folding_network(2, widths)
    found = count_regions(network.model, (0, 1, 0, 1))
    assert found.linear == found.maps == network.regions
    assert isinstance(network.model, layers.Chain)


@pytest.mark.slow  # counts hundreds of polygons in growing boxes
def test_a_network_exceeds_the_printed_upper_bound():
    """W11, X000-16: 352 is printed; tilted folds meet six times more, far away."""
    study = region_study(2, (6, 6), n_random=2)
    assert study.printed == 352
    assert study.folding == 352
    assert study.tilted == 358
    assert study.bounds.upper == 484
    assert "does not hold" in study.verdict
    assert study.random.max() < 352
    assert len(region_study(1, (3, 3), n_random=2).plot().axes) == 3


def test_regions_with_a_common_map_are_one():
    """A unit that nothing depends on divides nothing."""
    lines = np.array([[1.0, 0.0], [0.0, 1.0]])
    model = assembled([(lines, [0.0, 0.0]), ([[1.0], [0.0]], [0.0])])[1]
    found = count_regions(model, (-1, 1, -1, 1))
    assert (found.linear, found.maps) == (2, 2)
    both = assembled([(lines, [0.0, 0.0]), ([[1.0], [1.0]], [0.0])])[1]
    assert count_regions(both).linear == 4


# approximation ------------------------------------------------------------------------


def waves(seed: int, q: int = 1):
    """A random sum of waves, with its Lipschitz constant and bound on the second derivative."""
    rng = np.random.default_rng(seed)
    k, c, b = rng.normal(size=(q, 3)) * 2, rng.normal(size=3), rng.uniform(0, 6, 3)

    def f(x):
        return np.sin((x[:, None] if q == 1 else x) @ k + b) @ c + 1

    size = np.linalg.norm(k, axis=0)
    return f, float(np.abs(c) @ size), float(np.abs(c) @ size**2)


SEEDS = st.integers(0, 10_000)


@settings(max_examples=4)
@given(SEEDS, st.sampled_from([1.0, 0.5, 0.3]))
def test_networks_on_an_interval_keep_their_promise(seed, epsilon):
    f, L, M = waves(seed)
    steps = interval_network(f, -1.0, 2.0, epsilon, lipschitz=L)
    assert steps.kept
    assert sum(steps.units) <= 2 * np.ceil(3 * L / epsilon)
    line = spline_network(f, -1.0, 2.0, epsilon, curvature=M)
    assert line.kept
    assert sum(line.units) <= np.ceil(3 * np.sqrt(M / (8 * epsilon))) + 1
    bernstein = bernstein_network(f, -1.0, 2.0, 2 * epsilon, lipschitz=L)
    assert bernstein.kept
    x = np.linspace(-1, 2, 50)
    assert np.abs(line(x) - f(x)).max() <= epsilon


@settings(max_examples=3)
@given(SEEDS)
def test_two_layers_keep_their_promise_on_a_square(seed):
    f, L, _ = waves(seed, 2)
    found = box_network(f, [0, 0], [1, 1], 0.25 * L, lipschitz=L)
    assert found.kept
    assert len(found.units) == 2


@settings(max_examples=5)
@given(st.integers(1, 12), SEEDS)
def test_any_values_at_finitely_many_points(n, seed):
    """2N sigmoids."""
    rng = np.random.default_rng(seed)
    points = np.cumsum(rng.uniform(0.1, 2, n))
    found = finite_network(points, 10 * rng.normal(size=n), 1e-6)
    assert found.kept
    assert found.units == (2 * n,)


@settings(max_examples=5)
@given(st.integers(2, 12), SEEDS)
def test_any_polygonal_line_is_a_relu_network(n, seed):
    """a + bx + Σ cᵢ relu(x − tᵢ) with the slope changes cᵢ, also beyond its ends."""
    rng = np.random.default_rng(seed)
    t, y = np.cumsum(rng.uniform(0.1, 1, n)), rng.normal(size=n)
    found = polygonal_network(t, y)
    assert found.kept
    slopes = np.diff(y) / np.diff(t)
    beyond = np.array([t[0] - 3, t[-1] + 2])
    ends = [y[0] - 3 * slopes[0], y[-1] + 2 * slopes[-1]]
    np.testing.assert_allclose(found(beyond), ends, atol=1e-10)
    np.testing.assert_allclose(found.model.layers[2].weight[2:, 0], np.diff(slopes))


def test_ridge_functions_lift_to_two_dimensions(monkeypatch):
    """xy by squares of sums; a function with a corner is refused in a sentence."""
    product = ridge_network(lambda X: X[:, 0] * X[:, 1], [0, -1], [1, 2], 0.05)
    assert product.kept
    assert len(product.units) == 1
    assert "degree 2" in product.kind
    monkeypatch.setitem(ridges.MAX_DEGREE, 2, 3)
    with pytest.raises(InputError, match="need a smooth function"):
        ridge_network(lambda X: np.abs(X[:, 0] - X[:, 1]), [0, 0], [1, 1], 1e-3)


def test_a_polynomial_activation_fails_and_others_do_not():
    """|x|: no polynomial of degree 2 is nearer than 1/8."""
    study = activation_study(
        np.abs,
        -1,
        1,
        activations=("relu", ("polynomial", 2)),
        widths=(4, 32),
        n_draws=3,
    )
    assert study.floor[1] == pytest.approx(1 / 8, rel=1e-4)
    assert (study.lowest[1] >= study.floor[1]).all()
    assert study.floor[0] == 0
    assert study.lowest[0, -1] < 0.03
    assert "no network gets below 0.125" in study.verdict
    assert len(study.plot().axes) == 1


@pytest.mark.parametrize("m", [1, 3, 6])
def test_the_square_by_three_units_a_layer(m):
    found = square_network(m)
    assert found.kept
    assert found.units == (3,) * m
    assert found.error == pytest.approx(4.0 ** (-m - 1), rel=1e-3)


def test_where_depth_wins_and_where_it_cannot():
    found = depth_table((2, 4))
    rows = {(row.target, row.depth): row for row in found.rows}
    assert rows["square", 4].deep_parameters < rows["square", 4].shallow_parameters
    assert rows["sawtooth", 4].shallow_units == 4**4 + 1
    assert rows["sawtooth", 4].deep_units == 12
    for row in found.rows:
        if row.target == "random line":
            assert row.shallow_parameters <= 3.3 * row.least_parameters
    assert "no depth can save more than" in found.verdict
    assert len(found.plot().axes) == 3


def test_units_grow_as_the_theory_says():
    study = approximation_study(
        np.sin, 0, 3, epsilons=(0.2, 0.05), lipschitz=1.0, curvature=1.0
    )
    assert all(a.kept for row in study.networks for a in row)
    assert study.orders[0] == pytest.approx(1, abs=0.05)
    assert (study.orders[1:] < 0.6).all()
    assert "Every network keeps its promise" in study.verdict
    assert len(study.plot().axes) == 1
    assert len(study.networks[0][0].plot().axes) == 2


def test_constants_that_were_measured_are_said_to_be():
    found = interval_network(np.tanh, -1, 1, 0.3)
    assert found.kept
    assert found.assumed is not None
    assert "measured on a grid" in found.verdict
    given_ = interval_network(np.tanh, -1, 1, 0.3, lipschitz=1.0)
    assert given_.assumed is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: region_bounds(2, []), "widths of at least 1"),
        (lambda: region_study(3, (4, 4)), "1 or 2 inputs"),
        (lambda: folding_network(2, (1, 4)), "for each of the 2 inputs"),
        (lambda: folding_network(1, (3, 1)), "at least 2"),
        (lambda: interval_network(np.sin, 1, 0, 0.1), "low < high"),
        (lambda: interval_network(np.sin, 0, 1, 0.0), "epsilon is 0.0"),
        (lambda: interval_network(np.log, 0, 1, 0.1), "not finite at"),
        (lambda: interval_network(np.sin, 0, 1, 1e-9, lipschitz=1.0), "larger epsilon"),
        (
            lambda: interval_network(np.sin, 0, 1, 0.1, lipschitz=0.5),
            "has a slope of 1 on a grid",
        ),
        (
            lambda: spline_network(np.abs, -1, 1, 0.1, curvature=1.0),
            "corners or jumps has no such bound",
        ),
        (lambda: polygonal_network([0, 0], [1, 2]), "ascending joints"),
        (lambda: polygonal_network([0, 1], [1, np.nan]), "finite numbers"),
        (lambda: finite_network([0, 1], [1, np.inf]), "finite numbers"),
        (lambda: finite_network([1, 1], [1, 2]), "different points"),
        (
            lambda: box_network(np.sum, [0] * 4, [1] * 4, 0.1, lipschitz=1.0),
            "boxes of 1 to 3",
        ),
        (lambda: ridge_network(np.sum, [0], [1], 0.1), "for 2 or 3"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with np.errstate(all="ignore"), pytest.raises(InputError, match=message):
        call()


@pytest.mark.slow
def test_trained_networks_of_equal_size():
    study = depth_study(n_seeds=4)
    assert study.errors.shape == (2, 3, 4)
    assert max(study.parameters) <= 200
    parabola = study.targets.index("iterated parabola")
    assert study.mean[parabola, 1] < study.mean[parabola, 0]
    assert "For the random line" in study.verdict
    assert len(study.plot().axes) == 1


@pytest.mark.slow
def test_three_inputs():
    found = box_network(lambda X: X.sum(1) / 3, [0] * 3, [1] * 3, 0.6)
    assert found.kept
    lifted = ridge_network(lambda X: X.prod(1), [0] * 3, [1] * 3, 0.05)
    assert lifted.kept
    assert len(found.plot().axes) == 6


def test_built_networks_are_those_of_models(rng):
    """The chain is what `models.MLP` builds, and evaluates as any of its networks."""
    made = diagnostics.square_network(2)
    sketch = made.settings.build(1, 1, key=jax.random.key(0))
    assert jax.tree.structure(sketch) == jax.tree.structure(made.model)
    x = rng.uniform(size=(5, 1))
    np.testing.assert_allclose(evaluated(made.model, x)[:, 0], made(x[:, 0]))
