import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import float64
from likely.families import Bernoulli, Categorical, Normal
from likely.models import Linear
from likely.objectives import GaussianPrior, NegativeLogLikelihood
from likely.objectives.rows import Normalisation
from likely.solvers import LBFGS
from likely.typing import Batch


@pytest.fixture
def data(rng):
    X = rng.normal(size=(30, 4))
    y = X @ rng.normal(size=4) + rng.normal(size=30)
    return Batch(X, y, rng.integers(0, 4, size=30).astype(float))


def test_squared_loss_and_its_gradient(data):
    """The mean of ½(y−f)² has gradient Xᵀ(Xw−y)/n: half of that of the mean of (y−f)²."""
    with float64():
        X, y, _ = map(jnp.asarray, data)
        batch = Batch(X, y, jnp.ones(30))
        objective = NegativeLogLikelihood.of(Normal(scale=1.0), batch)
        weight = jnp.asarray(np.linspace(-1, 1, 4))[:, None]
        model = Linear(weight, None)
        loss, _ = objective(model, batch)
        residual = X @ weight[:, 0] - y
        half = 0.5 * jnp.mean(residual**2) + 0.5 * jnp.log(2 * jnp.pi)
        np.testing.assert_allclose(loss, half, rtol=1e-14)
        slope = jax.grad(lambda m: objective(m, batch)[0])(model).weight[:, 0]
        np.testing.assert_allclose(slope, residual @ X / 30, rtol=1e-12)


def test_logistic_and_softmax_gradients(data):
    """(h − y)x for the sigmoid, (p − onehot)xᵀ for the softmax."""
    with float64():
        X, _, w = map(jnp.asarray, data)
        y = jnp.asarray((data.y > 0).astype(float))
        batch = Batch(X, y, w)
        one = Linear(jnp.full((4, 1), 0.3), jnp.array([0.2]))
        two = Linear(jnp.full((4, 2), 0.3) * jnp.array([[0.0, 1.0]]), jnp.zeros(2))
        objective = NegativeLogLikelihood.of(Bernoulli(), batch)
        slope = jax.grad(lambda m: objective(m, batch)[0])(one)
        h = jax.nn.sigmoid(X @ one.weight[:, 0] + 0.2)
        np.testing.assert_allclose(
            slope.weight[:, 0], (w * (h - y)) @ X / w.sum(), rtol=1e-12
        )
        objective = NegativeLogLikelihood.of(Categorical(2), batch)
        slope = jax.grad(lambda m: objective(m, batch)[0])(two)
        p = jax.nn.softmax(X @ two.weight, axis=1)
        off = p - jax.nn.one_hot(y.astype(int), 2)
        expected = (w[:, None] * off).T @ X / w.sum()
        np.testing.assert_allclose(slope.weight.T, expected, rtol=1e-12)


def test_minibatch_losses_average_to_the_loss_of_all_the_data(data):
    """Weights stay exact in expectation, and a batch of absent rows is 0, not 0/0."""
    with float64():
        rows = Normalisation.of(data)
        losses = jnp.asarray(data.y) ** 2
        whole = rows.mean(losses, jnp.asarray(data.w))
        parts = [
            rows.mean(losses[i : i + 5], jnp.asarray(data.w[i : i + 5]))
            for i in range(0, 30, 5)
        ]
        np.testing.assert_allclose(np.mean(parts), whole, rtol=1e-14)
        assert rows.mean(jnp.full(5, jnp.nan), jnp.zeros(5)) == 0


def test_penalty_is_shared_out_over_the_total_weight(data):
    with float64():
        batch = jax.tree.map(jnp.asarray, data)
        objective = NegativeLogLikelihood.of(Normal(1.0), batch, GaussianPrior(3.0))
        model = Linear(jnp.full((4, 1), 2.0), jnp.array([7.0]))
        expected = 0.5 * 3.0 * 16 / data.w.sum()  # the bias is not penalised
        np.testing.assert_allclose(objective.penalty(model), expected, rtol=1e-14)


def test_minimising_nll_is_minimising_kl_to_the_empirical_distribution(getkey):
    """KL(q_emp, p) = NLL − H(q_emp): the same argmin, here the frequencies."""
    with float64():
        y = jnp.array([0.0, 1, 1, 2, 2, 2, 2, 0])
        data = Batch(jnp.zeros((8, 1)), y, jnp.ones(8))
        objective = NegativeLogLikelihood.of(Categorical(3), data)
        start = Linear.zeros(1, 3)
        found = LBFGS(tolerance=1e-10).minimize(objective, start, data, key=getkey())
        q = np.array([2, 2, 4]) / 8
        p = np.asarray(jax.nn.softmax(found.model.bias))
        np.testing.assert_allclose(p, q, atol=1e-8)
        kl = float(found.loss) + (q * np.log(q)).sum()
        assert abs(kl) < 1e-12
