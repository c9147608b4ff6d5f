"""Lanczos' method against dense eigenvalues."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import float64
from likely.core.lanczos import lanczos, ritz_pairs


def symmetric(rng, p: int) -> np.ndarray:
    A = rng.normal(size=(p, p))
    return A + A.T


def decomposed(A: np.ndarray, start: np.ndarray, steps: int):
    with float64():
        run = jax.jit(lambda A, v: lanczos(lambda u: u @ A, v, steps))
        return [np.asarray(a) for a in run(jnp.asarray(A), jnp.asarray(start))]


def test_a_complete_basis_gives_all_eigenvalues(rng):
    A, start = symmetric(rng, 20), rng.normal(size=20)
    alpha, beta, V = decomposed(A, start, 20)
    found = ritz_pairs(alpha, beta)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(A), atol=1e-12)
    np.testing.assert_allclose(V @ V.T, np.eye(20), atol=1e-13)
    vectors = V.T @ found.coordinates
    np.testing.assert_allclose(A @ vectors, vectors * found.values, atol=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_an_eigenvalue_lies_within_each_residual(seed):
    """And the quadrature is exact for powers up to 2m − 1."""
    rng = np.random.default_rng(seed)
    A, start = symmetric(rng, 40), rng.normal(size=40)
    alpha, beta, _ = decomposed(A, start, 8)
    found, exact = ritz_pairs(alpha, beta), np.linalg.eigvalsh(A)
    nearest = np.abs(found.values[:, None] - exact).min(1)
    assert (nearest <= found.residuals + 1e-12).all()
    v, scale = start / np.linalg.norm(start), np.abs(exact).max()
    for power in (0, 1, 2, 7, 15):
        direct = v @ np.linalg.matrix_power(A / scale, power) @ v
        quadrature = found.weights @ (found.values / scale) ** power
        assert quadrature == pytest.approx(direct, abs=1e-12)


def test_a_matrix_of_low_rank_ends_early(rng):
    B = rng.normal(size=(30, 3))
    alpha, beta, V = decomposed(B @ B.T, rng.normal(size=30), 12)
    found = ritz_pairs(alpha, beta)
    assert len(found.values) == 4  # three, and 0
    exact = np.linalg.eigvalsh(B @ B.T)[-3:]
    np.testing.assert_allclose(found.values[-3:], exact, rtol=1e-10)
    assert not V[4:].any()
