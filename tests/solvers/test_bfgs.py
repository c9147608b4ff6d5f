"""BFGS and L-BFGS: the secant equation, SciPy's path, the paths that traces keep."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from likely.core import InputError, float64
from likely.solvers import BFGS, LBFGS, Newton, SteepestDescent, minimize
from likely.solvers.second_order.bfgs import InverseHessian
from likely.solvers.second_order.lbfgs import _two_loop
from likely.solvers.second_order.line_search import Point


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def high_up(x):
    return 1e6 + jnp.sum(jnp.cos(x))


def point(x, g):
    x, g = jnp.asarray(x), jnp.asarray(g)
    return Point(x, jnp.zeros(()), g, None)


def pairs(rng, n):
    """Points and gradients of a quadratic."""
    A = rng.normal(size=(3, 3))
    H = A @ A.T + np.eye(3)
    x = rng.normal(size=(n, 3))
    return H, [point(v, H @ v) for v in x]


def test_the_update_satisfies_the_secant_equation(rng):
    with float64():
        H, points = pairs(rng, 6)
        solver = BFGS()
        memory = solver.init(points[0].x)
        for old, new in zip(points[:-1], points[1:], strict=True):
            memory = solver.learn(memory, old, new)
            s, y = new.x - old.x, new.g - old.g
            np.testing.assert_allclose(memory.C @ y, s, rtol=1e-9)
            np.testing.assert_allclose(memory.C, memory.C.T, atol=1e-12)
            assert np.linalg.eigvalsh(memory.C)[0] > 0


def test_pairs_of_negative_curvature_change_nothing():
    with float64():
        solver, old, new = BFGS(), point([0.0, 1], [0.0, 1]), point([1.0, 1], [-1.0, 1])
        memory = InverseHessian(2 * jnp.eye(2), jnp.asarray(False))
        learned = solver.learn(memory, old, new)
    np.testing.assert_array_equal(learned.C, memory.C)


def test_limited_memory_is_bfgs_as_long_as_it_reaches(rng):
    with float64():
        _, points = pairs(rng, 5)
        whole, limited = BFGS(), LBFGS(memory=8)
        C, P = whole.init(points[0].x), limited.init(points[0].x)
        first = None
        for old, new in zip(points[:-1], points[1:], strict=True):
            C, P = whole.learn(C, old, new), limited.learn(P, old, new)
            s, y = new.x - old.x, new.g - old.g
            first = (s @ y) / (y @ y) if first is None else first
        g = jnp.asarray(rng.normal(size=3))
        # the two scale the identity they start from by their first and their last pair
        scaled = P._replace(count=jnp.asarray(4))
        start = (s @ y) / (y @ y)
        C_again = InverseHessian(jnp.eye(3) * start, jnp.asarray(False))
        for old, new in zip(points[:-1], points[1:], strict=True):
            C_again = whole.learn(C_again, old, new)
        np.testing.assert_allclose(_two_loop(scaled, g), C_again.C @ g, rtol=1e-9)


@pytest.mark.parametrize(
    "solver", [BFGS(), BFGS(search="golden"), LBFGS(search="backtracking")]
)
def test_rosenbrock_in_ten_dimensions(solver):
    found = minimize(rosenbrock, np.zeros(10), solver=solver)
    np.testing.assert_allclose(found.model, 1.0, atol=1e-6)
    assert found.status.converged
    peer = scipy.optimize.minimize(
        scipy.optimize.rosen, np.zeros(10), jac=scipy.optimize.rosen_der, method="BFGS"
    )
    assert found.status.steps < 2 * peer.nit


@pytest.mark.parametrize("solver", [BFGS(path=True), Newton(path=True)])
def test_the_path_is_kept_on_request(solver):
    found = minimize(rosenbrock, [-1.2, 1.0], solver=solver)
    steps, trace = int(found.status.steps), found.trace
    assert trace.model.shape == (len(trace.loss), 2)
    np.testing.assert_array_equal(trace.model[0], [-1.2, 1.0])
    np.testing.assert_array_equal(trace.model[steps], found.model)
    assert np.isnan(trace.model[steps + 1 :]).all()
    losses = [scipy.optimize.rosen(x) for x in trace.model[: steps + 1]]
    np.testing.assert_allclose(trace.loss[: steps + 1], losses, rtol=1e-9, atol=1e-18)
    slopes = [np.abs(scipy.optimize.rosen_der(x)).max() for x in trace.model[:steps]]
    np.testing.assert_allclose(trace.gradient[:steps], slopes, rtol=1e-6, atol=1e-9)
    assert (trace.step[:steps] > 0).all()
    assert np.isnan(trace.step[steps])


def test_no_path_unless_asked():
    assert minimize(rosenbrock, [-1.2, 1.0]).trace.model is None


def test_the_limit_of_rounding_is_a_reason():
    found = minimize(high_up, [2.0, 4.0], solver=BFGS(tolerance=0.0))
    assert found.status.converged
    assert "limit of rounding" in str(found.status)


def test_the_step_limit_is_a_reason():
    found = minimize(rosenbrock, [-1.2, 1.0], solver=LBFGS(5))
    assert str(found.status).startswith("stopped at the step limit after 5 steps")
    assert not found.status.converged


def test_wrong_settings_are_sentences():
    with pytest.raises(InputError, match="search is 'newton'; give one of"):
        SteepestDescent(search="newton")
