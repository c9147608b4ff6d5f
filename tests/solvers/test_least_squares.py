"""Exact least squares and ridge: closed forms, misprinted factors, singular designs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from likely import recipe
from likely.core import InputError, float64
from likely.families import Normal, Poisson
from likely.models import Linear
from likely.objectives import GaussianPrior
from likely.solvers import LeastSquares, ridge
from likely.typing import Batch


def fit(X, y, *, w=None, prior=None, solver=None, family=None, bias=True):
    data = Batch(X, y, np.ones(len(y)) if w is None else w)
    with float64():
        found = recipe.fit(
            family or Normal(1.0),
            Linear.zeros(X.shape[1], 1, bias),
            data,
            prior=prior,
            solver=solver or LeastSquares(),
            key=jax.random.key(0),
        )
    weight = np.asarray(found.model.weight)[:, 0]
    return np.r_[weight, found.model.bias] if bias else weight, found.solution


def test_the_closed_form(rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    found, solution = fit(X, y, bias=False)
    np.testing.assert_allclose(found, np.linalg.inv(X.T @ X) @ X.T @ y, atol=1e-13)
    assert str(solution.status).startswith("solved exactly")
    start, end = np.asarray(solution.trace.loss)
    assert end < start


def test_the_gradient_has_two_over_n(rng):
    """X002-11: of (1/n)‖y − Xw‖² it is (2/n) Xᵀ(Xw − y), not Xᵀ(Xw − y)."""
    X, y, w = rng.normal(size=(30, 3)), rng.normal(size=30), rng.normal(size=3)
    with float64():
        found = jax.grad(lambda w: jnp.mean((y - X @ w) ** 2))(jnp.asarray(w))
    printed = X.T @ (X @ w - y)
    np.testing.assert_allclose(found, 2 / 30 * printed, rtol=1e-12)


RIDGES = {
    # name: (objective of residual sum of squares, squared norm, λ, n), its multiple of I
    "½Σr² + ½λ‖w‖²": (lambda r, s, lam, n: 0.5 * r + 0.5 * lam * s, lambda lam, n: lam),
    "X002-13": (
        lambda r, s, lam, n: 2 / n * r + 0.5 * lam * s,
        lambda lam, n: n * lam / 4,
    ),
    "X004-15": (
        lambda r, s, lam, n: r / (2 * n) + lam * s,
        lambda lam, n: 2 * n * lam,
    ),
}


@pytest.mark.parametrize("name", RIDGES)
def test_ridge_penalties_and_their_closed_forms(name, rng):
    """(XᵀX + λI)⁻¹Xᵀy belongs to ½Σr² + ½λ‖w‖²; other factors have other multiples."""
    objective, multiple = RIDGES[name]
    X, y, lam = rng.normal(size=(30, 3)), rng.normal(size=30), 0.4
    closed, _ = fit(X, y, prior=GaussianPrior(multiple(lam, 30)), bias=False)
    peer = minimize(
        lambda w: objective(np.sum((y - X @ w) ** 2), w @ w, lam, 30), np.zeros(3)
    )
    np.testing.assert_allclose(closed, peer.x, atol=1e-5)
    printed = np.linalg.solve(X.T @ X + lam * np.eye(3), X.T @ y)
    assert np.allclose(printed, peer.x, atol=1e-5) == (name == "½Σr² + ½λ‖w‖²")


def test_a_singular_gram_is_solved_and_reported(rng):
    """X002-14: it is XᵀX that is singular; X, not square, could not be."""
    X = rng.normal(size=(30, 3))
    X[:, 2] = X[:, 0] + X[:, 1]
    y = rng.normal(size=30)
    jittered, by_qr = fit(X, y)
    shortest, by_svd = fit(X, y, solver=LeastSquares("svd"))
    A = np.hstack([X, np.ones((30, 1))])
    least = np.linalg.lstsq(A, y, rcond=None)[0]
    np.testing.assert_allclose(A @ jittered, A @ least, atol=1e-9)
    np.testing.assert_allclose(shortest, least, atol=1e-9)
    assert "jitter because the design is singular" in str(by_qr.status)
    assert "least norm because the design is singular" in str(by_svd.status)
    assert by_qr.status.converged
    assert by_svd.status.converged


def test_badly_scaled_columns_are_solved_and_not_doubted(rng):
    X = rng.normal(size=(30, 3)) * [1e-9, 1.0, 1e9] + [0, 0, 1e12]
    found, solution = fit(X, X @ [1e9, 2.0, 3e-9] + 4)
    np.testing.assert_allclose(found, [1e9, 2.0, 3e-9, 4], rtol=1e-6)
    assert str(solution.status).startswith("solved exactly")


def test_an_objective_that_is_not_quadratic_is_reported(rng):
    X, y = rng.normal(size=(30, 3)), rng.poisson(2.0, size=30).astype(float)
    _, solution = fit(X, y, family=Poisson())
    assert "the objective may not suit this solver" in str(solution.status)
    assert not solution.status.converged


def test_unknown_decomposition():
    with pytest.raises(InputError, match='"qr" or "svd"'):
        LeastSquares("lu")


@pytest.mark.parametrize("shape", [(30, 4), (12, 20)])
@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_from_one_decomposition_is_least_squares(shape, intercept, rng):
    """By columns or, where they are more than the rows, by rows."""
    X, Y = rng.normal(size=shape) + 3, rng.normal(size=(shape[0], 2))
    w, alphas = rng.integers(0, 3, size=shape[0]).astype(float), np.array([0.1, 1, 50])
    fits = jax.jit(
        jax.vmap(lambda a: ridge(X, Y, w, a, intercept=intercept)), static_argnums=()
    )
    with float64():
        X, Y, w = jnp.asarray(X), jnp.asarray(Y), jnp.asarray(w)
        B, b = (np.asarray(v) for v in fits(jnp.asarray(alphas)))
    A = np.hstack([X, np.ones((len(w), 1))]) if intercept else np.asarray(X)
    for i, alpha in enumerate(alphas):
        P = alpha * np.eye(A.shape[1])
        P[shape[1] :] = 0
        WA = np.asarray(w)[:, None] * A
        expected = np.linalg.solve(A.T @ WA + P, WA.T @ np.asarray(Y))
        np.testing.assert_allclose(B[i], expected[: shape[1]], atol=1e-9)
        np.testing.assert_allclose(b[i], expected[-1] if intercept else 0, atol=1e-9)


def test_ridge_without_a_penalty_takes_the_least_norm(rng):
    X, Y = rng.normal(size=(12, 20)), rng.normal(size=(12, 1))
    with float64():
        B, _ = jax.jit(ridge, static_argnames="intercept")(
            *map(jnp.asarray, (X, Y, np.ones(12), 0.0)), intercept=False
        )
    np.testing.assert_allclose(B, np.linalg.pinv(X) @ Y, atol=1e-9)
