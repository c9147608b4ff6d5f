"""Bernstein polynomials, the largest error, and pointwise against uniform."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import BPoly

from likely import analysis
from likely.core.checks import InputError


def tent(x):
    return jnp.abs(x - 0.4)


def test_bernstein_polynomials_are_scipys():
    x = np.linspace(-1, 3, 31)
    for n in (1, 5, 40):
        ours = analysis.BernsteinPolynomial(jnp.sin, n, -1, 3)
        peer = BPoly(np.sin(np.linspace(-1, 3, n + 1))[:, None], [-1, 3])
        np.testing.assert_allclose(ours(x), peer(x), atol=1e-12)
    assert repr(ours) == "BernsteinPolynomial(degree 40 on [-1, 3])"


def test_known_polynomials():
    """B_n of 1 and x are exact, of x² it is x² + x(1 − x)/n."""
    x = np.linspace(0, 1, 21)
    for f in (lambda t: 1 + 0 * t, lambda t: t):
        np.testing.assert_allclose(analysis.BernsteinPolynomial(f, 7)(x), f(x))
    square = analysis.BernsteinPolynomial(lambda t: t**2, 10)
    np.testing.assert_allclose(square(x), x**2 + x * (1 - x) / 10)
    found = analysis.uniform_error(square, lambda t: t**2)
    np.testing.assert_allclose([found.value, found.x], [0.025, 0.5], atol=1e-6)


def test_weierstrass_errors_shrink_within_their_bound():
    measured = analysis.regularity(tent, 0, 1)
    errors = []
    for n in (4, 16, 64, 256, 1024):
        polynomial = analysis.BernsteinPolynomial(tent, n)
        errors.append(analysis.uniform_error(tent, polynomial).value)
        bound = analysis.bernstein_bound(measured.modulus, measured.step, n)
        assert errors[-1] <= bound
        x = np.linspace(0, 1, 50)
        assert (
            polynomial(x) >= tent(x) - 1e-12
        ).all()  # a convex f is approached from above
    assert (np.diff(errors) < 0).all()
    np.testing.assert_allclose(errors[3] / errors[4], 2, rtol=0.05)  # 1/√n


def test_the_largest_error_is_found_between_grid_points():
    found = analysis.uniform_error(lambda x: x - x**2, lambda x: 0 * x, 0, 1.00037)
    np.testing.assert_allclose([found.value, found.x], [0.25, 0.5], atol=1e-7)
    flat = analysis.uniform_error(jnp.sin, jnp.sin)
    assert flat.value == flat.mean == 0


def test_pointwise_is_not_uniform():
    """x^n goes to 0 at every point below 1; the largest error stays 1."""
    found = analysis.convergence(
        lambda n: lambda x: x**n, lambda x: 0 * x, [1, 10, 100, 1000], [0.3, 0.9, 0.99]
    )
    assert (np.diff(found.pointwise, axis=0) < 0).all()
    assert found.pointwise[-1].max() < 1e-4
    np.testing.assert_allclose(found.uniform, 1)
    np.testing.assert_allclose(found.x, 1)
    inside = analysis.convergence(
        lambda n: lambda x: x**n, lambda x: 0 * x, [1, 10, 100], [0.5], high=0.9
    )
    np.testing.assert_allclose(inside.uniform, 0.9 ** np.array([1, 10, 100]))


def test_bad_input():
    cases = [
        (lambda: analysis.BernsteinPolynomial(tent, 0), "n is 0"),
        (lambda: analysis.BernsteinPolynomial(lambda x: 1 / x, 3), r"f\(0\) is inf"),
        (lambda: analysis.BernsteinPolynomial(tent, 3)(1.5), "outside"),
        (lambda: analysis.uniform_error(tent, tent, 1, 0), "low below high"),
        (
            lambda: analysis.bernstein_bound(np.ones(1), np.ones(1) * 0.1, 4),
            "not known",
        ),
    ]
    for call, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            call()


@pytest.mark.parametrize(
    ("f", "degree", "error"),
    [(np.abs, 2, 1 / 8), (np.exp, 3, 0.00552837), (lambda x: x**4, 3, 1 / 8)],
)
def test_the_best_polynomial_equioscillates(f, degree, error):
    """Known errors of best approximation on [−1, 1]: |x|, e^x, x⁴ − T₄/8."""
    found = analysis.minimax_polynomial(f, degree)
    assert found.error == pytest.approx(error, rel=1e-4)
    assert found.bound <= error <= found.error * (1 + 1e-6)
    assert len(found.points) >= degree + 2
    gaps = f(found.points) - found(found.points)
    assert (np.diff(np.sign(gaps)) != 0).all()


def test_polynomials_of_the_degree_are_their_own_best():
    found = analysis.minimax_polynomial(lambda x: 3 * x**2 - x, 2, -2, 5)
    assert found.error < 1e-7
    with pytest.raises(InputError, match="from 0 to 40"):
        analysis.minimax_polynomial(np.abs, degree=41)
