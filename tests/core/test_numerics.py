"""Softplus and the logistic function, against SciPy and 50 digits."""

from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

from likely.core.numerics import sigmoid, softplus
from likely.core.precision import float64

Z = np.concatenate([np.linspace(-40, 40, 2001), [-1e4, -750.0, -1e-300, 0.0, 1e4]])


def exact_softplus(z: float) -> float:
    with localcontext() as context:
        context.prec = 50
        return float((1 + Decimal(z).exp()).ln())


def test_softplus_has_all_digits():
    want = np.array([exact_softplus(z) for z in Z])
    with float64():
        got = np.asarray(softplus(jnp.asarray(Z)))
    np.testing.assert_allclose(got, want, rtol=4e-16, atol=5e-324)


def test_softplus_in_float32():
    z = Z.astype(np.float32)
    want = np.logaddexp(0, z.astype(np.float64))
    got = np.asarray(softplus(jnp.asarray(z)))
    np.testing.assert_allclose(got, want, rtol=3e-7, atol=1e-38)


def test_sigmoid_equals_scipy():
    with float64():
        got = np.asarray(sigmoid(jnp.asarray(Z)))
    np.testing.assert_allclose(got, expit(Z), rtol=1e-15, atol=5e-324)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_softplus(order):
    """Also at 0, where e^−|z| itself has a kink."""
    z, p = np.array([-2.0, -0.3, 0.0, 0.7, 5.0]), expit([-2.0, -0.3, 0.0, 0.7, 5.0])
    want = {1: p, 2: p * (1 - p), 3: p * (1 - p) * (1 - 2 * p)}[order]
    f = softplus
    for _ in range(order):
        f = jax.grad(f)
    with float64():
        got = jax.vmap(f)(jnp.asarray(z))
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-13, atol=1e-16)
