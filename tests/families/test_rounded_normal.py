"""Rounded normals: probabilities of cells against SciPy, far out and for any width."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from likely.core import InputError, float64
from likely.families import Normal, Predictive, RoundedNormal


@pytest.mark.parametrize("scale", [1e-3, 0.3, 2.0, 150.0, 1e5])
def test_probabilities_are_differences_of_the_cdf(scale):
    y = np.array([-3.0, 0, 1, 2, 5, 40])
    peer = stats.norm(0.4, scale)
    low, high = np.abs(y - 0.4) - 0.5, np.abs(y - 0.4) + 0.5
    near = stats.norm(0, scale)
    wanted = near.logsf(low) + np.log1p(-np.exp(near.logsf(high) - near.logsf(low)))
    eta = np.tile([0.4, np.log(scale)], (len(y), 1))
    with float64():
        found = np.asarray(RoundedNormal().log_prob(jnp.asarray(eta), jnp.asarray(y)))
        slope = jax.vmap(jax.grad(lambda e, v: RoundedNormal().log_prob(e, v)))(
            jnp.asarray(eta), jnp.asarray(y)
        )
    sure = np.isfinite(wanted) & (wanted > -700)
    wide = scale < 1000  # beyond, differences of SciPy's logarithms lose digits
    tolerance = 1e-9 if wide else 1e-5
    np.testing.assert_allclose(found[sure], wanted[sure], rtol=tolerance, atol=1e-12)
    assert np.isfinite(found).all()
    assert np.isfinite(slope).all()
    if not wide:
        np.testing.assert_allclose(found, peer.logpdf(y), rtol=1e-9)


def test_narrow_lattices_tend_to_the_density():
    eta = np.array([[0.2, -0.1]])
    rounded = Predictive(RoundedNormal(1e-4, 0.2), eta)
    density = Predictive(Normal(), eta)
    y = np.array([0.2 + 3e-4])
    np.testing.assert_allclose(
        rounded.log_prob(y) - np.log(1e-4), density.log_prob(y), rtol=1e-8
    )
    assert RoundedNormal(0.5, 0.25).outside(np.array([0.75, 0.5])).tolist() == [
        False,
        True,
    ]
    with pytest.raises(InputError, match="width is 0"):
        RoundedNormal(0)


def test_moments_of_small_scales():
    family = RoundedNormal()
    with float64():
        d = family.distribution(
            loc=jnp.asarray([0.3, 0.3]), scale=jnp.asarray([0.2, 3.0])
        )
        draws = np.asarray(d.sample(jax.random.key(0), (200_000,)))
        np.testing.assert_allclose(d.mean, draws.mean(0), atol=0.02)
        np.testing.assert_allclose(d.variance, draws.var(0), rtol=0.02)
