"""Double descent and the interpolation threshold, against theory."""

from functools import partial

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import likely as lk
from likely import data
from likely.core.checks import InputError
from likely.diagnostics import double_descent, interpolation_threshold
from likely.diagnostics.generalization.capacity.curve import (
    CapacityCurve,
    median_interval,
)
from likely.diagnostics.generalization.capacity.least_norm import least_norm


@pytest.mark.parametrize("shape", [(12, 5), (12, 12), (12, 30)])
def test_least_norm_is_the_pseudo_inverse(rng, shape):
    A, y = rng.normal(size=shape), rng.normal(size=12)
    np.testing.assert_allclose(least_norm(A, y), np.linalg.pinv(A) @ y, atol=1e-9)
    twice = np.concatenate([A, A[:, :3]], 1)  # dependent columns
    np.testing.assert_allclose(
        least_norm(twice, y), np.linalg.pinv(twice) @ y, atol=1e-8
    )
    assert (least_norm(np.zeros((12, 3)), y) == 0).all()


def test_the_risk_of_the_first_columns_is_that_of_theory():
    """Normal columns, y = x·β + ε: Belkin, Hsu and Xu (2020), theorem 1."""
    n, D, noise = 30, 120, 0.5
    beta = np.full(D, 0.1)
    generator = partial(data.linear, coefficients=beta, noise=noise, intercept=0.0)
    p = np.array([5, 15, 20, 45, 60, 120])
    found = double_descent("columns", generator, n=n, sizes=p, repeats=300, test=50)
    inside, outside = p * 0.01, (D - p) * 0.01
    under = (noise**2 + outside) * (1 + p / np.maximum(n - p - 1, 1))
    over = inside * (1 - n / p) + (noise**2 + outside) * (
        1 + n / np.maximum(p - n - 1, 1)
    )
    theory = np.where(p < n, under, over)
    mean = found.test_errors.mean(0)
    error = found.test_errors.std(0, ddof=1) / np.sqrt(300)
    assert (np.abs(mean - theory) < 3.5 * error).all()
    assert found.noise == pytest.approx(0.25)


def test_random_features_peak_where_there_are_as_many_as_rows():
    found = double_descent()
    assert found.peak == found.rows == found.threshold == 100
    assert found.ratio > 100
    assert found.test[-1] < found.test[found.sizes < 90].min()
    assert (found.train[found.sizes < 100] > found.tolerance).all()
    assert "below the first minimum" in found.verdict
    assert found.plot().axes[0].get_ylabel() == "squared loss"


def test_polynomials_of_least_norm_have_a_peak_too():
    found = double_descent("polynomial", n=15, repeats=15, test=200)
    assert found.threshold == 15
    assert 13 <= found.peak <= 17
    assert found.ratio > 100


def test_a_curve_without_a_peak_is_said_to_have_none():
    found = double_descent(
        KNeighborsRegressor(), data.curve, parameter="n_neighbors",
        sizes=[1, 5, 20], n=30, repeats=5, test=100,
    )  # fmt: skip
    assert found.peak is None
    assert "No double descent is shown" in found.verdict


def test_a_peak_has_to_be_shown_by_paired_training_sets(rng):
    base = np.array([1.0, 0.5, 0.9, 0.4])
    common = np.exp(2 * rng.normal(size=(20, 1)))
    paired = common * base * np.exp(0.01 * rng.normal(size=(20, 4)))
    noisy = base * np.exp(2 * rng.normal(size=(20, 4)))

    def curve(errors):
        sizes = np.arange(1.0, 5)
        zero = np.zeros_like(errors)
        return CapacityCurve(
            "m", "p", sizes, (), 9, zero, errors, None, 1e-9, "squared"
        )

    assert curve(paired).peak == 3.0
    assert curve(noisy).peak is None


def test_intervals_of_medians_cover():
    rng = np.random.default_rng(0)
    low, high = median_interval(rng.standard_cauchy(size=(15, 2000)), 0.9)
    assert 0.9 < ((low < 0) & (high > 0)).mean() < 0.97


# The interpolation threshold -----------------------------------------------------------


def test_least_norm_interpolates_from_as_many_features_as_rows_on():
    table = data.linear(23, 4, random_state=0)
    found = interpolation_threshold("random features", table.X, table.y)
    assert found.threshold == 23
    assert found.tried[23.0] <= found.tolerance < found.tried[22.0]
    assert len(found.tried) < 12  # by bisection
    few = interpolation_threshold("columns", table.X, table.y)
    assert few.threshold is None
    assert "No capacity up to p = 4" in few.verdict


def test_the_threshold_of_a_tree_is_its_depth():
    table = data.inseparable(40, random_state=0)
    found = interpolation_threshold(
        DecisionTreeClassifier(random_state=0), table.X, table.y,
        parameter="max_depth", sizes=range(1, 30),
    )  # fmt: skip
    grown = DecisionTreeClassifier(random_state=0).fit(table.X, table.y)
    assert found.threshold == grown.get_depth()
    assert found.plot().axes[0].get_xlabel() == "max_depth, of 40 rows"


def test_a_constant_is_interpolated_to_rounding():
    table = data.linear(12, 4, random_state=0)
    found = interpolation_threshold("random features", table.X, np.full(12, 3.0))
    assert found.threshold == 12


def test_absent_rows_are_not_interpolated():
    table = data.linear(20, 4, random_state=0)
    X, y, w = table.X.copy(), table.y.copy(), np.repeat([1.0, 0.0], 10)
    X[10:], y[10:] = np.nan, np.nan
    found = interpolation_threshold("random features", X, y, sample_weight=w)
    assert found.threshold == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("random feature",), "did you mean"),
        ((DecisionTreeRegressor(),), "needs the parameter"),
        (("polynomial", data.linear), "one column between"),
        (("columns", data.linear), "there are 3 columns"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(arguments, message):
    with pytest.raises(InputError, match=message):
        double_descent(*arguments, n=10, repeats=2)


@pytest.mark.slow  # a program for each width
def test_networks_interpolate_from_some_width_on():
    found = double_descent("network", sizes=[1, 4, 10, 40], repeats=4, test=200)
    assert found.threshold in (10, 40)
    assert (np.diff(found.train) < 0).all()


@pytest.mark.slow  # compiles the kernels of trees
def test_a_forest_descends_again_with_more_trees():
    found = double_descent("forest", repeats=20, test=300)
    assert found.threshold == 40
    assert found.peak is not None
    assert found.peak <= 80
    assert found.labels[-1] == "32 trees"
    assert found.test.argmin() == len(found.sizes) - 1


@pytest.mark.slow  # a program for each width
def test_estimators_by_their_width():
    model = lk.MLPRegressor(solver="lbfgs", alpha=0.0, max_iter=200)
    found = double_descent(
        model, data.curve, parameter="hidden_layer_sizes", sizes=[(1,), (20,)],
        n=10, repeats=3, test=50, tolerance=0.01,
    )  # fmt: skip
    assert found.sizes.tolist() == [1.0, 20.0]
    assert found.threshold == 20
