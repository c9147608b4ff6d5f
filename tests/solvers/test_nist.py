"""NIST's certified values, and the page that shows how many digits we reach."""

import importlib.util
import sys

import jax
import numpy as np
import pytest
from ledger import ROOT

from likely import recipe
from likely.core import float64
from likely.families import Normal
from likely.models import Linear
from likely.solvers import LeastSquares
from likely.typing import Batch


def load_nist():
    path = ROOT / "benchmarks" / "nist.py"
    spec = importlib.util.spec_from_file_location("benchmarks_nist", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


nist = load_nist()
LINEAR = {"lower": 9, "average": 9, "higher": 7}
SETS = {
    "linear": "Norris Pontius NoInt1 Longley Wampler1 Wampler3 Wampler4",
    "nonlinear": "Misra1a Chwirut2 DanWood Gauss1 Lanczos3 Kirby2 Eckerle4 MGH09 Rat42 "
    "Thurber",
    "univariate": "NumAcc1 NumAcc3 Michelso",
}


@pytest.fixture
def problem(request, shared_data):
    path = shared_data / "nist" / f"{request.param}.dat"
    if not path.exists():
        pytest.skip(f"shared data not found: {path.name}")
    return nist.read(path)


def sets(kind):
    return pytest.mark.parametrize("problem", SETS[kind].split(), indirect=True)


@sets("linear")
def test_linear(problem):
    """Coefficients, standard deviations, residual deviation and R²."""
    found, sure = nist.solve_linear(problem), problem.certified
    least = LINEAR[problem.level]
    assert nist.digits(found.coefficients, sure["parameters"]) > least
    assert nist.digits(found.standard_deviations, sure["deviations"]) > least
    assert nist.digits(found.residual_deviation, sure["residual"]) > least
    assert nist.digits(found.r_squared, sure["r_squared"]) > least


@pytest.mark.parametrize("problem", ["Longley", "Wampler4"], indirect=True)
def test_linear_by_the_recipe(problem):
    A = nist.design(problem)  # the constant comes first
    data = Batch(A[:, 1:], problem.y, np.ones(len(A)))
    with float64():
        fit = recipe.fit(
            Normal(1.0),
            Linear.zeros(A.shape[1] - 1),
            data,
            solver=LeastSquares(),
            key=jax.random.key(0),
        )
    found = np.r_[np.ravel(fit.model.bias), np.ravel(fit.model.weight)]
    assert nist.digits(found, problem.certified["parameters"]) > 7
    assert str(fit.solution.status).startswith("solved exactly")


@sets("nonlinear")
def test_nonlinear(problem):
    """From both starts to at least nine digits, and the deviations to eight."""
    for start in (1, 2):
        found = nist.solve_nonlinear(problem, start)
        assert found.solution.status.converged, str(found.solution.status)
        assert nist.digits(found.parameters, problem.certified["parameters"]) > 9
        spread, residual = found.standard_deviations, found.residual_deviation
        assert nist.digits(spread, problem.certified["deviations"]) > 8
        assert nist.digits(residual, problem.certified["residual"]) > 9


@sets("univariate")
def test_univariate(problem):
    """NumAcc3 is stored with a rounding that leaves its deviation 9.5 digits."""
    for name, value in nist.solve_univariate(problem).items():
        assert nist.digits(value, problem.certified[name]) > 9


def test_the_page_shows_every_set(shared_data):
    page = nist.PAGE.read_text("utf-8")
    table = page[page.index(nist.START) : page.index(nist.END)]
    for problem in nist.load(shared_data / "nist"):
        assert f"| {problem.name} |" in table


FILE = """NIST/ITL StRD
Dataset Name:  Made               (Made.dat)

Data:          1 Response  (y)
               2 Predictors (x1, x2)
               3 Observations
               Average Level of Difficulty

Model:         Exponential Class
               2 Parameters (b1 and b2)

               log[y] = b1 - b2*x1 * exp[-0.5*x2]
                           + pi*arctan[x1]  +  e

          Starting values                  Certified Values

        Start 1     Start 2           Parameter     Standard Deviation
  b1 =     2          2.5         2.5906836021E+00  1.9149996413E-02
  b2 =     0.0001     0.000000005 5.6177717026E-09  6.1124096540E-09

Residual Standard Deviation:                1.7430280130E-01

Data:   y              x1            x2
     1.0E0     1E0        180.
     13.00     2.0         180.
    -1.5e1     4E0        225
"""


def test_reading(tmp_path):
    path = tmp_path / "Made.dat"
    path.write_text(FILE)
    found = nist.read(path)
    assert (found.name, found.kind, found.level) == ("Made", "nonlinear", "average")
    np.testing.assert_array_equal(found.columns["x2"], [180, 180, 225])
    np.testing.assert_array_equal(found.starts, [[2, 1e-4], [2.5, 5e-9]])
    np.testing.assert_array_equal(found.certified["residual"], 0.17430280130)
    assert found.formula is not None
    assert found.formula[0] == "log(y)"
    with float64():
        right = nist.evaluator(found.formula[1])(found.starts[1], found.columns)
        x1, x2 = found.columns["x1"], found.columns["x2"]
        expected = 2.5 - 5e-9 * x1 * np.exp(-0.5 * x2) + np.pi * np.arctan(x1)
        np.testing.assert_allclose(right, expected)


def test_a_formula_is_arithmetic_and_nothing_else():
    with pytest.raises(ValueError, match="contains Attribute"):
        nist.evaluator("b1.__class__")


def test_digits():
    assert nist.digits([1.001, 2.0], [1.0, 2.0]) == pytest.approx(3.0)
    assert nist.digits([1e-9], [0.0]) == pytest.approx(9.0)
    assert nist.digits([2.0], [2.0]) == 15


@sets("linear")
def test_linear_through_the_estimator(problem):
    """The digits of the solver hold in `LinearRegression.summary()`."""
    import likely as lk

    A = nist.design(problem)
    constant = bool((A[:, 0] == 1).all())
    model = lk.LinearRegression(fit_intercept=constant)
    found = model.fit(A[:, int(constant) :], problem.y).summary()
    sure, least = problem.certified, LINEAR[problem.level]
    assert nist.digits(found.coefficients, sure["parameters"]) > least
    assert nist.digits(found.standard_errors, sure["deviations"]) > least
    residual = np.sqrt(found.estimate.dispersion)
    assert nist.digits(residual, sure["residual"]) > least
    assert nist.digits(found.r_squared[1], sure["r_squared"]) > least
