"""Numbers and misprints of the notes on probability, by the functions of the library."""

import numpy as np
import pytest
from scipy import integrate

from likely.families import (
    Bernoulli,
    Binomial,
    Gamma,
    MultivariateNormal,
    Normal,
    Poisson,
)
from likely.probability import (
    Table,
    estimator_risk,
    jensen,
    random_variable,
    stack,
    welford,
)


def test_the_vector_of_an_example_has_these_moments():
    """W7: X₁ ~ N(1, 2), X₂ = X₁ + N(0, 1), X₃ ~ N(−1, 1); the second number is a variance."""
    x1 = random_variable(Normal(), loc=1.0, scale=np.sqrt(2))
    x3, noise = (random_variable(Normal(), loc=m, scale=1.0) for m in (-1.0, 0.0))
    X = stack(x1, x1 + noise, x3)
    np.testing.assert_allclose(X.mean, [1, 1, -1], rtol=1e-14)
    known = [[2, 2, 0], [2, 3, 0], [0, 0, 1]]
    np.testing.assert_allclose(X.covariance, known, rtol=1e-14)


def test_the_bias_of_the_variance_of_five():
    """W19: −σ²/n = −0.2; over all samples, and about so by simulation."""
    exact = estimator_risk(np.var, [-1.0, 1.0], 5, truth=1.0)
    assert exact.bias == pytest.approx(-0.2, rel=1e-12)
    drawn = estimator_risk(
        np.var, Normal(), 5, truth=1.0, loc=0.0, scale=1.0, repeats=100_000
    )
    assert drawn.bias == pytest.approx(-0.2, abs=0.006)


def test_third_moments_add_up_and_absolute_ones_do_not():
    """W20: 11.292 = 11.292; 14.526 against 19.471."""
    X = random_variable(Table([0.5, 0.3, 0.2], "x", [[0, 1, 5]]))
    Y = random_variable(Table([0.7, 0.3], "y", [[-1, 2]]))
    parts = X.central_moment(3) + Y.central_moment(3)
    assert parts == pytest.approx((X + Y).central_moment(3), rel=1e-12)
    assert round(parts, 3) == 11.292
    assert round(X.absolute_moment(3) + Y.absolute_moment(3), 3) == 14.526
    assert round((X + Y).absolute_moment(3), 3) == 19.471


def test_both_updates_of_six_numbers(rng):
    """W53, X003-18, X003-19: two forms of one sum, that of the squares about the mean."""
    x = rng.normal(size=6) + 3
    found = welford(x)
    np.testing.assert_allclose(found.squares, found.squares_by_steps, rtol=1e-12)
    known = [((x[:n] - x[:n].mean()) ** 2).sum() for n in range(1, 7)]
    np.testing.assert_allclose(found.squares, known, rtol=1e-11, atol=1e-14)
    # printed: a bracket too far in the variance, and a sum to n in the place of n − 1
    mu = found.mean[-1]
    right = ((x**2).sum() - 2 * 6 * mu**2 + 6 * mu**2) / 6
    printed = (x**2 - 2 * 6 * mu**2 + 6 * mu**2).sum() / 6
    assert found.variance[-1] == pytest.approx(right, rel=1e-9)
    assert abs(printed - right) > 1
    # each of the earlier numbers adds the same square of the step of the mean
    step = found.mean[-1] - found.mean[-2]
    moved = ((x[:5] - found.mean[-1]) ** 2).sum()
    assert moved == pytest.approx(found.squares[-2] + 5 * step**2, rel=1e-10)


def test_an_expectation_weighs_by_the_value():
    """X004-1: ∫ f dt is 1 for every law; E[X − E[X](Y − EY)] is no covariance."""
    X = random_variable(Gamma(), concentration=2.5, rate=1.4)
    assert X.expectation(np.ones_like) == pytest.approx(1, rel=1e-10)
    mean = integrate.quad(lambda t: t * float(X.pdf(t)), 0, 60)[0]
    assert X.expectation(lambda t: t) == pytest.approx(mean, rel=1e-8)
    table = Table([[0.4, 0.1], [0.1, 0.4]], ["x", "y"], [[0, 2], [1, 3]])
    mx, my = table.expectation("x"), table.expectation("y")
    right = table.expectation(lambda x, y: (x - mx) * (y - my))
    printed = table.expectation(lambda x, y: x - mx * (y - my))
    assert table.covariance()[0, 1] == pytest.approx(right)
    assert abs(printed - right) > 0.1


def test_covariances_count_twice_in_a_variance():
    """X004-2: 6.9; without the factor 2 it would be 7.2. Var[Ax] = A Var[x] Aᵀ."""
    S = np.array([[1.5, 0.3], [0.3, 6.0]])
    X = random_variable(
        MultivariateNormal(2),
        loc=np.zeros((1, 2)),
        scale_tril=np.linalg.cholesky(S)[None],
    )
    a = np.array([1.0, -1.0])
    found = X.affine(a).variance
    assert found == pytest.approx(6.9, rel=1e-12)
    printed = a**2 @ np.diag(S) + a[0] * a[1] * S[0, 1]
    assert printed == pytest.approx(7.2)
    A = np.array([[1.0, 2.0], [0.0, 3.0]])
    np.testing.assert_allclose((A @ X + 1.0).covariance, A @ S @ A.T, rtol=1e-12)


def test_a_density_is_divided_by_the_size_of_the_factor():
    """X004-4: a = −2: 0.0648, and −0.0648 with 1/a."""
    Y = random_variable(Normal(), loc=0.0, scale=1.0)
    found = float((-2 * Y).pdf(3.0))
    assert round(found, 4) == 0.0648
    assert round(float(Y.pdf(3.0 / -2)) / -2, 4) == -0.0648


GENERATING = {
    "Bernoulli": (Bernoulli(), {"probs": 0.4}, 1.1399, 0.4**0.3 + 0.6**0.7, 1.4590),
    "Binomial": (Binomial(5), {"probs": 0.4}, 1.925, (0.4 * np.e + 0.6) ** 5, 13.68),
    "Gamma": (
        Gamma(), {"concentration": 2.5, "rate": 1 / 1.2}, 3.052,
        (2.5 / (2.5 + 1.2 * 0.3)) ** 2.5, 0.714,
    ),
    "Poisson": (Poisson(), {"rate": 2.0}, 2.013, np.exp(2 * np.exp(0.3 - 1)), 2.700),
}  # fmt: skip


@pytest.mark.parametrize("name", GENERATING)
def test_generating_functions_of_the_notes(name):
    """X004-5: at t = 0.3, by the law itself; the printed formulas give other numbers."""
    family, theta, true, formula, printed = GENERATING[name]
    X = random_variable(family, **theta)
    found = float(X.mgf(0.3))
    assert found == pytest.approx(true, abs=6e-4)
    assert found == pytest.approx(X.expectation(lambda x: np.exp(0.3 * x)), rel=1e-9)
    assert formula == pytest.approx(printed, abs=6e-3)
    assert abs(formula - found) > 0.1


def test_jensen_has_a_direction():
    """X004-10, X001-26: for x² on 1 and 3, 5 ≥ 4; E log Y ≤ log E Y, with both integrals."""
    convex = jensen(np.square, [1.0, 3.0])
    assert (convex.mean_of_f, convex.f_of_mean) == (5.0, 4.0)
    assert not convex.mean_of_f <= convex.f_of_mean  # as printed
    Y = random_variable(Gamma(), concentration=2.0, rate=1.0)
    concave = jensen(np.log, Y)
    inner = integrate.quad(lambda y: float(Y.pdf(y)) * np.log(y), 0, 80)[0]
    assert concave.mean_of_f == pytest.approx(inner, rel=1e-7)
    assert concave.gap < 0
