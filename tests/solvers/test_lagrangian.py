"""Equality constraints: known solutions, multipliers as derivatives, SciPy as a peer."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from likely.core import float64
from likely.families import Normal
from likely.models import Linear
from likely.objectives import NegativeLogLikelihood
from likely.solvers import LagrangeNewton, minimize, multipliers
from likely.typing import Batch


def total(x):
    return x[0] + x[1]


def circle(x):
    return x @ x - 2


def negative_entropy(p):
    return jnp.sum(p * jnp.log(p))


def mean_of_die(p):
    return jnp.array([p.sum() - 1, p @ jnp.arange(1.0, 7.0) - 4.5])


def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


@pytest.mark.parametrize("start", [[1.0, 0.3], [-1.0, 2.0], [0.5, 0.5]])
def test_a_line_on_a_circle(start):
    """B28: the minimum (−1, −1) with ∇f = γ∇h, γ = −½; also from next to the maximum."""
    found = minimize(total, start, solver=LagrangeNewton(circle))
    np.testing.assert_allclose(found.model, [-1, -1], atol=1e-9)
    np.testing.assert_allclose(multipliers(total, circle, found.model), [-0.5])
    assert found.status.converged


def test_the_loaded_die():
    """The largest entropy with mean 4.5 is geometric: p ∝ e^{γk}."""
    found = minimize(
        negative_entropy, np.full(6, 1 / 6), solver=LagrangeNewton(mean_of_die)
    )
    p = found.model
    np.testing.assert_allclose([p.sum(), p @ np.arange(1, 7)], [1, 4.5], atol=1e-12)
    gamma = multipliers(negative_entropy, mean_of_die, p)
    np.testing.assert_allclose(np.diff(np.log(p)), gamma[1], atol=1e-9)


def test_agrees_with_scipy():
    found = minimize(rosenbrock, [-1.2, 1.0], solver=LagrangeNewton(circle, path=True))
    peer = scipy.optimize.minimize(
        scipy.optimize.rosen,
        [-1.2, 1.0],
        jac=scipy.optimize.rosen_der,
        constraints={"type": "eq", "fun": lambda x: x @ x - 2},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(found.loss, peer.fun, atol=1e-7)
    steps = int(found.status.steps)
    np.testing.assert_allclose(found.trace.model[steps], found.model)


class Circle(eqx.Module):
    level: np.ndarray

    def __call__(self, x):
        return x @ x - self.level


@pytest.mark.parametrize("level", [0.5, 2.0, 8.0])
def test_multipliers_are_derivatives_by_the_level(level):
    """The minimum −√(2c) falls by γ = −1/√(2c) a unit of the level c."""
    constraint = Circle(np.asarray(level))
    found = minimize(total, [-1.0, -0.5], solver=LagrangeNewton(constraint))
    np.testing.assert_allclose(found.loss, -np.sqrt(2 * level), rtol=1e-12)
    gamma = multipliers(total, constraint, found.model)
    np.testing.assert_allclose(gamma, -1 / np.sqrt(2 * level), rtol=1e-9)


def weights_sum_to_one(model):
    return model.weight.sum() - 1


def test_models_and_rows(rng):
    """Least squares with weights that sum to one, by its own KKT system."""
    X, y, w = rng.normal(size=(30, 3)), rng.normal(size=30), rng.uniform(size=30)
    with float64():
        data = Batch(*map(jnp.asarray, (X, y, w)))
        objective = NegativeLogLikelihood.of(Normal(1.0), data)
        model = Linear.zeros(3, 1, False)
        solver = LagrangeNewton(weights_sum_to_one)
        found = solver.minimize(objective, model, data, key=jax.random.key(0))
        weight = np.asarray(found.model.weight)[:, 0]
    kkt = np.block([[X.T @ (w[:, None] * X), np.ones((3, 1))], [np.ones((1, 3)), 0.0]])
    expected = np.linalg.solve(kkt, np.r_[X.T @ (w * y), 1])[:3]
    np.testing.assert_allclose(weight, expected, atol=1e-10)


def test_constraints_that_cannot_hold_are_reported():
    found = minimize(total, [1.0, 2.0], solver=LagrangeNewton(lambda x: x @ x + 1))
    assert not found.status.converged


def test_a_batch_of_starts(rng):
    starts = rng.normal(size=(5, 2)) + [-1, -1]
    solver = LagrangeNewton(circle)
    with float64():
        found = jax.jit(jax.vmap(lambda x: minimize(total, x, solver=solver)))(
            jnp.asarray(starts)
        )
        np.testing.assert_allclose(found.model, -np.ones((5, 2)), atol=1e-8)
