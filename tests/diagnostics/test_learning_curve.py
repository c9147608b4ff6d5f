"""Learning curves: losses by size, power laws, under- and overfitting."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

import likely as lk
from likely import data, plots
from likely.core.checks import InputError
from likely.diagnostics import diagnose_fit, learning_curve
from likely.diagnostics.generalization.learning.forecast import forecast
from likely.diagnostics.generalization.learning.power_law import fit_power_law
from likely.diagnostics.generalization.learning.subsets import (
    curve_sizes,
    random_order,
)

SIZES = np.array([20.0, 40, 80, 160, 320])


def resampled(curve, rng, *, level=0.1, own=0.004, m=300):
    """Curves whose errors are mostly common to all sizes."""
    shared = level * rng.normal(size=(m, 1))
    return curve + shared + own * rng.normal(size=(m, len(curve)))


# Power laws ----------------------------------------------------------------------------


def test_power_laws_are_found_exactly():
    curve = 0.5 + 3 * SIZES**-0.7
    law, squares = fit_power_law(SIZES, curve[None], np.eye(5) * 1e-4, lowest=0.0)
    assert squares[0] < 0.1
    np.testing.assert_allclose(law(SIZES)[0], curve, rtol=2e-3)
    assert law.c[0] == pytest.approx(0.7, abs=0.05)


def test_power_laws_never_rise_nor_end_below_the_least_loss():
    rising, steep = 0.5 + 0.001 * SIZES, 2 * SIZES**-0.5 - 0.08
    law, _ = fit_power_law(
        SIZES, np.stack([rising, steep]), np.eye(5) * 1e-4, lowest=0.0
    )
    assert law.b[0] == 0
    assert law.a[1] >= 0


def test_the_forecast_of_a_power_law_is_the_law(rng):
    curve = 0.5 + 3 * SIZES**-0.7
    draws = resampled(curve, rng)
    found = forecast(SIZES, curve, draws, n=400, lowest=0.0)
    truth = 3 * (400**-0.7 - 800**-0.7)
    gain, low, high = found.gain
    assert found.trustworthy, found.reason
    assert low < truth < high
    assert gain == pytest.approx(truth, rel=0.5)


@pytest.mark.parametrize(
    ("curve", "reason"),
    [
        (0.5 + 0.0 * SIZES, "falls over these sizes is not shown"),
        (np.array([1.0, 0.8, 1.3, 0.7, 0.6]), "rises"),
        (np.array([1.0, 0.99, 0.98, 0.97, 0.5]), "no power law|misses"),
    ],
)
def test_forecasts_say_when_they_are_not_to_be_trusted(rng, curve, reason):
    found = forecast(SIZES, curve, resampled(curve, rng), n=400, lowest=0.0)
    assert not found.trustworthy
    assert re.search(reason, found.reason), found.reason


def test_few_sizes_have_no_forecast_worth_the_name(rng):
    curve = 0.5 + 3 * SIZES**-0.7
    draws = resampled(curve, rng)
    few = forecast(SIZES[:3], curve[:3], draws[:, :3], n=400, lowest=0.0)
    assert "3 sizes" in few.reason
    assert forecast(SIZES[:2], curve[:2], draws[:, :2], n=400, lowest=0.0) is None


# Sizes and orders ----------------------------------------------------------------------


def test_sizes_are_rows_or_shares():
    assert list(curve_sizes([0.5, 1.0], 80, 0, 1)) == [40, 80]
    assert list(curve_sizes([20, 10, 20], 80, 0, 1)) == [10, 20]
    default = curve_sizes(None, 80, 2, 1)
    assert default[-1] == 80
    assert len(default) > 4
    for bad in ([1], [90], [], [np.nan]):
        with pytest.raises(InputError, match="sizes"):
            curve_sizes(bad, 80, 0, 1)


def test_every_beginning_of_an_order_is_a_fair_sample(rng):
    y = np.repeat([0, 1, 2], [60, 30, 3])
    order = random_order(np.arange(93), y, rng, classes=True, groups=None)
    assert sorted(order) == list(range(93))
    assert set(y[order[:3]]) == {0, 1, 2}
    assert abs((y[order[:31]] == 0).sum() - 20) <= 1
    groups = np.arange(93) // 10
    whole = groups[random_order(np.arange(93), y, rng, classes=True, groups=groups)]
    assert (np.diff(whole) != 0).sum() == 9  # each group in one piece


# Learning curves -----------------------------------------------------------------------


def test_a_line_learns_at_the_known_rate():
    """Least squares with d normal columns has the risk σ²(1 + (d + 1)/(n − d − 2)), about."""
    table = data.linear(200, 5, noise=1.0, random_state=0)
    found = learning_curve(LinearRegression(), table.X, table.y, repeats=2)
    n = found.sizes
    truth = (1 + 1 / n) * (n - 2) / (n - 7)
    held_out, error = found.values("held_out"), found.errors("held_out")
    assert (np.abs(held_out - truth) < 3.5 * error).all()
    assert (np.diff(held_out[[0, 3, -1]]) < 0).all()
    assert (np.diff(found.values("train")[[0, 3, -1]]) > 0).all()
    np.testing.assert_allclose(
        found.values("gap"), held_out - found.values("train"), atol=1e-12
    )
    assert found.kind == "fits"
    assert "Twice the rows" in found.verdict or "cannot be said" in found.verdict
    assert found.plot().axes[0].get_xlabel() == "training rows"


def test_one_program_has_the_losses_of_the_loop():
    table = data.linear(40, 2, random_state=0)
    options = {"sizes": [10, 30], "repeats": 2, "cv": 4}
    ours = learning_curve(lk.Ridge(1.0), table.X, table.y, **options)
    theirs = learning_curve(Ridge(1.0), table.X, table.y, **options)
    for name in ("train", "held_out", "gap"):
        np.testing.assert_allclose(ours.values(name), theirs.values(name), rtol=1e-9)
        np.testing.assert_allclose(ours.errors(name), theirs.errors(name), rtol=1e-9)
    assert ours.sizes[-1] == 30


def test_rows_of_weight_two_are_rows_twice_and_absent_rows_are_absent():
    table = data.linear(30, 2, random_state=0)
    splits = [(np.arange(15), np.arange(15, 30)), (np.arange(15, 30), np.arange(15))]
    w = np.tile([1.0, 2.0, 0.0], 10)
    X, y = table.X.copy(), table.y.copy()
    X[w == 0], y[w == 0] = np.nan, np.nan
    found = diagnose_fit(
        LinearRegression(), X, y, cv=splits, sample_weight=w, reference=None
    )
    twice = np.repeat(np.arange(30), w.astype(int))
    again = [
        (np.flatnonzero(np.isin(twice, a)), np.flatnonzero(np.isin(twice, b)))
        for a, b in splits
    ]
    other = diagnose_fit(
        LinearRegression(), table.X[twice], table.y[twice], cv=again, reference=None
    )
    for name in ("train", "held_out", "gap", "null"):
        assert getattr(found, name).value == pytest.approx(getattr(other, name).value)


def test_groups_are_resampled_whole():
    """Twenty copies of each row are no more rows than one."""
    table = data.linear(30, 2, random_state=0)
    X, y = np.repeat(table.X, 20, axis=0), np.repeat(table.y, 20)
    groups = np.repeat(np.arange(30), 20)
    options = {"cv": GroupKFold(5), "groups": groups, "reference": None}
    whole = diagnose_fit(LinearRegression(), X, y, **options)
    alone = diagnose_fit(LinearRegression(), table.X, table.y, reference=None)
    assert whole.held_out.error == pytest.approx(alone.held_out.error, rel=0.35)


# Under- and overfitting ----------------------------------------------------------------


def test_a_full_tree_overfits_and_a_line_through_a_ring_underfits():
    curve = data.curve(80, noise=0.5, random_state=0)
    tree = diagnose_fit(DecisionTreeRegressor(), curve.X, curve.y, reference=None)
    assert tree.kind == "overfits"
    assert tree.train.value < 1e-12
    assert tree.lost > 0.5
    line = diagnose_fit(
        LinearRegression(), *_parabola(), reference=KNeighborsRegressor(5)
    )
    assert line.kind == "underfits"
    assert "KNeighborsRegressor" in line.verdict
    assert "training rows" in line.table()["loss"]
    assert line.plot().axes[0].get_title(loc="left") == "It underfits"


def _parabola():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(120, 1))
    return X, 4 * X[:, 0] ** 2 + 0.2 * rng.normal(size=120)


def test_a_good_fit_and_pure_noise():
    table = data.linear(100, 2, noise=0.5, random_state=0)
    good = diagnose_fit(
        LinearRegression(), table.X, table.y, reference=KNeighborsRegressor(10)
    )
    assert good.kind == "fits"
    assert "not better" in good.verdict
    noise = np.random.default_rng(1).normal(size=100)
    nothing = diagnose_fit(Ridge(1e4), table.X, noise, reference=None)
    assert nothing.kind == "learns nothing"


def test_fits_over_rows_say_their_errors():
    X, y = _parabola()
    fits = {
        "line": LinearRegression().fit(X, y),
        "tree": DecisionTreeRegressor().fit(X, y),
    }
    truth = lambda X: 4 * X[:, 0] ** 2  # noqa: E731
    first, second = plots.fitted_curves(fits, X, y, truth=truth).axes
    error = np.mean((fits["line"].predict(X) - y) ** 2)
    assert f"line: training error {error:.3g}" in first.get_title(loc="left")
    assert "tree: training error 0" in second.get_title(loc="left")
    assert "distance from the truth" in second.get_title(loc="left")
    with pytest.raises(InputError, match="one column"):
        plots.fitted_curves(fits, np.zeros((3, 2)), y)


def test_classes_with_words_in_a_frame():
    table = data.inseparable(60, random_state=0)
    frame, labels = pd.DataFrame(table.X), np.array(["no", "yes"])[table.y]
    found = learning_curve(
        KNeighborsClassifier(3), frame, labels, loss="zero-one", cv=3, repeats=1
    )
    assert found.loss == "zero-one"
    assert 0 < found.values("held_out")[-1] < 0.4


def test_a_constant_target_leaves_nothing_to_learn():
    X = np.random.default_rng(0).normal(size=(30, 1))
    found = learning_curve(LinearRegression(), X, np.ones(30), repeats=1)
    assert found.kind == "learns nothing"
    assert not found.forecast.trustworthy


def test_bad_arguments_are_refused_in_a_sentence():
    X, y = np.zeros((6, 1)), np.arange(6.0)
    with pytest.raises(InputError, match="sizes go from"):
        learning_curve(LinearRegression(), X, y, sizes=[50])
    with pytest.raises(InputError, match="several columns"):
        learning_curve(LinearRegression(), X, np.zeros((6, 2)))
    with pytest.raises(InputError, match="no probabilities"):
        learning_curve(LinearRegression(), X, y, loss="log")


@pytest.mark.slow  # forty learning curves
def test_the_band_of_a_forecast_covers_the_known_gain_of_more_rows():
    """At least three quarters of 90 % bands hold the gain of least squares by theory."""
    n, d = 300, 10

    def risk(n):
        return (1 + 1 / n) * (n - 2) / (n - d - 2)

    covered, trusted = [], 0
    for seed in range(40):
        table = data.linear(n, d, noise=1.0, random_state=seed)
        found = learning_curve(
            lk.LinearRegression(), table.X, table.y, random_state=seed
        )
        _, low, high = found.forecast.gain
        covered.append(low <= risk(n) - risk(2 * n) <= high)
        trusted += found.forecast.trustworthy
    assert np.mean(covered) >= 0.75
    assert trusted >= 30
