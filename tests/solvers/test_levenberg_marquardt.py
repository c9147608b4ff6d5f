"""Levenberg-Marquardt: hard curves from far away, units, penalties, lost parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from likely import recipe
from likely.core import float64
from likely.families import Normal
from likely.models import mlp
from likely.objectives import GaussianPrior
from likely.solvers import LBFGS, LevenbergMarquardt, fit_curve
from likely.typing import Batch


def growth(b, x):
    return b[0] * (1 - jnp.exp(-b[1] * x))


def arrhenius(b, x):
    return b[0] * jnp.exp(b[1] / (x + b[2]))


def magnetism(b, x):
    return b[0] * (b[1] + x) ** (-1 / b[2])


CURVES = {
    # function: x, true parameters, noise, starts from far away and from near
    growth: (
        np.array([1.0, 2, 3, 5, 7, 10]),
        [214.0, 0.55],
        15.0,
        [[1, 1], [100, 0.75]],
    ),
    arrhenius: (
        np.arange(50.0, 126, 5),
        [0.0056, 6180.0, 345.0],
        2.5,
        [[2, 400000, 25000], [0.02, 4000, 250]],
    ),
    magnetism: (
        7.45 + 4.65 * np.linspace(0, 1, 60) ** 0.3,
        [-2520.0, 46.7, 0.93],
        2e-3,
        [[-2000, 50, 0.8], [-1500, 45, 0.85]],
    ),
}


def observed(f, rng):
    x, truth, noise, starts = CURVES[f]
    with float64():
        return x, np.asarray(f(np.array(truth), x)) + noise * rng.normal(size=x.shape)


@pytest.mark.parametrize("f", CURVES)
def test_hard_curves_from_far_and_near(f, rng):
    """Both starts end in the minimum next to the truth, to at least seven digits."""
    x, y = observed(f, rng)
    _, truth, noise, starts = CURVES[f]
    near = fit_curve(f, x, y, truth)
    assert near.solution.status.converged
    for start in starts:
        found = fit_curve(f, x, y, start)
        np.testing.assert_allclose(found.parameters, near.parameters, rtol=1e-7)
        assert found.solution.status.converged
    np.testing.assert_allclose(near.residual_deviation, noise, rtol=0.7)


def test_agrees_with_scipy(rng):
    x, y = observed(growth, rng)
    w = np.array([1.0, 2, 1, 0, 3, 1])
    found = fit_curve(growth, x, y, [100.0, 0.75], w=w)
    rows = np.repeat(np.arange(6), w.astype(int))
    peer, covariance = scipy.optimize.curve_fit(
        lambda x, a, b: a * (1 - np.exp(-b * x)), x[rows], y[rows], [100.0, 0.75]
    )
    np.testing.assert_allclose(found.parameters, peer, rtol=1e-6)
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(found.standard_deviations, spread, rtol=1e-4)


def test_units_do_not_matter(rng):
    """Parameters in other units take the same path."""
    x, y = observed(growth, rng)
    units = np.array([1e6, 1e-9])

    def scaled(b, x):
        return growth(b * units, x)

    plain = fit_curve(growth, x, y, [100.0, 0.75]).solution
    found = fit_curve(scaled, x, y, np.array([100.0, 0.75]) / units).solution
    steps = int(plain.status.steps)
    assert abs(int(found.status.steps) - steps) <= 1
    np.testing.assert_allclose(
        found.trace.loss[: steps - 2], plain.trace.loss[: steps - 2], rtol=1e-8
    )


def test_a_parameter_without_influence_is_reported(rng):
    x, y = observed(growth, rng)
    found = fit_curve(growth, x, y, [100.0, 900.0]).solution
    assert not found.status.converged
    assert "the data there do not determine them" in str(found.status)


def test_the_step_limit_and_the_start_are_reasons(rng):
    x, y = observed(growth, rng)
    short = fit_curve(growth, x, y, [1.0, 1.0], solver=LevenbergMarquardt(2)).solution
    assert str(short.status).startswith("stopped at the step limit after 2 steps")
    lost = fit_curve(growth, x, y, [1.0, np.nan]).solution
    assert str(lost.status).startswith("diverged at step 0")


def test_the_path_is_kept_on_request(rng):
    x, y = observed(growth, rng)
    solver = LevenbergMarquardt(100, path=True)
    found = fit_curve(growth, x, y, [100.0, 0.75], solver=solver)
    trace, steps = found.solution.trace, int(found.solution.status.steps)
    path = trace.model.parameters[: steps + 1]
    np.testing.assert_array_equal(path[0], [100, 0.75])
    np.testing.assert_array_equal(path[-1], found.parameters)
    residuals = y - path[:, :1] * (1 - np.exp(-path[:, 1:] * x))
    losses = 0.5 * np.mean(residuals**2, axis=1)
    np.testing.assert_allclose(trace.loss[: steps + 1], losses, rtol=1e-9)


def test_a_network_with_a_penalty(rng):
    """Any model under an objective quadratic in η; L-BFGS finds the same minimum."""
    X = rng.uniform(-1, 1, size=(40, 1))
    y = np.sin(2 * X[:, 0])
    with float64():
        data, prior = Batch(X, y, np.ones(40)), GaussianPrior(0.1, on="all")
        model = mlp((1, 3, 1), activation=jnp.tanh, key=jax.random.key(1))
        model = jax.tree.map(
            lambda a: jnp.asarray(a, float) if isinstance(a, jax.Array) else a, model
        )

        def fit(solver):
            key = jax.random.key(0)
            found = recipe.fit(
                Normal(1.0), model, data, prior=prior, solver=solver, key=key
            )
            return found.solution

        ours = fit(LevenbergMarquardt())
        peer = fit(LBFGS(2000, 1e-9))
    assert ours.status.converged, str(ours.status)
    np.testing.assert_allclose(ours.loss, peer.loss, rtol=1e-8)
    assert ours.status.steps <= peer.status.steps


def test_a_batch_of_starts_is_the_single_runs(rng):
    x, y = observed(growth, rng)
    starts = rng.uniform([50, 0.2], [300, 1.0], size=(8, 2))
    with float64():
        batch = jax.jit(jax.vmap(lambda b: end(jnp.asarray(x), jnp.asarray(y), b)))(
            jnp.asarray(starts)
        )
    single = [fit_curve(growth, x, y, start).parameters for start in starts]
    np.testing.assert_allclose(batch, single, rtol=1e-8)


def end(x, y, start):
    from likely.solvers import Curve, SumOfSquares

    data = Batch(x, y, jnp.ones(len(y)))
    model = Curve(start, growth)
    solver = LevenbergMarquardt()
    return solver.minimize(SumOfSquares(), model, data, key=None).model.parameters
