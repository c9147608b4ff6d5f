import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from likely.core import float64
from likely.layers import BatchNorm, Chain, Dense
from likely.models import Linear
from likely.objectives import (
    ElasticNetPrior,
    GaussianPrior,
    LaplacePrior,
    NormPrior,
)

PRIORS = {
    "gaussian": GaussianPrior(2.0),
    "laplace": LaplacePrior(2.0),
    "elastic net": ElasticNetPrior(2.0, 0.3),
    "norm": NormPrior(1e-3),
}


def single(value: float) -> Linear:
    return Linear(jnp.full((1, 1), value), None)


@pytest.mark.parametrize(
    ("prior", "oracle"),
    [
        (GaussianPrior(4.0), stats.norm(scale=0.5)),
        (LaplacePrior(4.0), stats.laplace(scale=0.25)),
    ],
)
def test_a_penalty_is_minus_log_of_its_density(prior, oracle):
    """Up to a constant: w ~ N(0, 1/α), and Laplace of scale 1/α and variance 2/α²."""
    with float64():
        at = [float(prior.log_prob(single(x))) for x in (0.0, 0.3, -1.7)]
    truth = oracle.logpdf([0.0, 0.3, -1.7])
    np.testing.assert_allclose(np.diff(at), np.diff(truth), rtol=1e-12)


def test_the_laplace_prior_of_the_notes_has_another_scale():
    """The printed density λ·exp(−2λ|t|) at λ=2 has variance 1/8, not 2/λ = 1."""
    lam = 2.0
    printed = integrate.quad(lambda t: t**2 * lam * np.exp(-2 * lam * abs(t)), -50, 50)
    correct = integrate.quad(
        lambda t: t**2 * lam / 2 * np.exp(-lam * abs(t)), -50, 50, points=[0]
    )
    np.testing.assert_allclose(printed[0], 0.125, rtol=1e-6)
    np.testing.assert_allclose(correct[0], 2 / lam**2, rtol=1e-6)


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("start", [-1.3, 0.05, 0.8])
def test_prox_minimises_the_kink_plus_the_distance(name, start):
    prior, step = PRIORS[name], 0.2
    with float64():
        found = float(prior.prox(single(start), jnp.asarray(step)).weight[0, 0])

        def cost(m):
            kink = prior.kink_log_prob(single(float(m)))
            return float(-step * kink) + 0.5 * (float(m) - start) ** 2

        best = optimize.minimize_scalar(cost, bounds=(-3, 3), method="bounded")
        assert cost(found) <= best.fun + 1e-9


@pytest.mark.parametrize("name", PRIORS)
def test_weights_are_penalised_and_biases_are_not(name, getkey):
    prior = PRIORS[name]
    chain = Chain(Dense(3, 2, key=getkey()), BatchNorm(2), jax.nn.relu)
    slopes = jax.grad(lambda m: prior.log_prob(m), allow_int=True)(chain)
    assert jnp.all(slopes.layers[0].weight != 0)
    assert jnp.all(slopes.layers[0].bias == 0)
    assert jnp.all(slopes.layers[1].scale == 0)


def test_every_leaf_is_penalised_where_asked():
    model = Linear(jnp.ones((2, 1)), jnp.ones(1))
    assert GaussianPrior(2.0, on="all").log_prob(model) == -3
    assert GaussianPrior(2.0).log_prob(model) == -2


def test_norm_prior_falls_as_one_over_the_norm():
    with float64():
        prior = NormPrior(0.0)
        drop = prior.log_prob(single(1.0)) - prior.log_prob(single(10.0))
    np.testing.assert_allclose(drop, np.log(10), rtol=1e-12)
