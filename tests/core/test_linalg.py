"""Least squares to the last digits; pseudoinverse, conditioning, low rank."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from core import exact

from likely.core import float64, linalg

lstsq = jax.jit(linalg.lstsq, static_argnames="decomposition")
regression = jax.jit(linalg.regression, static_argnames="centred")


def arrays(*values):
    return [jnp.asarray(v, jnp.float64) for v in values]


def digits(found, true):
    return -np.log10(np.max(np.abs(np.ravel(found) / np.ravel(true) - 1)) + 1e-16)


def polynomial(rng):
    """Degree 10 on [−9, −3]: columns of unit length have condition 6·10⁹."""
    x = np.round(np.sort(rng.uniform(-8.8, -3.1, 82)), 9)
    y = np.round(0.76 + 0.15 * np.tanh(x + 6) + 0.003 * rng.normal(size=82), 4)
    return np.stack([x**k for k in [*range(1, 11), 0]], axis=1), y


def test_hopeless_polynomials_keep_twelve_digits(rng):
    A, y = polynomial(rng)
    assert np.linalg.cond(A / np.linalg.norm(A, axis=0)) > 1e9
    beta, spread = exact.regression(A, y)
    with float64():
        found = regression(*arrays(A, y[:, None], np.ones(82)))
        assert not found.singular
        assert digits(found.coefficients, beta) > 12
        assert digits(found.standard_deviations, spread) > 12
    plain = np.linalg.lstsq(A, y, rcond=None)[0]
    assert digits(plain, beta) < 7


def test_large_residuals_do_not_hurt(rng):
    """The normal equations square the condition; plain refinement meets it again."""
    x = np.arange(21.0)
    A = np.stack([x**k for k in [*range(1, 6), 0]], axis=1)
    noise = rng.integers(-(10**6), 10**6, size=21)
    y = A.sum(1) + noise
    beta, spread = exact.regression(A, y)
    with float64():
        found = regression(*arrays(A, y[:, None], np.ones(21)))
    assert digits(found.coefficients, beta) > 13
    assert digits(found.standard_deviations, spread) > 13


@pytest.mark.parametrize("decomposition", ["qr", "svd"])
def test_weights_and_penalties_are_those_of_the_normal_equations(decomposition, rng):
    A, b = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    w, P = rng.uniform(0, 3, size=30), np.array([0.0, 1.0, 10.0, 0.1])
    with float64():
        found = lstsq(*arrays(A, b, w, P), decomposition=decomposition)
    expected = np.linalg.solve(
        A.T @ (w[:, None] * A) + np.diag(P), A.T @ (w[:, None] * b)
    )
    np.testing.assert_allclose(found.coefficients, expected, rtol=1e-12)
    assert not found.singular


def test_standard_deviations_are_those_of_statsmodels(rng):
    from statsmodels.regression.linear_model import OLS

    A = np.hstack([rng.normal(size=(25, 2)), np.ones((25, 1))])
    y = rng.normal(size=25)
    peer = OLS(y, A).fit()
    with float64():
        found = regression(*arrays(A, y[:, None], np.ones(25)))
        counts = regression(
            *arrays(A[:20], y[:20, None], np.r_[np.full(10, 2), np.ones(10)])
        )
    twice = OLS(np.r_[y[:10], y[:20]], np.r_[A[:10], A[:20]]).fit()
    for ours, theirs in ((found, peer), (counts, twice)):
        np.testing.assert_allclose(ours.coefficients[:, 0], theirs.params, rtol=1e-10)
        np.testing.assert_allclose(
            ours.standard_deviations[:, 0], theirs.bse, rtol=1e-10
        )
        np.testing.assert_allclose(ours.residual_deviation[0] ** 2, theirs.mse_resid)
        np.testing.assert_allclose(ours.r_squared[0], theirs.rsquared)


def test_singular_designs_are_solved_and_said_so(rng):
    A = rng.normal(size=(50, 3))
    A = np.hstack([A, A[:, :1] * 2 - A[:, 1:2], np.ones((50, 1))])
    b, free = rng.normal(size=(50, 1)), np.zeros(5)
    least = np.linalg.lstsq(A, b, rcond=None)[0]
    with float64():
        jittered = lstsq(*arrays(A, b, np.ones(50), free))
        shortest = lstsq(*arrays(A, b, np.ones(50), free), decomposition="svd")
    assert jittered.singular
    assert shortest.singular
    np.testing.assert_allclose(A @ jittered.coefficients, A @ least, atol=1e-9)
    np.testing.assert_allclose(shortest.coefficients, least, atol=1e-10)
    assert np.abs(jittered.coefficients).max() < 1e3


def test_more_columns_than_rows(rng):
    A, b = rng.normal(size=(6, 11)), rng.normal(size=(6, 1))
    with float64():
        found = lstsq(*arrays(A, b, np.ones(6), np.zeros(11)), decomposition="svd")
        fitted = lstsq(*arrays(A, b, np.ones(6), np.zeros(11))).coefficients
    np.testing.assert_allclose(found.coefficients, np.linalg.pinv(A) @ b, atol=1e-10)
    np.testing.assert_allclose(A @ fitted, b, atol=1e-8)


def test_a_batch_of_weights_is_the_single_problems(rng):
    A, b = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    W, P = rng.integers(0, 3, size=(3, 30)), np.ones(4)
    with float64():
        A, b, W, P = arrays(A, b, W, P)
        batch = jax.jit(jax.vmap(linalg.lstsq, (None, None, 0, None)))(A, b, W, P)
        for found, w in zip(batch.coefficients, W, strict=True):
            np.testing.assert_allclose(
                found, lstsq(A, b, w, P).coefficients, rtol=1e-12
            )


def test_gram_in_blocks_is_the_gram(rng):
    A, w = rng.normal(size=(4096, 3)), rng.uniform(size=4096)
    with float64():
        found = linalg.weighted_gram(*arrays(A, w))
    np.testing.assert_allclose(found, A.T @ (w[:, None] * A), rtol=1e-12)


def test_pseudoinverse(rng):
    """B33: (XᵀX)⁻¹Xᵀ for independent columns; Penrose's conditions for any."""
    X = rng.normal(size=(20, 4))
    low = rng.normal(size=(8, 2)) @ rng.normal(size=(2, 5))
    with float64():
        found = np.asarray(linalg.pseudoinverse(*arrays(X)))
        P = np.asarray(linalg.pseudoinverse(*arrays(low)))
    np.testing.assert_allclose(found, np.linalg.inv(X.T @ X) @ X.T, atol=1e-12)
    np.testing.assert_allclose(low @ P @ low, low, atol=1e-12)
    np.testing.assert_allclose(P @ low @ P, P, atol=1e-12)
    np.testing.assert_allclose(low @ P, (low @ P).T, atol=1e-12)
    np.testing.assert_allclose(P @ low, (P @ low).T, atol=1e-12)


def test_condition_of_the_gram_is_the_square(rng):
    """B34."""
    X = rng.normal(size=(20, 4)) * [1, 10, 100, 1000]
    with float64():
        kappa, gram, wide = (
            linalg.condition_number(*arrays(M)) for M in (X, X.T @ X, X[:2])
        )
    np.testing.assert_allclose(kappa, np.linalg.cond(X))
    np.testing.assert_allclose(gram, kappa**2, rtol=1e-6)
    assert np.isinf(wide)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_sensitivity_bounds_the_change_and_is_nearly_attained(noise, rng):
    """B34: perturbed solutions move by at most the stated factor, and by half of it."""
    X = rng.normal(size=(20, 3)) @ np.diag([1, 0.1, 0.01])
    y = X @ np.ones(3) + noise * rng.normal(size=20)
    x, size = np.linalg.lstsq(X, y, rcond=None)[0], 1e-7
    with float64():
        to_y, to_X = linalg.sensitivity(*arrays(X, y))

    def change(E, e):
        E, e = size * E / np.linalg.norm(E, 2), size * e / np.linalg.norm(e)
        moved = [
            np.linalg.lstsq(A, b, rcond=None)[0]
            for A, b in (
                (X, y + e * np.linalg.norm(y)),
                (X + E * np.linalg.norm(X, 2), y),
            )
        ]
        return [np.linalg.norm(m - x) / np.linalg.norm(x) / size for m in moved]

    U, _, Vt = np.linalg.svd(X, full_matrices=False)
    residual = y - X @ x
    worst = np.outer(residual + 1e-12, Vt[-1]) if noise else np.outer(U[:, -1], x)
    trials = [change(rng.normal(size=X.shape), rng.normal(size=20)) for _ in range(20)]
    trials.append(change(worst, U[:, -1]))
    by_y, by_X = np.max(trials, axis=0)
    assert 0.5 * to_y < by_y < 1.001 * to_y
    assert 0.3 * to_X < by_X < 1.001 * to_X


def test_low_rank_is_the_nearest(rng):
    """B35, X004-20: U_m S_m V_mᵀ; the printed U_m U_mᵀ V_mᵀ does not even fit."""
    A = rng.normal(size=(9, 6))
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    with float64():
        near, error = linalg.low_rank(*arrays(A), 2)
    near = np.asarray(near)
    assert np.linalg.matrix_rank(near) == 2
    np.testing.assert_allclose(error, np.sum(s[2:] ** 2))
    np.testing.assert_allclose(np.sum((A - near) ** 2), error)
    for _ in range(50):
        other = near + 0.1 * (rng.normal(size=(9, 2)) @ rng.normal(size=(2, 6)))
        u, v, w = np.linalg.svd(other, full_matrices=False)
        other = (u[:, :2] * v[:2]) @ w[:2]
        assert np.sum((A - other) ** 2) > error
    square = rng.normal(size=(6, 6))
    U, s, Vt = np.linalg.svd(square)
    printed = U[:, :2] @ U[:2, :2].T @ Vt[:2]  # cut so that it can be multiplied
    assert np.sum((square - printed) ** 2) > 1.2 * np.sum(s[2:] ** 2)
