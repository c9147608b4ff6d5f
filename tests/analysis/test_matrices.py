"""Definiteness by three ways, traces, norms, linear functions."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from likely import analysis
from likely.core.checks import InputError

WAYS = ("eigenvalues", "cholesky", "minors")
KNOWN = [
    ([[2, 1], [1, 2]], "positive definite"),
    ([[0, 0], [0, 1]], "positive semi-definite"),
    ([[0, 0], [0, 0]], "positive semi-definite"),
    ([[0, 0], [0, -1]], "negative semi-definite"),
    ([[-2, 1], [1, -2]], "negative definite"),
    ([[1, 2], [2, 1]], "indefinite"),
]


@pytest.mark.parametrize(("A", "kind"), KNOWN, ids=[kind for _, kind in KNOWN])
def test_kinds_and_ways_agree(A, kind):
    assert analysis.definiteness(A).kind == kind
    for by in WAYS:
        strict = analysis.positive_definite(A, by=by)
        semi = analysis.positive_definite(A, semi=True, by=by)
        assert strict.proved == (kind == "positive definite")
        assert semi.proved == kind.startswith("positive")
        for verdict, bound in ((strict, 0), (semi, -1e-12)):
            if verdict.refuted:
                x = verdict.witness["x"]
                form = x @ np.array(A, float) @ x
                assert form <= bound
                assert form == verdict.witness["form"]


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 5))
@settings(max_examples=60)
def test_ways_agree_on_random_matrices(seed, d, rank):
    """BBᵀ of any rank is semi-definite, and definite where the rank is full."""
    B = np.random.default_rng(seed).normal(size=(d, rank))
    A = B @ B.T
    for by in WAYS:
        assert analysis.positive_definite(A, semi=True, by=by).proved
    full = np.linalg.matrix_rank(A) == d and np.linalg.cond(A) < 1e6
    if full or rank < d:
        for by in ("eigenvalues", "cholesky"):
            assert analysis.positive_definite(A, by=by).proved == full
    assert analysis.positive_definite(
        A - np.eye(d) * (np.trace(A) + 1), semi=True
    ).refuted


def test_proofs_prove():
    A = np.array([[4.0, 2, 0], [2, 3, 1], [0, 1, 2]])
    L = analysis.positive_definite(A, by="cholesky").witness["L"]
    np.testing.assert_allclose(L @ L.T, A)
    np.testing.assert_allclose(analysis.leading_minors(A), [4, 8, 12])
    minors = analysis.principal_minors(A)
    assert len(minors) == 7
    np.testing.assert_allclose(minors[0, 2], 8)
    np.testing.assert_allclose(minors[0, 1, 2], np.linalg.det(A))
    found = analysis.definiteness(A)
    np.testing.assert_allclose(
        found.eigenvectors * found.eigenvalues @ found.eigenvectors.T, A, atol=1e-12
    )
    np.testing.assert_allclose(found.eigenvalues.sum(), np.trace(A))
    np.testing.assert_allclose(found.eigenvalues.prod(), np.linalg.det(A))


def test_traces_and_norms(rng):
    A, B = rng.normal(size=(2, 5, 5))
    found = analysis.traces(A, B)
    np.testing.assert_allclose([found.eigenvalues, found.transpose], found.diagonal)
    np.testing.assert_allclose([found.cyclic_gap, found.linear_gap], 0, atol=1e-12)
    Q, R = (np.linalg.qr(M)[0] for M in (A, B))
    norms = analysis.frobenius(A[:, :3])
    np.testing.assert_allclose(norms, np.linalg.norm(A[:, :3]), rtol=1e-12)
    np.testing.assert_allclose(
        analysis.frobenius(Q @ A @ R).entries, analysis.frobenius(A).entries
    )


def test_linear_functions():
    w = np.array([3.0, -1, 2])
    found = analysis.linearity(lambda x: x @ jnp.asarray(w), 3)
    assert found.answer == "not refuted"
    np.testing.assert_allclose(found.witness["weight"], w)
    matrix = analysis.linearity(lambda x: jnp.stack([x[0], x[1] + x[0]]), 2)
    np.testing.assert_allclose(matrix.witness["weight"].T, [[1, 0], [1, 1]])
    affine = analysis.linearity(lambda x: x[0] + 1, 2)
    assert affine.refuted
    assert "f(0) is not 0" in affine.reason
    square = analysis.linearity(lambda x: x[0] ** 2, 1)
    x, y = square.witness["x"], square.witness["y"]
    gap = (x + y) ** 2 - x**2 - y**2
    np.testing.assert_allclose(np.abs(gap[0]), square.witness["gap"], rtol=1e-9)
    real = analysis.linearity(lambda z: np.sum(np.sort(np.asarray(z))[:1]), 2)
    assert "additive" in real.reason


def test_homogeneity_alone_is_not_enough():
    """x³/(x² + y²) on lines through 0 is linear, in the plane it is not."""

    def f(x):
        return x[0] ** 3 / (x[0] ** 2 + x[1] ** 2 + 1e-30)

    assert "additive" in analysis.linearity(f, 2).reason

    def jumps(x):  # additive up to rounding is hard to break; homogeneity by the sign
        return jnp.abs(x[0])

    assert analysis.linearity(jumps, 1).refuted


def test_bad_input():
    cases = [
        (lambda: analysis.definiteness([[1, 2], [0, 1]]), "not symmetric"),
        (lambda: analysis.definiteness([[1, 2, 3]]), "square"),
        (lambda: analysis.positive_definite(np.eye(2), by="look"), "by is 'look'"),
        (lambda: analysis.principal_minors(np.eye(17)), "use eigenvalues"),
        (lambda: analysis.traces(np.ones((2, 3))), "square"),
        (lambda: analysis.traces(np.eye(2), np.eye(3)), "equal shapes"),
        (lambda: analysis.frobenius([1.0, 2]), "matrix"),
        (lambda: analysis.linearity(lambda x: x[0], 0), "at least 1"),
    ]
    for call, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            call()
