"""Every identity of matrix calculus, against autodiff and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.autodiff import IDENTITIES, cauchy_schwarz, verify_identities
from likely.autodiff.calculus.identity import Numbers
from likely.autodiff.numerical.differences import numerical_gradient
from likely.core import float64


@pytest.fixture(scope="module")
def verified():
    return verify_identities(jax.random.key(0))


GROUPS = (
    "scalar by vector",
    "vector by vector",
    "scalar by matrix",
    "vector by matrix",
    "traces",
    "determinant and inverse",
)


@pytest.mark.parametrize("group", GROUPS)
def test_identities_hold(verified, group):
    found = [i.statement for i in IDENTITIES if i.group == group]
    assert found
    for statement in found:
        assert verified.errors[statement] < 1e-12, statement


def test_misprints_do_not(verified):
    """Common misprints have a large error or the wrong shape."""
    assert len(verified.printed) == 5
    assert min(verified.printed.values()) > 1e-3
    assert "wrong shape" in str(verified)


def test_the_table_agrees_with_differences():
    """One identity of each group, against central differences."""
    rng = np.random.default_rng(3)
    with float64():
        numbers = Numbers.draw(jax.random.key(1))
    chosen = {i.group: i for i in IDENTITIES}.values()
    for identity in chosen:
        at = rng.normal(size=identity.shape)
        at = at + 3 * np.eye(len(at)) if at.shape == (4, 4) else at
        rough = numerical_gradient(lambda x, i=identity: i.function(numbers, x), at)
        with float64():
            exact = identity.derivative(numbers, jnp.asarray(at))
        np.testing.assert_allclose(exact, rough, rtol=1e-6, atol=1e-7)


def test_cauchy_schwarz():
    """|⟨u, v⟩| ≤ ‖u‖‖v‖, equal for multiples, also negative ones."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        u, v = rng.normal(size=(2, 5))
        inner, bound = cauchy_schwarz(u, v)
        assert inner <= bound
    inner, bound = cauchy_schwarz(u, -3 * u)
    assert inner == pytest.approx(bound)
