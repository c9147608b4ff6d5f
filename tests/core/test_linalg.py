"""Least squares to the last digits; pseudoinverse, conditioning, low rank."""

import jax
import numpy as np
import pytest
from core import exact

from likely.core import float64, linalg
from likely.core.precision import to_numpy


def in_double(f, *static):
    """A compiled f, from and to NumPy arrays."""
    f = jax.jit(f, static_argnames=static)

    def call(*arrays, **options):
        with float64():
            arrays = [jax.numpy.asarray(a, float) for a in arrays]
            return to_numpy(f(*arrays, **options))

    return call


lstsq = in_double(linalg.lstsq, "decomposition")
regression = in_double(linalg.regression)


def digits(found, true):
    return -np.log10(np.max(np.abs(np.ravel(found) / np.ravel(true) - 1)) + 1e-16)


def test_hopeless_polynomials_keep_twelve_digits(rng):
    """Degree 10 on [−9, −3]: columns of unit length have condition 6·10⁹."""
    x = np.round(np.sort(rng.uniform(-8.8, -3.1, 82)), 9)
    y = np.round(0.76 + 0.15 * np.tanh(x + 6) + 0.003 * rng.normal(size=82), 4)
    A = np.stack([x**k for k in [*range(1, 11), 0]], axis=1)
    assert np.linalg.cond(A / np.linalg.norm(A, axis=0)) > 1e9
    beta, spread = exact.regression(A, y)
    found = regression(A, y[:, None], np.ones(82))
    assert not found.singular
    assert digits(found.coefficients, beta) > 12
    assert digits(found.standard_deviations, spread) > 12
    assert digits(np.linalg.lstsq(A, y, rcond=None)[0], beta) < 7


def test_large_residuals_do_not_hurt(rng):
    """The normal equations square the condition; plain refinement meets it again."""
    x = np.linspace(1, 3, 30)
    A = np.stack([x**k for k in (1, 2, 3, 0)], axis=1)
    b = A.sum(1)[:, None] + rng.integers(-(10**6), 10**6, size=(30, 2))
    found = regression(A, b, np.ones(30))
    for j in (0, 1):
        beta, spread = exact.regression(A, b[:, j])
        assert digits(found.coefficients[:, j], beta) > 14
        assert digits(found.standard_deviations[:, j], spread) > 13


@pytest.mark.parametrize("decomposition", ["qr", "svd"])
def test_weights_and_penalties_are_those_of_the_normal_equations(decomposition, rng):
    A, b = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    w, P = rng.uniform(0, 3, size=30), np.array([0.0, 1.0, 10.0, 0.1])
    found = lstsq(A, b, w, P, decomposition=decomposition)
    H = A.T @ (w[:, None] * A) + np.diag(P)
    expected = np.linalg.solve(H, A.T @ (w[:, None] * b))
    np.testing.assert_allclose(found.coefficients, expected, rtol=1e-12)
    assert not found.singular


def test_standard_deviations_are_those_of_statsmodels(rng):
    from statsmodels.regression.linear_model import OLS

    A = np.hstack([rng.normal(size=(30, 3)), np.ones((30, 1))])
    b, w = rng.normal(size=(30, 2)), rng.integers(0, 3, size=30)
    found = regression(A, b, w)
    for j in (0, 1):  # weights are counts
        peer = OLS(np.repeat(b[:, j], w), np.repeat(A, w, axis=0)).fit()
        close = np.testing.assert_allclose
        close(found.coefficients[:, j], peer.params, rtol=1e-10)
        close(found.standard_deviations[:, j], peer.bse, rtol=1e-10)
        close(found.residual_deviation[j] ** 2, peer.mse_resid)
        close(found.r_squared[j], peer.rsquared)
    close(found.covariance, peer.normalized_cov_params, atol=1e-12)


def test_singular_designs_are_solved_and_said_so(rng):
    A = rng.normal(size=(30, 4))
    A[:, 2] = 2 * A[:, 0] - A[:, 1]
    b, rest = rng.normal(size=(30, 2)), (np.ones(30), np.zeros(4))
    least = np.linalg.lstsq(A, b, rcond=None)[0]
    jittered = lstsq(A, b, *rest, decomposition="qr")
    shortest = lstsq(A, b, *rest, decomposition="svd")
    assert jittered.singular
    assert shortest.singular
    np.testing.assert_allclose(A @ jittered.coefficients, A @ least, atol=1e-9)
    np.testing.assert_allclose(shortest.coefficients, least, atol=1e-10)
    assert np.abs(jittered.coefficients).max() < 1e3


def test_more_columns_than_rows(rng):
    A, b = rng.normal(size=(6, 11)), rng.normal(size=(6, 1))
    rest = (np.ones(6), np.zeros(11))
    found = lstsq(A, b, *rest, decomposition="svd").coefficients
    np.testing.assert_allclose(found, np.linalg.pinv(A) @ b, atol=1e-10)
    np.testing.assert_allclose(A @ lstsq(A, b, *rest).coefficients, b, atol=1e-8)


def test_a_batch_of_weights_is_the_single_problems(rng):
    A, b = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    W, P = rng.integers(0, 3, size=(3, 30)), np.ones(4)
    batch = in_double(jax.vmap(linalg.lstsq, (None, None, 0, None)))(A, b, W, P)
    for found, w in zip(batch.coefficients, W, strict=True):
        single = lstsq(A, b, w, P, decomposition="qr").coefficients
        np.testing.assert_allclose(found, single, rtol=1e-12)


def test_gram_in_blocks_is_the_gram(rng):
    A, w = rng.normal(size=(4096, 3)), rng.uniform(size=4096)
    found = in_double(linalg.weighted_gram)(A, w)
    np.testing.assert_allclose(found, A.T @ (w[:, None] * A), rtol=1e-12)


def test_pseudoinverse(rng):
    """B33: (XᵀX)⁻¹Xᵀ for independent columns; Penrose's conditions for any."""
    X = rng.normal(size=(20, 4))
    pseudoinverse = in_double(linalg.pseudoinverse)
    expected = np.linalg.inv(X.T @ X) @ X.T
    np.testing.assert_allclose(pseudoinverse(X), expected, atol=1e-12)
    A = rng.normal(size=(8, 2)) @ rng.normal(size=(2, 5))
    P = pseudoinverse(A)
    np.testing.assert_allclose(A @ P @ A, A, atol=1e-12)
    np.testing.assert_allclose(P @ A @ P, P, atol=1e-12)
    np.testing.assert_allclose(A @ P, (A @ P).T, atol=1e-12)
    np.testing.assert_allclose(P @ A, (P @ A).T, atol=1e-12)


def test_condition_of_the_gram_is_the_square(rng):
    """B34: κ(AᵀA) = κ(A)²."""
    X = rng.normal(size=(20, 4)) * [1, 10, 100, 1000]
    condition_number = in_double(linalg.condition_number)
    kappa = condition_number(X)
    np.testing.assert_allclose(kappa, np.linalg.cond(X))
    np.testing.assert_allclose(condition_number(X.T @ X), kappa**2, rtol=1e-6)
    assert np.isinf(condition_number(X[:2]))


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_sensitivity_bounds_the_change_and_is_nearly_attained(noise, rng):
    """B34: no perturbation moves the solution by more, and one by at least half."""
    X = rng.normal(size=(20, 3)) @ np.diag([1, 0.1, 0.01])
    y = X @ [1.0, 1.0, 100.0] + noise * rng.normal(size=20)
    x = np.linalg.lstsq(X, y, rcond=None)[0]
    to_y, to_X = in_double(linalg.sensitivity)(X, y)
    size = 1e-7

    def change(A, b):
        moved = np.linalg.lstsq(A, b, rcond=None)[0] - x
        return np.linalg.norm(moved) / np.linalg.norm(x) / size

    def change_by_y(e):
        return change(X, y + size * np.linalg.norm(y) * e / np.linalg.norm(e))

    def change_by_X(E):
        return change(X + size * np.linalg.norm(X, 2) * E / np.linalg.norm(E, 2), y)

    U, _, Vt = np.linalg.svd(X, full_matrices=False)
    worst = np.outer(y - X @ x if noise else U[:, -1], Vt[-1])
    by_y = [change_by_y(e) for e in (U[:, -1], *rng.normal(size=(20, 20)))]
    by_X = [change_by_X(E) for E in (worst, *rng.normal(size=(20, 20, 3)))]
    assert 0.5 * to_y < max(by_y) < 1.001 * to_y
    assert 0.5 * to_X < max(by_X) < 1.001 * to_X


def test_low_rank_is_the_nearest(rng):
    """B35, X004-20: U_m S_m V_mᵀ leaves the discarded σ²; the printed U_m U_mᵀ V_mᵀ not."""
    A = rng.normal(size=(6, 6))
    U, s, Vt = np.linalg.svd(A)
    near, error = in_double(linalg.low_rank, "rank")(A, rank=2)
    assert np.linalg.matrix_rank(near) == 2
    np.testing.assert_allclose(error, np.sum(s[2:] ** 2))
    np.testing.assert_allclose(np.sum((A - near) ** 2), error)
    for _ in range(50):
        u, v, w = np.linalg.svd(near + 0.1 * rng.normal(size=(6, 6)))
        assert np.sum((A - (u[:, :2] * v[:2]) @ w[:2]) ** 2) > error
    printed = U[:, :2] @ U[:2, :2].T @ Vt[:2]  # cut so that it can be multiplied
    assert np.sum((A - printed) ** 2) > 1.2 * error
