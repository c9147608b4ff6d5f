"""The classical losses are negative log-likelihoods, up to a constant."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import float64
from likely.families import (
    Bernoulli,
    Categorical,
    Empirical,
    Huber,
    Laplace,
    MultivariateNormal,
    Normal,
    Poisson,
    Predictive,
    Product,
)

E = np.array([-30.0, -1.5, -1.0, -0.2, 0.0, 0.6, 1.0, 4.0])


def nll(family, eta, y) -> np.ndarray:
    return -Predictive(family, np.asarray(eta, float)).log_prob(y)


@pytest.mark.parametrize(
    ("family", "loss", "constant"),
    [
        (Normal(1.0), E**2 / 2, 0.5 * np.log(2 * np.pi)),
        (Laplace(1.0), np.abs(E), np.log(2)),
        (
            Huber(1.0),
            np.where(np.abs(E) <= 1, E**2 / 2, np.abs(E) - 0.5),
            1.0731,
        ),
        (
            Huber(1.0, 2.0),
            np.where(np.abs(E) <= 2, E**2 / 2, 2 * np.abs(E) - 2),
            0.9274,
        ),
    ],
    ids=["squared", "absolute", "Huber", "Huber, threshold 2"],
)
def test_losses_of_a_residual(family, loss, constant):
    f = np.linspace(-1, 1, len(E))
    found = nll(family, f[:, None], f + E)
    np.testing.assert_allclose(found - found[4], loss, atol=1e-12)
    np.testing.assert_allclose(found[4], constant, rtol=1e-3)


def test_subgradient_of_the_absolute_loss_is_zero_at_its_kink():
    with float64():
        slope = jax.grad(lambda eta: -Laplace(1.0).log_prob(eta, jnp.asarray(0.3)))
        assert slope(jnp.asarray([0.3]))[0] == 0
        assert slope(jnp.asarray([0.4]))[0] == 1


def test_binary_cross_entropy_is_stable():
    """log(1 + e^−z) + (1 − y) z, where h = σ(z) would round to 0 or 1."""
    z, y = np.array([-800.0, -2.0, 0.5, 800.0]), np.array([1.0, 0.0, 1.0, 0.0])
    loss = nll(Bernoulli(), z[:, None], y)
    h = 1 / (1 + np.exp(-z[1:3]))
    plain = -y[1:3] * np.log(h) - (1 - y[1:3]) * np.log(1 - h)
    np.testing.assert_allclose(loss, [800.0, *plain, 800.0], rtol=1e-14)


def test_categorical_cross_entropy_is_logsumexp_minus_the_entry():
    z = np.array([[1.0, 2.0, -1.0], [1000.0, 0.0, 0.0]])
    p = np.exp(z[0]) / np.exp(z[0]).sum()
    loss = nll(Categorical(3), z, [1, 1])
    np.testing.assert_allclose(loss, [-np.log(p[1]), 1000.0], rtol=1e-14)


def test_two_classes_are_a_bernoulli():
    z = np.array([-3.0, 0.2, 40.0])
    two = nll(Categorical(2), np.stack([np.zeros(3), z], -1), [1, 0, 1])
    np.testing.assert_allclose(two, nll(Bernoulli(), z[:, None], [1, 0, 1]), rtol=1e-12)


def test_heteroscedastic_loss():
    """Σ ½ log 2πf₂² + (y − f₁)²/(2f₂²)."""
    f1, f2, y = np.array([0.1, -2.0]), np.array([0.5, 3.0]), np.array([1.0, 2.0])
    loss = nll(Normal(), np.stack([f1, np.log(f2)], -1), y)
    expected = 0.5 * np.log(2 * np.pi * f2**2) + (y - f1) ** 2 / (2 * f2**2)
    np.testing.assert_allclose(loss, expected, rtol=1e-14)


def test_learned_variance_is_the_mean_squared_residual(rng):
    y = rng.normal(3.0, 2.0, size=50)
    with float64():
        mean, log_scale = Normal().marginal(jnp.asarray(y), jnp.ones(50))
    np.testing.assert_allclose([mean, np.exp(log_scale) ** 2], [y.mean(), y.var()])


def test_several_outputs_are_a_double_sum(rng):
    """−Σᵢ Σⱼ log p(yᵢⱼ | fⱼ(xᵢ)), with a real output, a count and a class."""
    family = Product(Normal(), Poisson(), Categorical(3))
    eta = rng.normal(size=(5, family.n_eta))
    y = np.stack([rng.normal(size=5), rng.poisson(2, 5), rng.integers(0, 3, 5)], -1)
    parts = [
        nll(Normal(), eta[:, :2], y[:, 0]),
        nll(Poisson(), eta[:, 2:3], y[:, 1]),
        nll(Categorical(3), eta[:, 3:], y[:, 2]),
    ]
    np.testing.assert_allclose(nll(family, eta, y), np.sum(parts, 0), rtol=1e-12)


def test_a_joint_output_is_more_than_a_product(rng):
    """With a diagonal covariance they agree; correlation is what the product cannot say."""
    eta, y = rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    product = nll(Product(Normal(), Normal()), eta[:, [0, 2, 1, 3]], y)
    diagonal = nll(MultivariateNormal(2, "diagonal"), eta, y)
    np.testing.assert_allclose(diagonal, product, rtol=1e-12)
    tilted = np.concatenate([eta, np.full((4, 1), 0.7)], -1)
    assert (nll(MultivariateNormal(2), tilted, y) != product).all()


def test_kl_to_the_empirical_distribution_is_the_nll(rng):
    """KL(q, p_η) − NLL(η) is the same number for every η, so their minima agree."""
    y, w = rng.poisson(3.0, size=30), rng.integers(1, 4, size=30)
    empirical = Empirical(y, w)
    values = np.unique(y)
    q = np.array([w[y == v].sum() for v in values]) / w.sum()
    gaps = []
    for log_rate in (0.3, 1.0, 1.4):
        p = np.exp(-nll(Poisson(), np.full((len(values), 1), log_rate), values))
        kl = np.sum(q * np.log(q / p))
        gaps.append(kl - empirical.cross_entropy(Poisson(), [log_rate]))
    np.testing.assert_allclose(gaps, np.sum(q * np.log(q)), rtol=1e-12)


def test_the_log_keeps_a_likelihood_from_underflow(rng):
    y = rng.normal(size=2000)
    log_p = -nll(Normal(1.0), np.zeros((2000, 1)), y)
    assert np.prod(np.exp(log_p)) == 0
    assert -3000 < log_p.sum() < -2700
