"""Metropolis' algorithm against known laws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core.checks import InputError
from likely.inference import acceptance_probability, metropolis

WEIGHTS = np.array([1.0, 2.0, 4.0, 2.0, 3.0])


def on_five_states(z):
    k = z[0].astype(int)
    inside = (k >= 0) & (k < 5)
    return jnp.where(inside, jnp.log(jnp.asarray(WEIGHTS))[jnp.clip(k, 0, 4)], -jnp.inf)


def step(key, z):
    return z + jnp.where(jax.random.bernoulli(key), 1.0, -1.0)


def test_acceptance_is_the_smaller_of_one_and_the_ratio():
    found = acceptance_probability(np.log([0.3, 0.6]), np.log([0.6, 0.3]))
    np.testing.assert_allclose(found, [0.5, 1.0], rtol=1e-6)


def test_a_chain_on_five_states_has_their_law():
    """The stationary law is known, and so is the balance of each pair of neighbours."""
    found = metropolis(
        on_five_states, np.array([2.0]), propose=step, draws=4000, thin=3, warmup=50
    )
    states = found.values[..., 0].astype(int)
    share = np.bincount(states.ravel(), minlength=5) / states.size
    np.testing.assert_allclose(share, WEIGHTS / WEIGHTS.sum(), atol=0.02)
    assert found.r_hat[0] < 1.01


@pytest.mark.slow
def test_a_correlated_normal_in_odd_units():
    """The walk learns the scales and the correlation in its warm-up."""
    C = np.array([[1.0, 90.0], [90.0, 10_000.0]])
    P = np.linalg.inv(C)
    found = metropolis(lambda z: -0.5 * z @ P @ z, np.zeros(2), thin=10)
    assert found.believable, found.verdict
    np.testing.assert_allclose(found.covariance / C, 1, atol=0.12)
    assert 0.15 < found.acceptance.mean() < 0.4


def test_starts_and_settings_are_refused():
    with pytest.raises(InputError, match="not a number"):
        metropolis(on_five_states, np.array([9.0]), propose=step)
    with pytest.raises(InputError, match="thin"):
        metropolis(on_five_states, np.array([2.0]), thin=0)
