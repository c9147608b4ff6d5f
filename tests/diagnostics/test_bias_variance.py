"""Bias and variance of learners whose bias and variance are known, and edges."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeRegressor

import likely as lk
from likely import data
from likely.core.checks import InputError
from likely.data import Dataset
from likely.diagnostics import bias_variance
from likely.diagnostics.generalization.refits.loop import Options, refit_in_loop
from likely.diagnostics.generalization.refits.question import Question
from likely.diagnostics.generalization.refits.refit import refit
from likely.diagnostics.generalization.refits.training_sets import (
    bootstrap_sets,
    generated_sets,
)
from likely.diagnostics.generalization.refits.truth import draw
from likely.preprocess import PolynomialBasis

X = np.linspace(-1, 1, 25)[:, None]
MEAN, NOISE = np.sin(3 * X[:, 0]), 0.4


def fixed_design(n, random_state=None):
    """The same 25 inputs in every draw, with fresh noise."""
    y = MEAN + NOISE * np.random.default_rng(random_state).normal(size=25)
    truth = {"mean": lambda X: np.sin(3 * X[:, 0]), "noise": NOISE}
    return Dataset(X, y, truth=truth)


def assert_known(found, hat):
    """The parts are those of a linear smoother f = H y, within three standard errors."""
    bias = ((hat @ MEAN - MEAN) ** 2).mean()
    variance = NOISE**2 * (hat**2).sum(1).mean()
    for value, error, truth in (
        (found.bias[0], found.bias_error[0], bias),
        (found.variance[0], found.variance_error[0], variance),
        (found.risk[0], found.risk_error[0], NOISE**2 + bias + variance),
    ):
        assert abs(value - truth) < 3 * error
        assert error < 0.3 * truth
    assert found.noise[0] == pytest.approx(NOISE**2)
    assert abs(found.noise + found.bias + found.variance - found.risk).max() < 1e-10


def test_polynomials_have_the_bias_and_variance_of_their_hat_matrix():
    model = make_pipeline(PolynomialFeatures(2), LinearRegression())
    A = np.vander(X[:, 0], 3)
    assert_known(
        bias_variance(model, fixed_design, n=25, refits=100, test=X),
        A @ np.linalg.pinv(A),
    )


def test_neighbours_have_the_bias_and_variance_of_a_moving_average():
    near = np.argsort(np.abs(X - X.T), axis=1, kind="stable")[:, :5]
    hat = np.zeros((25, 25))
    np.put_along_axis(hat, near, 0.2, 1)
    inner = slice(2, -2)  # where no two neighbours are equally far
    found = bias_variance(
        KNeighborsRegressor(5), fixed_design, n=25, refits=100, test=X[inner]
    )
    bias = ((hat @ MEAN - MEAN)[inner] ** 2).mean()
    assert abs(found.bias[0] - bias) < 3 * found.bias_error[0]
    assert abs(found.variance[0] - NOISE**2 / 5) < 3 * found.variance_error[0]


def test_ridge_as_one_program_has_the_parts_of_its_formula():
    found = bias_variance(
        lk.Ridge(2.0, fit_intercept=False), fixed_design, n=25, refits=200, test=X
    )
    assert_known(found, X @ X.T / (X.T @ X + 2.0))


def sets_of(generator, n, m, *, bootstrap):
    rng = np.random.default_rng(1)
    if bootstrap:
        drawn = draw(generator, n, rng)
        return bootstrap_sets(drawn.X, drawn.y, np.ones(n), m, rng)[0], {}
    new = draw(generator, 30, rng)
    return generated_sets(generator, n, m, rng), {"X": new.X, "y": new.y}


def assert_program_is_loop(model, generator, question, *, n=20, m=6, bootstrap=False):
    sets, points = sets_of(generator, n, m, bootstrap=bootstrap)
    question = Question(**question, **points)
    found = refit(model, sets, question, seed=3)
    assert found.as_program
    seeds = np.random.default_rng(3).integers(2**31, size=m, dtype=np.uint32)
    new, own = refit_in_loop(model, sets, question, seeds, Options())
    np.testing.assert_allclose(found.points, new, atol=1e-5)
    here = ~np.isnan(own)
    np.testing.assert_allclose(found.own[here], own[here], atol=1e-5)


@pytest.mark.parametrize("bootstrap", [False, True])
def test_learned_columns_are_those_of_each_training_set(bootstrap):
    model = lk.Ridge(0.1, basis=PolynomialBasis(3))
    assert_program_is_loop(model, data.curve, {"want": "mean"}, bootstrap=bootstrap)


CLASSES = {"classes": np.arange(2)}
PROGRAMS = {
    "losses": (lk.LinearRegression(), data.linear, {"want": "losses"}),
    "spline": (lk.SplineRegressor(), data.curve, {"want": "mean"}),
    "counts": (lk.PoissonRegressor(), data.counts, {"want": "mean"}),
    "logistic": (
        lk.LogisticRegression(alpha=1.0),
        data.inseparable,
        {"want": "probs", **CLASSES},
    ),
    "adam": (
        lk.MLPRegressor((8,), solver="adam", max_iter=30),
        data.curve,
        {"want": "mean"},
    ),
    "network of classes": (
        lk.MLPClassifier((8,), solver="adam", max_iter=30),
        data.inseparable,
        {"want": "losses", **CLASSES},
    ),
    "lbfgs": (
        lk.MLPRegressor((4,), solver="lbfgs", max_iter=10),
        data.curve,
        {"want": "mean"},
    ),
}


@pytest.mark.slow  # many programs to compile
@pytest.mark.filterwarnings("ignore:MLPRegressor stopped")
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_program_is_the_loop(name, bootstrap):
    model, generator, question = PROGRAMS[name]
    assert_program_is_loop(model, generator, question, n=30, bootstrap=bootstrap)


@pytest.mark.slow  # 200 networks
def test_a_decomposition_of_a_network_sums_to_its_risk():
    model = lk.MLPRegressor((10,), solver="adam", max_iter=50)
    found = bias_variance(model, data.curve, n=50, refits=200)
    assert abs(found.noise + found.bias + found.variance - found.risk).max() < 1e-10
    assert found.variance[0] > 5 * found.variance_error[0]


# Classes and bootstraps ----------------------------------------------------------------


def test_classes_by_a_generator_have_the_entropy_as_noise():
    found = bias_variance(
        KNeighborsClassifier(20), data.inseparable, n=60, refits=20, test=200
    )
    assert found.loss == "log"
    assert np.isinf(found.risk[0]) or found.risk[0] > found.noise[0]
    wrong = bias_variance(
        KNeighborsClassifier(20), data.inseparable,
        loss="zero-one", n=60, refits=20, test=200,
    )  # fmt: skip
    bayes = data.inseparable(2).truth["error"]
    score = wrong.parts[0].details["bayes_error"]
    assert abs(score.value - bayes) < 3 * score.error
    assert "net variance" in wrong.verdict


def test_bootstraps_judge_rows_by_fits_that_did_not_see_them():
    table = data.curve(40, random_state=0)
    found = bias_variance(DecisionTreeRegressor(), table, refits=40)
    assert found.source == "bootstrap"
    assert found.empirical[0].value < 1e-20  # each fit knows its own rows by heart
    assert found.noise[0] == pytest.approx(0.04)
    assert found.risk[0] > 0.04
    plain = bias_variance(DecisionTreeRegressor(), (table.X, table.y), refits=40)
    assert np.isnan(plain.noise[0])
    assert plain.risk[0] == pytest.approx(plain.bias[0] + plain.variance[0], abs=1e-12)
    assert "do not tell noise from bias" in plain.verdict


def test_every_bootstrap_of_a_rare_class_holds_two_classes(rng):
    X, y = rng.normal(size=(30, 2)), np.r_[np.zeros(28), 1, 1].astype(int)
    sets, _ = bootstrap_sets(X, y, np.ones(30), 200, rng, classes=True)
    rare = (sets.table_weights() @ y).astype(int)
    assert rare.min() == 1
    assert set(rare) > {1, 2, 3}
    found = bias_variance(lk.LogisticRegression(alpha=1.0), (X, y), refits=20)
    assert np.isfinite(found.risk[0])


def test_absent_rows_change_nothing(rng):
    table = data.curve(30, random_state=0)
    bad = np.concatenate([table.X, np.full((5, 1), np.nan)])
    y = np.concatenate([table.y, np.full(5, 1e300)])
    w = np.repeat([1.0, 0.0], [30, 5])
    with_garbage = bias_variance(
        LinearRegression(), (bad, y), sample_weight=w, refits=20
    )
    without = bias_variance(LinearRegression(), (table.X, table.y), refits=20)
    assert with_garbage.risk[0] == without.risk[0]


def test_frames_labels_and_estimators_without_weights():
    table = data.inseparable(60, random_state=0)
    frame = pd.DataFrame(table.X, columns=["a", "b"])
    labels = np.array(["no", "yes"])[table.y]
    found = bias_variance(
        KNeighborsClassifier(5), (frame, labels), loss="zero-one", refits=10
    )
    assert 0 < found.risk[0] < 0.5
    zero = bias_variance(
        RandomForestClassifier(3), data.inseparable, n=20, refits=3, test=20
    )
    assert np.isinf(zero.risk[0])
    assert "probability 0" in zero.verdict


def test_an_executor_changes_nothing():
    options = {"n": 10, "refits": 5, "test": 20}
    plain = bias_variance(DecisionTreeRegressor(), data.curve, **options)
    with ThreadPoolExecutor(2) as pool:
        threaded = bias_variance(
            DecisionTreeRegressor(), data.curve, executor=pool, **options
        )
    assert threaded.risk[0] == plain.risk[0]


# Curves and pictures -------------------------------------------------------------------


def test_a_curve_over_a_parameter_has_a_picture_and_a_best_value():
    generator = partial(data.curve, noise=0.3)
    found = bias_variance(
        KNeighborsRegressor(), generator, n=30, refits=20, test=60,
        parameter="n_neighbors", values=[1, 5, 25],
    )  # fmt: skip
    assert found.values == (1, 5, 25)
    assert found.values[found.best_index] == 5
    assert found.bias[0] < found.bias[2]
    assert found.variance[0] > found.variance[2]
    assert "n_neighbors = 5" in found.verdict
    assert list(found.to_frame()["n_neighbors"]) == [1, 5, 25]
    (ax,) = found.plot().axes
    assert ax.get_xlabel() == "n_neighbors"
    assert len(found.plot_fits([0, 2]).axes) == 2
    assert "<table>" in found._repr_html_()


def test_one_setting_is_drawn_as_fits_or_as_bars():
    options = {"refits": 5, "test": 20, "n": 10}
    curve = bias_variance(LinearRegression(), data.curve, **options)
    assert curve.plot().axes[0].get_xlabel() == "x"
    plane = bias_variance(LinearRegression(), data.linear, **options)
    assert plane.plot().axes[0].get_xlabel() == "squared loss"
    with pytest.raises(InputError, match="one column"):
        plane.plot_fits()


def test_noise_is_not_told_from_bias_without_a_truth():
    def rows(n, random_state=None):
        made = data.curve(n, random_state=random_state)
        return made.X, made.y

    found = bias_variance(LinearRegression(), rows, n=10, refits=5, test=20)
    assert np.isnan(found.noise[0])
    assert "noise + bias²" in found.table()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": 3}, "give a generator"),
        ({"source": lambda n: 3}, "could not be called"),
        ({"source": lambda n, random_state: 3}, "returned int"),
        ({"loss": "zero-one"}, "numbers are predicted"),
        ({"loss": "hinge"}, "give one of"),
        ({"refits": 2}, "at least 3"),
        ({"parameter": "depth", "values": [1]}, "did you mean|has no parameter"),
        ({"parameter": "fit_intercept"}, "give values"),
        ({"values": [1]}, "without the name"),
        ({"test": np.zeros((3, 2))}, "shape"),
        ({"source": (np.zeros((2, 1)), np.zeros(2))}, "at least 3"),
        ({"source": (np.zeros((9, 1)), np.zeros(8))}, "X has 9 rows and y has 8"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(arguments, message):
    given = {"source": data.curve, "n": 5, "refits": 3, "test": 5} | arguments
    with pytest.raises(InputError, match=message):
        bias_variance(LinearRegression(), **given)
