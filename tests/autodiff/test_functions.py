"""Functions from all over JAX: traced, differentiated, recomputed, counted, drawn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from likely.autodiff import trace
from likely.autodiff.page.page import page
from likely.core import float64

RNG = np.random.default_rng(0)
V, A = RNG.normal(size=3), RNG.normal(size=(3, 3)) + 3 * np.eye(3)
IMAGE = RNG.normal(size=(1, 2, 5, 5))


def convolution(x):
    kernel = jnp.ones((3, 2, 3, 3)) / 9
    mapped = lax.conv_general_dilated(x, kernel, (1, 1), "SAME")
    window = (1, 1, 2, 2)
    return jnp.tanh(
        lax.reduce_window(mapped, -jnp.inf, lax.max, window, window, "VALID")
    )


def newton_root(x):
    """A root found by a while loop, differentiated implicitly."""

    def solve(f, y):
        return lax.while_loop(
            lambda y: jnp.abs(f(y)) > 1e-12, lambda y: y - f(y) / (3 * y**2), y
        )

    cubic = lambda y: y**3 - x.sum() - 5.0  # noqa: E731
    return lax.custom_root(cubic, 1.0, solve, lambda g, y: y / g(1.0))


FUNCTIONS = {
    "convolution and pooling": (convolution, IMAGE),
    "linear algebra": (
        lambda a: jnp.linalg.slogdet(a)[1] + jnp.linalg.solve(a, V) + a[0],
        A,
    ),
    "cholesky and svd": (
        lambda a: (
            jnp.linalg.cholesky(a @ a.T) + jnp.linalg.svd(a, compute_uv=False)[None]
        ),
        A,
    ),
    "complex numbers": (lambda x: jnp.abs(jnp.fft.fft(x + 1j * x**2)), V),
    "sorting and indexing": (
        lambda x: jnp.sort(x) * jnp.zeros(5).at[jnp.array([0, 2, 0])].add(x)[:3],
        V,
    ),
    "special functions": (
        lambda x: jax.scipy.special.gammaln(x**2 + 1) + lax.erf(x) + jax.nn.gelu(x),
        V,
    ),
    "a gradient inside": (
        lambda x: jax.grad(lambda t: jnp.sin(t).sum() * t[0])(x) ** 2,
        V,
    ),
    "an implicit root": (newton_root, V),
    "mapped branches": (
        jax.vmap(lambda t: lax.cond(t > 0, jnp.sin, jnp.cos, t)),
        V,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    f, x = FUNCTIONS[name]

    def total(x):
        return jnp.sum(f(x))

    with float64():
        recorded = trace(total, x)
        exact = jax.jit(jax.grad(total))(x)
        near = {"rtol": 1e-9, "atol": 1e-10}
        np.testing.assert_allclose(recorded.reverse().gradient, exact, **near)
        np.testing.assert_allclose(recorded.checkpointed().gradient, exact, **near)
        along = recorded.forward(x).output
        np.testing.assert_allclose(along, np.sum(exact * x), rtol=1e-8)
    assert recorded.cost(xla=False)["reverse"].work.flops > 0
    assert len(page(recorded)) < 200_000
