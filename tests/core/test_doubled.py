"""Doubled precision keeps what rounding takes away, also when XLA compiles it."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import doubled, float64


def numbers(rng, n, dtype):
    return (rng.normal(size=n) * 2.0 ** rng.integers(-20, 20, n)).astype(dtype)


def exact(a):
    return [Fraction(float(v)) for v in np.ravel(a)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_and_products_are_exact_as_pairs(dtype, rng):
    a, b = numbers(rng, 300, dtype), numbers(rng, 300, dtype)
    with jax.enable_x64(dtype is np.float64):
        added = jax.jit(doubled.two_sum)(jnp.asarray(a), jnp.asarray(b))
        times = jax.jit(doubled.two_product)(jnp.asarray(a), jnp.asarray(b))
    bits = np.finfo(dtype).nmant
    for x, y, s, e, p, q in zip(
        *(exact(v) for v in (a, b, *added, *times)), strict=True
    ):
        assert s + e == x + y
        assert abs(p + q - x * y) <= abs(x * y) * Fraction(1, 2 ** (2 * bits))


def test_products_have_twice_the_digits(rng):
    A = rng.uniform(-1, 1, size=(40, 5))
    x, r = numbers(rng, 5, float)[:, None], numbers(rng, 40, float)[:, None]

    @jax.jit
    def products(A, x, r):
        parts = doubled.slices(A, max(A.shape))
        forth = doubled.product(parts, x)
        return doubled.total(forth), doubled.total(
            doubled.product(parts, r, transposed=True)
        )

    with float64():
        found = products(jnp.asarray(A), jnp.asarray(x), jnp.asarray(r))
    for (high, low), M, v in zip(found, (A, A.T), (x, r), strict=True):
        for h, e, row in zip(exact(high), exact(low), M, strict=True):
            terms = [a * b for a, b in zip(exact(row), exact(v), strict=True)]
            error = abs(h + e - sum(terms)) / sum(abs(t) for t in terms)
            assert error < 1e-28


def test_powers_of_two_are_just_above():
    with float64():
        found = doubled.power_of_two(jnp.array([[3.0, 0.0, -1.0], [1.0, 0.0, 0.3]]))
    np.testing.assert_array_equal(found, [4.0, 1.0, 2.0])
