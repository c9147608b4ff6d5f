"""Newton's method: second order, descending everywhere, out of saddles."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from likely import recipe
from likely.core import float64
from likely.families import Normal
from likely.models import Linear
from likely.solvers import Function, Newton, minimize
from likely.solvers.function import NO_ROWS
from likely.solvers.second_order.newton import shifted_step
from likely.typing import Batch


def bowl(x):
    return jnp.cosh(x[0]) + (x[0] - x[1]) ** 2 + jnp.exp(x[1])


def saddle(x):
    return x[0] ** 2 - x[1] ** 2 + x[1] ** 4 / 2


def two_wells(x):
    return (x["a"] ** 2 - 1) ** 2 + jnp.sum(x["b"] ** 2)


def test_a_step_is_the_minimum_of_the_second_order_polynomial():
    """X003-3: with the Hessian; the first-order polynomial has no minimum to go to."""
    x = np.array([0.3, -0.2])
    found = minimize(bowl, x, solver=Newton(1, path=True))
    with float64():
        g, H = jax.grad(bowl)(jnp.asarray(x)), jax.hessian(bowl)(jnp.asarray(x))
        step = -np.linalg.solve(H, g)
    np.testing.assert_allclose(found.trace.model[1] - x, step, rtol=1e-12)
    assert found.trace.step[0] == 1
    assert "step limit after 1 steps" in str(found.status)


def test_errors_are_squared():
    found = minimize(bowl, [2.0, -1.0], solver=Newton(path=True))
    path = found.trace.model[: int(found.status.steps) + 1]
    errors = np.linalg.norm(path - found.model, axis=1)
    tail = errors[(errors > 1e-9) & (errors < 0.3)]
    assert len(tail) >= 2
    assert (tail[1:] < 3 * tail[:-1] ** 2).all()
    assert found.status.converged


@pytest.mark.parametrize("start", [[1.0, 0.0], [0.5, 1e-14], [0.1, 0.1]])
def test_saddles_are_left(start):
    found = minimize(saddle, start, solver=Newton())
    np.testing.assert_allclose(np.abs(found.model), [0, 1], atol=1e-8)
    assert found.status.converged


def test_trees_of_parameters():
    start = {"a": 0.1, "b": np.ones((2, 2))}
    found = minimize(two_wells, start, solver=Newton())
    np.testing.assert_allclose(found.model["a"], 1.0, atol=1e-8)
    np.testing.assert_allclose(found.model["b"], 0.0, atol=1e-8)


def test_shifted_directions_descend(rng):
    A = rng.normal(size=(5, 5))
    for H in (
        A @ A.T,
        A + A.T,
        -A @ A.T,
        np.zeros((5, 5)),
        np.diag([1.0, -1, 0, 2, -3]),
    ):
        with float64():
            g = jnp.asarray(rng.normal(size=5))
            d = shifted_step(jnp.asarray(H))(g)
            assert g @ d < 0
    definite = A @ A.T + np.eye(5)
    with float64():
        d = shifted_step(jnp.asarray(definite))(g)
        np.testing.assert_allclose(d, -np.linalg.solve(definite, g), rtol=1e-8)


def test_reweighted_least_squares_is_newton_on_the_whole_hessian(rng):
    """The same minimum from η = AB as from automatic differentiation; not convex."""
    X, family = rng.normal(size=(40, 2)), Normal()
    y = rng.normal(X[:, 0], np.exp(0.5 * X[:, 1]))
    key = jax.random.key(0)
    with float64():
        model = Linear.zeros(2, family.n_eta)
        data = Batch(X, y, np.ones(40))
        fitted = recipe.fit(family, model, data, solver=Newton(), key=key)
        found = np.asarray(fitted.model.coefficients)
        assert fitted.solution.status.converged
        objective, data = recipe.objective_of(family, data)

    def plain(B):
        return objective(model.with_coefficients(B), data)[0]

    whole = minimize(plain, np.zeros_like(found), solver=Newton())
    np.testing.assert_allclose(found, whole.model, atol=1e-7)


def test_a_start_that_is_not_finite_is_a_sentence():
    found = minimize(lambda x: jnp.log(x[0]), [-1.0], solver=Newton())
    assert str(found.status).startswith("diverged at step 0: the loss became nan")


def test_tracing_through_minimize(rng):
    """Inside a transformation the arrays stay as they are."""
    starts = rng.normal(size=(4, 2))

    def end(x):
        return minimize(bowl, x, solver=Newton()).model

    with float64():
        found = jax.jit(jax.vmap(end))(jnp.asarray(starts))
        single = Newton().minimize(Function(bowl), jnp.zeros(2), NO_ROWS, key=None)
        np.testing.assert_allclose(found, np.tile(single.model, (4, 1)), atol=1e-8)
