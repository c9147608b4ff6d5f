"""A genetic algorithm, and coordinate ascent over blocks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely.core import InputError, float64
from likely.families import Normal
from likely.models import Linear
from likely.objectives import NegativeLogLikelihood, SurrogateLoss, zero_one
from likely.solvers import LBFGS, BlockCoordinate, Genetic, GradientDescent
from likely.solvers.function import minimize
from likely.typing import GRADIENT, PARAMETERS, STEP_LIMIT, Batch


def bowl(x):
    return jnp.sum((x - jnp.arange(5.0)) ** 2)


def rastrigin(x):
    """A bowl with a local minimum near every whole number; the lowest is 0 at 0."""
    return 10 * len(x) + jnp.sum(x**2 - 10 * jnp.cos(2 * jnp.pi * x))


def test_a_bowl_is_found_to_the_bottom():
    found = minimize(bowl, np.zeros(5), solver=Genetic(), key=jax.random.key(0))
    np.testing.assert_allclose(found.model, np.arange(5), atol=1e-6)
    assert found.status.reason == PARAMETERS
    assert found.loss < 1e-12


def test_local_minima_do_not_hold_a_population():
    """From (3.3, 3.3) a slope leads to the well at 3; the population finds 0."""
    start = np.full(2, 3.3)
    local = minimize(rastrigin, start, solver=GradientDescent(1e-3, steps=2000))
    assert local.loss > 10
    solver = Genetic(population=128, spread=2.0)
    found = minimize(rastrigin, start, solver=solver, key=jax.random.key(1))
    np.testing.assert_allclose(found.model, 0, atol=1e-6)


def test_the_best_never_gets_worse_and_the_key_decides():
    runs = [
        minimize(
            rastrigin,
            np.full(3, 2.0),
            solver=Genetic(60, path=True),
            key=jax.random.key(k),
        )
        for k in (0, 0, 1)
    ]
    loss = runs[0].trace.loss[:61]
    assert (np.diff(loss) <= 0).all()
    assert runs[0].status.reason == STEP_LIMIT
    np.testing.assert_array_equal(runs[0].model, runs[1].model)
    assert (runs[0].model != runs[2].model).any()
    np.testing.assert_array_equal(runs[0].trace.model[60], runs[0].model)


def test_the_zero_one_loss_needs_no_slope(rng):
    """Its gradient is zero everywhere, yet the separating line is found."""
    X = rng.normal(size=(80, 2)).astype(np.float32)
    y = np.sign(X @ np.array([1.0, -2.0], np.float32) + 0.3)
    data = jax.tree.map(jnp.asarray, Batch(X, y, np.ones(80, np.float32)))
    objective = SurrogateLoss.of(zero_one, data)
    model = Linear.zeros(2)
    slope = GradientDescent(1.0, steps=50).minimize(objective, model, data, key=None)
    assert slope.loss > 0.4
    found = Genetic(200).minimize(objective, model, data, key=jax.random.key(0))
    assert found.loss < 0.03


def test_garbage_rows_and_bad_members_do_not_matter(rng):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    w = np.where(np.arange(40) % 4 == 0, 0.0, 1.0)
    ends = []
    for bad in (0.0, np.nan):
        rough = np.where(w[:, None] > 0, X, bad)
        with float64():
            data = jax.tree.map(jnp.asarray, Batch(rough, y, w))
            objective = NegativeLogLikelihood.of(Normal(1.0), data)
            found = Genetic(100).minimize(
                objective, Linear.zeros(2), data, key=jax.random.key(0)
            )
            ends.append(np.asarray(found.model.weight))
    np.testing.assert_array_equal(*ends)


def holey(x):
    return jnp.where(x[0] > 1, jnp.nan, jnp.sum((x - 0.9) ** 2))


def test_members_without_a_loss_die_out():
    found = minimize(holey, np.zeros(2), solver=Genetic(), key=jax.random.key(0))
    np.testing.assert_allclose(found.model, 0.9, atol=1e-6)


def test_wrong_settings_are_sentences():
    with pytest.raises(InputError, match="elite is 64 of a population of 64"):
        Genetic(elite=64)
    with pytest.raises(InputError, match="give it a key"):
        minimize(bowl, np.zeros(5), solver=Genetic())


# Blocks (F19) -------------------------------------------------------------------------

CURVATURE = np.array([[2.0, 1.2], [1.2, 1.0]])


def valley(blocks):
    x = jnp.stack(blocks)
    return 0.5 * x @ CURVATURE @ x - x.sum()


def test_blocks_zigzag_to_the_minimum():
    """On a quadratic each sweep is Gauss-Seidel's: the error shrinks by h₁₂²/(h₁₁h₂₂)."""
    solver = BlockCoordinate(LBFGS(tolerance=1e-12), 200, 1e-9, path=True)
    found = minimize(valley, (np.array(0.0), np.array(0.0)), solver=solver)
    exact = np.linalg.solve(CURVATURE, np.ones(2))
    np.testing.assert_allclose(found.model, exact, atol=1e-8)
    assert found.status.reason == GRADIENT
    loss = found.trace.loss[: found.status.steps + 1]
    assert (np.diff(loss) <= 1e-14).all()
    error = np.abs(found.trace.model[0][1:6] - exact[0])
    np.testing.assert_allclose(error[1:] / error[:-1], 1.44 / 2.0, rtol=1e-5)


def test_blocks_are_the_arrays_of_a_model(rng):
    """Alternating least squares: a rank-one matrix from its two factors in turn."""
    u, v = rng.normal(size=4), rng.normal(size=3)
    target = np.outer(u, v)

    def misfit(factors):
        return jnp.sum((factors["u"][:, None] * factors["v"][None] - target) ** 2)

    start = {"u": np.ones(4), "v": np.ones(3)}
    found = minimize(misfit, start, solver=BlockCoordinate(tolerance=1e-8))
    np.testing.assert_allclose(
        np.outer(found.model["u"], found.model["v"]), target, atol=1e-6
    )


def kinked(blocks):
    x, y = blocks
    return jnp.abs(x - y) + 0.1 * (x + y) ** 2


def test_a_kink_across_the_blocks_stops_them_short():
    """At (1, 1) no single coordinate helps although the minimum is at 0."""
    inner = GradientDescent(1e-3, steps=300)
    found = minimize(
        kinked, (np.array(1.0), np.array(1.0)), solver=BlockCoordinate(inner, 20)
    )
    assert found.loss > 0.3
