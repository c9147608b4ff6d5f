"""Every solver on every problem it is meant for, and what holds for all of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registries.problems import ALPHA, PROBLEMS, TRACES, rosenbrock
from registries.solvers import PAIRS, SOLVERS

from likely import solvers
from likely.core import float64
from likely.families import Normal
from likely.models import Linear
from likely.objectives import GaussianPrior, NegativeLogLikelihood
from likely.solvers.flat import flatten
from likely.solvers.function import NO_ROWS
from likely.typing import TRAINED, Batch

ROWS = [(solver, name) for solver, name in PAIRS if PROBLEMS[name]().has_rows]


def run(solver, problem, data=None, alpha=ALPHA):
    """The solution, and its parameters as one NumPy vector."""
    with float64():
        data = jax.tree.map(jnp.asarray, problem.data if data is None else data)
        objective, key = problem.objective(data, alpha), jax.random.key(0)
        found = solver.minimize(objective, problem.start(), data, key=key)
        return found, np.asarray(flatten(found.model)[0])


@pytest.mark.parametrize(("solver", "name"), PAIRS)
def test_reaches_the_known_minimum(solver, name):
    entry, problem = SOLVERS[solver], PROBLEMS[name]()
    found, x = run(entry.make(1e-9), problem)
    np.testing.assert_allclose(x, problem.optimum, atol=entry.accuracy)
    assert found.status.converged or found.status.reason == TRAINED, found.status
    losses = np.asarray(found.trace.loss)
    losses = losses[np.isfinite(losses)]
    assert losses[-1] <= losses[0]
    np.testing.assert_allclose(losses[-1], found.loss, atol=1e-9)


@pytest.mark.parametrize(("solver", "name"), ROWS)
def test_weight_two_is_the_row_twice_and_absent_rows_are_absent(solver, name):
    entry, problem = SOLVERS[solver], PROBLEMS[name]()
    x, y, w = problem.data
    half = len(w) // 2
    garbage_x, garbage_y = x.copy(), y.copy()
    garbage_x[half:], garbage_y[half:] = np.nan, 1e300
    weighted = Batch(garbage_x, garbage_y, np.repeat([2.0, 0.0], half))
    _, found = run(entry.make(1e-9), problem, weighted)
    _, twice = run(entry.make(1e-9), problem)
    np.testing.assert_allclose(found, twice, atol=entry.accuracy)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_new_tolerance_and_a_new_alpha_compile_nothing(solver):
    entry = SOLVERS[solver]
    problem = PROBLEMS[entry.problems[-1]]()
    _, first = run(entry.make(1e-9), problem)
    before = TRACES["objective"]
    run(entry.make(1e-7), problem)
    _, other = run(entry.make(1e-9), problem, alpha=50.0)
    assert TRACES["objective"] == before
    if problem.has_rows and "curve" not in entry.problems:
        assert np.abs(first - other).max() > 1e-2


@pytest.mark.parametrize("solver", [solvers.LBFGS, solvers.BFGS, solvers.Newton])
def test_a_batch_of_64_starts_is_the_64_single_runs(solver):
    starts = np.random.default_rng(0).uniform(-1.5, 1.5, size=(64, 2))
    solver, f = solver(tolerance=1e-10), solvers.Function(rosenbrock)

    def one(x):
        return solver.minimize(f, x, NO_ROWS, key=None)

    with float64():
        starts = jnp.asarray(starts)
        batch = jax.jit(jax.vmap(one))(starts)
        single = np.stack([one(x).model for x in starts])
    np.testing.assert_allclose(batch.model, single, atol=1e-6)
    np.testing.assert_allclose(single, 1.0, atol=1e-6)
    assert batch.status.converged.all()
    assert len(batch.status.sentences) == 64


@pytest.mark.parametrize("name", ["least squares", "newton"])
def test_a_batch_of_weights_and_alphas_is_the_single_runs(name, rng):
    solver, family = SOLVERS[name].make(1e-11), Normal(1.0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    W, alphas = rng.integers(0, 3, size=(6, 40)).astype(float), np.geomspace(0.1, 10, 6)

    def one(w, alpha):
        data = Batch(jnp.asarray(X), jnp.asarray(y), w)
        objective = NegativeLogLikelihood.of(family, data, GaussianPrior(alpha))
        found = solver.minimize(objective, Linear.zeros(3), data, key=None)
        return found.model.coefficients

    with float64():
        W, alphas = jnp.asarray(W), jnp.asarray(alphas)
        batch, single = jax.jit(jax.vmap(one))(W, alphas), jax.jit(one)
        for found, w, alpha in zip(batch, W, alphas, strict=True):
            np.testing.assert_allclose(found, single(w, alpha), atol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("scale", [0.3, 2.0])
@pytest.mark.parametrize("name", ["least squares", "least squares, svd"])
def test_an_exact_solution_is_a_stationary_point_of_the_objective(
    name, scale, alpha, rng
):
    X, y = rng.normal(size=(50, 3)) * [1, 10, 0.1] + 5, rng.normal(size=50)
    with float64():
        data = Batch(jnp.asarray(X), jnp.asarray(y), jnp.asarray(rng.uniform(size=50)))
        prior = GaussianPrior(alpha)
        objective = NegativeLogLikelihood.of(Normal(scale), data, prior)
        model = Linear.zeros(3)
        found = SOLVERS[name].make(0.0).minimize(objective, model, data, key=None)
        slope = jax.grad(lambda m: objective(m, data)[0])(found.model)
        np.testing.assert_allclose(flatten(slope)[0], 0.0, atol=1e-11)
    assert str(found.status).startswith("solved exactly")
