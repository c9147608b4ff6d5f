"""Tensor products against loops and NumPy; the chain rule against autodiff."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import InputError
from likely.core.tensors import (
    batched_product,
    chain,
    contract,
    dot,
    hadamard,
    matrix_product,
    reduce,
    shape,
)

RNG = np.random.default_rng(0)


def draw(*dims):
    return RNG.normal(size=dims).astype(np.float32)


def near(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_shapes_are_written_as_in_the_notes():
    """B1: X ~ (s₁, ..., sₙ)."""
    assert shape(draw(2, 3)) == "X ~ (2, 3)"
    assert shape(1.0, "L") == "L ~ ()"


def test_the_template_matches_itself_best():
    """B2: among unit vectors w · x is largest for x = w/‖w‖."""
    w = draw(3)
    X = draw(500, 3)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    best = w / np.linalg.norm(w)
    assert (np.asarray(dot(w, X)) <= dot(w, best) + 1e-6).all()
    near(dot(w, best), np.linalg.norm(w))


def test_products_against_loops():
    """B3, B5: rows times columns, for each matrix of a batch."""
    X, Y = draw(2, 3, 4), draw(2, 4, 5)
    loops = [
        [[sum(x[i, :] * y[:, j]) for j in range(5)] for i in range(3)]
        for x, y in zip(X, Y, strict=True)
    ]
    near(batched_product(X, Y), loops)
    near(matrix_product(X[0], Y[0]), loops[0])


def test_hadamard_masks_and_is_linear():
    """B4, X002-1: X ↦ M ⊙ X is linear."""
    M, A, B = (draw(2, 3) > 0).astype(np.float32), draw(2, 3), draw(2, 3)
    near(hadamard(M, 2 * A + 3 * B), 2 * hadamard(M, A) + 3 * hadamard(M, B))
    assert (np.asarray(hadamard(M, A))[M == 0] == 0).all()


def test_reductions():
    """B6: sums, means, maxima and minima over axes."""
    X = draw(2, 3, 4)
    near(reduce(X, (0, 2)), X.sum((0, 2)))
    near(reduce(X, 1, how="mean", keep=True), X.mean(1, keepdims=True))
    near(reduce(X, how="max"), X.max())
    with pytest.raises(InputError, match="no reduction"):
        reduce(X, how="median")


def test_contraction_against_einsum():
    """B7: over the last b axes of P and the first b of Q."""
    P, Q = draw(2, 3, 4), draw(3, 4, 5)
    near(contract(P, Q, 2), np.einsum("ijk,jkl->il", P, Q))
    near(contract(draw(2, 3), Q, 1).shape, (2, 4, 5))
    near(contract(P, P, 3), (P**2).sum())
    near(contract(P, Q, 0).shape, (2, 3, 4, 3, 4, 5))
    with pytest.raises(InputError, match="the last 1 axes of P"):
        contract(P, Q, 1)
    with pytest.raises(InputError, match="cannot contract 4 axes"):
        contract(P, Q, 4)


def test_tensor_chain_rule():
    """B8: ∂L/∂W = ∂L/∂y · ∂y/∂W over the axes of y, for a matrix y and a 3-tensor W."""
    W, x = draw(3, 4, 2), draw(2)

    def hidden(W):
        return jnp.tanh(W @ x)  # (3, 4)

    def loss(y):
        return jnp.sum(jnp.sin(y) * y)

    y = hidden(W)
    outer, inner = jax.grad(loss)(y), jax.jacobian(hidden)(W)
    near(chain(outer, inner, between=(2,)), jax.grad(lambda W: loss(hidden(W)))(W))
    scale = jax.jacobian(lambda y: 2 * y)(y)
    near(
        chain(outer, scale, inner, between=(2, 2)), 2 * chain(outer, inner, between=[2])
    )
    with pytest.raises(InputError, match="2 Jacobians have 1 values between"):
        chain(outer, inner, between=())
