"""What the notes print about regions and universal approximation, and what is right."""

import importlib.util

import numpy as np
import pytest
from ledger import ROOT
from scipy.special import expit

from likely.diagnostics import (
    activation_study,
    box_network,
    finite_network,
    interval_network,
    region_bounds,
    spline_network,
)
from likely.diagnostics.expressivity.assembly import assembled, evaluated


def bumps(S: int, steep: float, shift: float):
    """Σ f(s)[σ(c(x − s) + b) − σ(c(x − s − 1) + b)] of f(s) = s² on 1, ..., S."""
    s = np.arange(1.0, S + 1)
    bias = np.r_[-steep * s, -steep * (s + 1)] + shift
    inner = np.full((1, 2 * S), steep), bias
    return s, assembled([inner, (np.r_[s**2, -(s**2)][:, None], [0.0])], "sigmoid")[1]


def largest_error(S, steep, shift):
    s, network = bumps(S, steep, shift)
    return float(np.abs(evaluated(network, s[:, None])[:, 0] - s**2).max())


def test_steep_sigmoids_that_are_not_shifted_far_enough():
    """W13, X000-18: the printed weights are off by 4.49977; half a cell to the left they fit."""
    printed = [largest_error(S, 10.0**S, 10.0 ** (S - 9)) for S in (5, 9, 10)]
    np.testing.assert_allclose(printed, [4.49977, 4.57, 8.6e-4], rtol=4e-3)
    # "decrease the exponent −9": worse; increase it: better
    assert largest_error(5, 1e5, 10.0 ** (5 - 10)) > printed[0]
    assert largest_error(5, 1e5, 10.0 ** (5 - 3)) < 1e-6
    assert largest_error(5, 40.0, 20.0) == pytest.approx(7e-8, rel=0.1)
    ours = finite_network(np.arange(1, 6), np.square, 1e-3)
    assert ours.kept
    assert ours.units == (10,)


def test_the_exponent_of_a_shifted_sigmoid_has_one_sign():
    """X000-17: σ(c(x − n) + b) = 1/(1 + exp(−c(x − n) − b)), printed + b."""
    S, n, x = 9, 2.0, 2.0 + 1e-10
    _, network = bumps(2, 10.0**S, 10.0 ** (S - 9))
    unit = evaluated(network, np.array([[x]]))[0, 0]
    a = 10.0**S * (x - n)
    b = 10.0 ** (S - 9)
    right, printed = 1 / (1 + np.exp(-a - b)), 1 / (1 + np.exp(-a + b))
    low = 1.0 - expit(a + b)  # of the bump at 1, which ends at 2
    assert unit == pytest.approx(4 * right + low, rel=1e-6)
    assert abs(unit - (4 * printed + low)) > 1


def test_the_errors_of_units_add_up():
    """X000-19: an error ε of each unit is up to 2 Σ|f(s)| ε in the sum, not ε."""
    steep = 6.0
    s, network = bumps(5, steep, steep / 2)
    each = expit(-steep / 2)
    off = np.abs(evaluated(network, s[:, None])[:, 0] - s**2).max()
    assert each < off <= 2 * (s**2).sum() * each


def test_cells_of_an_interval():
    """W14: L = 1, b − a = 1, ε = 0.1: 20 cells by the printed rule, 10 suffice."""
    found = interval_network(lambda x: x, 0, 1, 0.1, lipschitz=1.0)
    delta = 0.1
    assert int(np.ceil(1 / (delta / 2) - 1e-9)) == 20
    assert found.units == (20,)  # 2N units, N = 10
    assert found.kept
    assert found.error > 0.04


def test_walls_alone_enclose_nothing():
    """X000-20: three half planes sum to 3 inside a triangle and to 1 or 2 outside."""
    angle = np.pi / 2 + 2 * np.pi * np.arange(3) / 3
    normals = -np.stack([np.cos(angle), np.sin(angle)])
    walls = (1e6 * normals, np.full(3, 0.5e6))
    one = assembled([walls, (np.ones((3, 1)), [0.0])], "sigmoid")[1]
    X = np.random.default_rng(0).uniform(-3, 3, size=(4000, 2))
    inside = ((X @ normals + 0.5) > 0).all(1)
    sums = np.round(evaluated(one, X)[:, 0], 3)
    assert set(sums[inside]) == {3.0}
    assert {1.0, 2.0} <= set(sums[~inside])
    both = [walls, (np.full((3, 1), 100.0), [-250.0]), (np.ones((1, 1)), [0.0])]
    two = evaluated(assembled(both, "sigmoid")[1], X)[:, 0]
    np.testing.assert_allclose(two, inside, atol=1e-6)
    square = box_network(lambda X: X.prod(1), [0, 0], [1, 1], 0.8, lipschitz=2**0.5)
    assert len(square.units) == 2


def test_floors_and_binomials_in_the_region_theorem():
    """X001-5: ∏ ⌊n_i/n₀⌋^n₀ Σ_j C(n_L, j): 44 for two inputs and (4, 4); n_L/j has no value."""
    assert region_bounds(2, (4, 4)).montufar == (4 // 2) ** 2 * (1 + 4 + 6) == 44
    assert region_bounds(2, (5, 4)).montufar == 44  # floor
    with pytest.raises(ZeroDivisionError):
        sum(4 / j for j in range(3))


def test_universal_on_compact_sets_by_activations_that_are_not_bounded():
    """X002-22, X004-18: near on an interval, not beyond; ReLUs are unbounded and do it."""
    line = spline_network(np.sin, 0, 6, 0.05, curvature=1.0)
    steps = interval_network(np.sin, 0, 6, 0.2, lipschitz=1.0)
    far = np.linspace(6, 60, 500)
    for found in (line, steps):
        assert found.kept
        assert np.abs(found(far) - np.sin(far)).max() > 0.9
    study = activation_study(
        np.sin, 0, 6, activations=(("polynomial", 3),), widths=(8, 64), n_draws=2
    )
    assert (study.lowest >= study.floor[:, None] - 1e-9).all()
    assert study.floor[0] > 0.01


# figures ------------------------------------------------------------------------------


@pytest.fixture
def figures(monkeypatch):
    """The program of the figures, and what it draws."""
    path = ROOT / "docs" / "figures" / "expressivity.py"
    spec = importlib.util.spec_from_file_location("figures_expressivity", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    drawn = {}
    monkeypatch.setattr(
        module, "save", lambda figure, name: drawn.update({name: figure})
    )
    return module, drawn


def test_a_shallow_network_taken_apart(figures):
    """Four panels with three joints that both outputs share; maps of two inputs."""
    module, drawn = figures
    module.units()
    panels = drawn["regions-units"].axes
    assert len(panels) == 4
    marks = [line.get_xdata() for line in panels[3].lines if line.get_marker() == "o"]
    assert len(marks) == 2
    for joints in marks:
        np.testing.assert_allclose(joints, [0, 1, 2])
    assert len(drawn["regions-plane"].axes) == 8


def test_folds_and_compositions(figures):
    """Four folds of a line with three pieces each, and a plane whose pieces multiply."""
    module, drawn = figures
    module.folds()
    fold, own, whole = (ax.get_title(loc="left") for ax in drawn["regions-fold"].axes)
    assert [int(t.split(", ")[-1].split()[0]) for t in (fold, own)] == [4, 3]
    assert int(whole.split(", ")[-1].split()[0]) in range(10, 13)
    first, _, both = (
        int(ax.get_title(loc="left").split(", ")[-1].split()[0])
        for ax in drawn["regions-plane-composition"].axes
    )
    assert both > first


def test_regions_over_parameters_and_more_units(figures):
    """Deep networks have more regions from some size on; errors fall with the units."""
    module, drawn = figures
    module.parameters()
    lines = drawn["regions-parameters"].axes[0].lines
    shallow, deep = lines[0].get_xydata(), lines[2].get_xydata()
    assert deep[-1, 1] > 50 * shallow[shallow[:, 0] <= deep[-1, 0]][-1, 1]
    module.growing()
    titles = [ax.get_title(loc="left") for ax in drawn["approximation-growing"].axes]
    errors = [float(t.split()[-1]) for t in titles]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.05
