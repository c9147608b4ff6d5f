import jax
import jax.numpy as jnp
import numpy as np

from likely.core import float64
from likely.families import Bernoulli
from likely.models import Linear
from likely.objectives import SurrogateLoss, hinge, logistic, margin, zero_one
from likely.solvers import LBFGS
from likely.typing import Batch


def test_margin_is_positive_exactly_where_the_sign_is_right():
    f = jnp.array([1.5, -0.2, 3.0, -1.0])
    y = jnp.array([1.0, 1.0, -1.0, -1.0])
    m = margin(f, y)
    np.testing.assert_array_equal(m > 0, jnp.sign(f) == y)
    np.testing.assert_array_equal(zero_one(m), [0, 1, 1, 0])


def test_hinge_values_and_a_subgradient_at_its_kink():
    np.testing.assert_allclose(hinge(jnp.array([-1.0, 0.5, 1.0, 2.0])), [2, 0.5, 0, 0])
    slope = float(jax.grad(hinge)(1.0))
    assert -1 <= slope <= 0
    m = jnp.linspace(-2, 4, 25)
    assert jnp.all(hinge(m) >= hinge(jnp.array(1.0)) + slope * (m - 1) - 1e-6)


def test_surrogates_lie_above_the_zero_one_loss():
    m = jnp.linspace(-3, 3, 121)
    assert jnp.all(hinge(m) >= zero_one(m))
    assert jnp.all(logistic(m) / jnp.log(2.0) >= zero_one(m) - 1e-6)


def test_logistic_surrogate_is_the_bernoulli_likelihood(rng):
    eta = jnp.asarray(rng.normal(size=(9, 1)), jnp.float32)
    y = jnp.asarray(rng.integers(0, 2, size=9), jnp.float32)
    surrogate = logistic(margin(eta[:, 0], 2 * y - 1))
    np.testing.assert_allclose(surrogate, -Bernoulli().log_prob(eta, y), rtol=1e-5)


def test_minimising_a_surrogate_separates_separable_data(rng, getkey):
    with float64():
        X = jnp.asarray(rng.normal(size=(60, 2)))
        y = jnp.sign(X @ jnp.array([2.0, -1.0]))
        X += 0.3 * y[:, None] * jnp.array([[2.0, -1.0]])
        data = Batch(X, y, jnp.ones(60))
        objective = SurrogateLoss.of(hinge, data)
        found = LBFGS(max_steps=200).minimize(
            objective, Linear.zeros(2), data, key=getkey()
        )
        sign = jnp.sign(found.model(X)[0][:, 0])
        assert float(zero_one(margin(sign, y)).mean()) == 0
