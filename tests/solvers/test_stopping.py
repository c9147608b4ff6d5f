"""Stopping rules: each gives its reason, they compose, validation keeps the best."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import float64, to_numpy
from likely.families import Normal
from likely.models import Linear, mlp
from likely.objectives import NegativeLogLikelihood
from likely.solvers import (
    Adam,
    GradientDescent,
    GradientNorm,
    ParameterChange,
    RelativeLoss,
    Validation,
)
from likely.solvers.function import Function
from likely.typing import (
    GRADIENT,
    LOSS,
    PARAMETERS,
    STEP_LIMIT,
    TRAINED,
    VALIDATION,
    Batch,
)

NO_ROWS = Batch(None, None, np.ones(1))


def bowl(x):
    return 1 + 0.5 * jnp.sum(x**2)


def solve(**settings):
    with float64():
        solver = GradientDescent(0.1, **{"steps": 500, **settings})
        return to_numpy(solver.minimize(Function(bowl), jnp.ones(1), NO_ROWS, key=None))


@pytest.mark.parametrize(
    ("stop", "reason", "steps"),
    [
        (GradientNorm(1e-3), GRADIENT, np.ceil(np.log(1e-3) / np.log(0.9))),
        # the step from x is 0.1 x, and its square has to be below the tolerance
        (ParameterChange(1e-8), PARAMETERS, 1 + np.ceil(np.log(1e-3) / np.log(0.9))),
        (None, STEP_LIMIT, 500),
    ],
)
def test_a_rule_stops_where_it_says(stop, reason, steps):
    found = solve(stop=stop)
    assert found.status.reason == reason
    assert found.status.steps == steps
    np.testing.assert_allclose(found.model, 0.9**steps)
    np.testing.assert_allclose(found.loss, 1 + 0.5 * 0.9 ** (2 * steps))


def test_relative_loss_can_be_patient():
    quick, patient = (solve(stop=RelativeLoss(1e-6, k)) for k in (1, 5))
    assert quick.status.reason == patient.status.reason == LOSS
    assert patient.status.steps == quick.status.steps + 4
    assert "the loss changed by" in str(quick.status)


def test_the_first_rule_that_holds_stops():
    both = solve(stop=(GradientNorm(1e-2), ParameterChange(1e-20)))
    assert both.status.reason == GRADIENT
    other = solve(stop=(GradientNorm(1e-12), ParameterChange(1e-4)))
    assert other.status.reason == PARAMETERS


def test_sentences():
    assert "step limit after 500 steps" in str(solve().status)
    assert str(solve(stop=GradientNorm(0.1)).status) == (
        "converged after 22 steps: the largest gradient entry is 0.0985"
    )


def overfitting(rng):
    X = rng.uniform(-1, 1, size=(60, 1)).astype(np.float32)
    y = (np.sin(3 * X[:, 0]) + 0.5 * rng.normal(size=60)).astype(np.float32)
    rows = jax.tree.map(jnp.asarray, Batch(X, y, np.ones(60, np.float32)))
    halves = (Batch(*(a[part] for a in rows)) for part in (slice(30), slice(30, 60)))
    return mlp((1, 32, 1), key=jax.random.key(0)), *halves


def test_validation_stops_and_keeps_the_best(rng):
    model, data, other = overfitting(rng)
    objective = NegativeLogLikelihood.of(Normal(0.5), data)
    watch = Validation(other, patience=5, every=10)

    def fit(**settings):
        solver = Adam(0.03, steps=3000, batch_size=10, **settings)
        return solver.minimize(objective, model, data, key=jax.random.key(1))

    early, late = fit(validation=watch), fit()
    assert early.status.reason == VALIDATION
    assert late.status.reason == TRAINED
    assert early.status.steps < 3000
    held = NegativeLogLikelihood.of(Normal(0.5), other)
    best, last = (float(held(fit.model, other)[0]) for fit in (early, late))
    assert best < last
    np.testing.assert_allclose(early.status.value, best, rtol=1e-5)
    assert f"lowest value was {best:.3g}"[:20] in str(early.status)


def test_validation_loss_is_per_unit_of_its_own_weight(rng):
    """However the two sets are weighted, and whatever their absent rows hold."""
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    w = np.repeat([3.0, 0.0], 10)
    with float64():
        data = jax.tree.map(jnp.asarray, Batch(X, y, np.full(20, 2.0)))
        rough = jax.tree.map(jnp.asarray, Batch(np.where(w[:, None], X, np.nan), y, w))
        objective = NegativeLogLikelihood.of(Normal(1.0), data)
        solver = GradientDescent(0.0, steps=50, validation=Validation(rough, 2))
        found = to_numpy(solver.minimize(objective, Linear.zeros(2), data, key=None))
    expected = np.mean(0.5 * y[:10] ** 2 + 0.5 * np.log(2 * np.pi))
    np.testing.assert_allclose(found.status.value, expected, rtol=1e-12)


def test_rules_batch_over_tolerances():
    def steps(tolerance):
        solver = GradientDescent(0.1, steps=500, stop=GradientNorm(tolerance))
        found = solver.minimize(Function(bowl), jnp.ones(1), NO_ROWS, key=None)
        return found.status

    with float64():
        status = to_numpy(eqx.filter_vmap(steps)(jnp.array([1e-1, 1e-2, 1e-3])))
    np.testing.assert_array_equal(status.steps, [22, 44, 66])
    assert len(str(status).splitlines()) == 3
