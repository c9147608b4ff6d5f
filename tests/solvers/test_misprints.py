"""For each rule that lecture notes commonly misprint: ours holds, the printed one fails."""

import jax.numpy as jnp
import numpy as np
import pytest

from likely.solvers import (
    AdaGrad,
    Adam,
    GradientDescent,
    Minibatches,
    Momentum,
    Nesterov,
    StepDecay,
)
from likely.solvers.function import minimize

H = np.array([1.0, 25.0])


def valley(x):
    return 0.5 * jnp.sum(H * x**2)


def steep(x):
    return 100.0 * x[0] + 0.01 * x[1]


def rise(x):
    return jnp.sum(x)


def parabola(x):
    return jnp.sum(x**2)


def points(f, x0, solver):
    """The points a solver visits, the start first."""
    found = minimize(f, np.asarray(x0, float), solver=solver)
    return found.trace.model[: int(found.status.steps) + 1]


def test_gradient_descent_subtracts():
    """X003-2: θ − ν, where the minus was lost; X000-11: and ν has the rate in it."""
    path = points(valley, [1, 1], GradientDescent(0.03, steps=1, path=True))
    np.testing.assert_allclose(path[1], 1 - 0.03 * H)
    printed = np.ones(2) - H  # no rate
    assert valley(printed) > valley(np.ones(2))


def test_unit_steps_never_settle():
    """X000-9, X002-3: x² from 1 with steps of 0.3 is at −0.2 after 1000, swinging."""
    unit = points(parabola, [1], GradientDescent(0.3, "unit", steps=1000, path=True))
    np.testing.assert_allclose(np.abs(unit[-1]), [0.2], atol=1e-9)
    np.testing.assert_allclose(np.abs(unit[-1] - unit[-2]), [0.3], atol=1e-9)
    plain = points(parabola, [1], GradientDescent(0.3, steps=1000, path=True))
    np.testing.assert_allclose(plain[-1], 0, atol=1e-12)


def hill(x):
    """Slope 1 at 0 and 2 at −0.1."""
    return jnp.sum(x - 5 * x**2)


def test_momentum_keeps_the_rate_of_each_gradient():
    """X002-4: with η = (.1, .01) the second change is −.110; one η for both: −.029."""
    rates = StepDecay(0.1, every=1, factor=0.1)
    path = points(hill, [0], Momentum(rates, 0.9, steps=2, path=True))
    np.testing.assert_allclose(path[1], -0.1 * 1)
    np.testing.assert_allclose(path[2] - path[1], -(0.01 * 2 + 0.9 * 0.1 * 1))
    np.testing.assert_allclose(path[2] - path[1], -0.110)
    np.testing.assert_allclose(-(0.01 * 2 + 0.9 * 0.01 * 1), -0.029)  # as printed


def nesterov(sign, steps=200, eta=0.03, gamma=0.9):
    """θ and the points where the gradient is taken, θ + sign·γν."""
    theta, nu, seen = np.ones(2), np.zeros(2), []
    for _ in range(steps):
        ahead = theta + sign * gamma * nu
        seen.append(ahead)
        nu = gamma * nu + eta * H * ahead
        theta = theta - nu
    return theta, np.array(seen)


def test_nesterov_looks_ahead_and_not_back():
    """X003-4: θ − γν is 1e-7 after 200 steps; the printed θ + γν diverges."""
    theta, ahead = nesterov(-1)
    path = points(valley, [1, 1], Nesterov(0.03, steps=200, path=True))
    np.testing.assert_allclose(path[:200], ahead, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(np.linalg.norm(theta), 1.2e-7, rtol=0.05)
    assert np.linalg.norm(path[-1]) < 1e-6
    printed, _ = nesterov(+1)
    assert np.linalg.norm(printed) > 1e12


def adam(steps, corrected, rate=1.0, b1=0.9, b2=0.999):
    """Steps on a constant gradient of 1, by either formula."""
    m = s = 0.0
    taken = []
    for t in range(1, steps + 1):
        m, s = b1 * m + (1 - b1), b2 * s + (1 - b2)
        if corrected:
            step = (m / (1 - b1**t)) / np.sqrt(s / (1 - b2**t))
        else:  # as printed: m/(1−β₁) and the uncorrected √s
            step = (m / (1 - b1)) / np.sqrt(s)
        taken.append(rate * step)
    return np.array(taken)


def test_adam_corrects_by_powers_of_the_decay():
    """X003-5: the first step is 1 η, printed 31.6 η; late 1 η, printed 10.03 η."""
    path = points(rise, [0], Adam(0.5, steps=5000, path=True))
    ours = -np.diff(path[:, 0]) / 0.5
    np.testing.assert_allclose(ours, adam(5000, True)[: len(ours)], rtol=1e-6)
    np.testing.assert_allclose(ours, 1.0, rtol=1e-6)
    printed = adam(5000, False)
    np.testing.assert_allclose(printed[[0, -1]], [31.6, 10.03], rtol=2e-3)


def test_adagrad_has_a_root_and_squares():
    """X000-13, X004-30: first steps of 1 and 1 for slopes 100 and .01, not .01 and 100."""
    path = points(steep, [0, 0], AdaGrad(1.0, steps=3, path=True))
    np.testing.assert_allclose(path[1], [-1, -1], rtol=1e-6)
    np.testing.assert_allclose(path[3] - path[2], -1 / np.sqrt([3, 3]), rtol=1e-6)
    g = np.array([100.0, 0.01])
    np.testing.assert_allclose(g / (1e-8 + g**2), [0.01, 99.99], rtol=1e-4)  # printed


def test_twice_the_inverse_curvature_does_not_converge():
    """X004-26: (L/2)x² with η = 2/L is at −1 after 101 steps; η = 1/L is done in one."""
    L = 25.0
    at_limit = points(valley, [0, 1], GradientDescent(2 / L, steps=101, path=True))
    np.testing.assert_allclose(at_limit[-1], [0, -1], rtol=1e-9)
    good = points(valley, [0, 1], GradientDescent(1 / L, steps=1, path=True))
    np.testing.assert_allclose(good[-1], 0, atol=1e-15)


def printed_least_squares(X, y, rate, steps):
    """`w += rate * X.T @ (y - X @ w)` with w of shape (c, 1)."""
    w = np.zeros((X.shape[1], 1))
    for _ in range(steps):
        w = w + rate * X.T @ (y - X @ w)
    return w


def test_least_squares_does_not_broadcast(rng):
    """X002-12: (c, 1) weights and (n,) targets make (c, n); unscaled steps explode."""
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    assert printed_least_squares(X, y, 1e-3, 1).shape == (4, 30)
    long = rng.normal(size=(4000, 4))
    flat = printed_least_squares(long, long[:, :1], 1e-3, 60)
    assert np.linalg.norm(flat) > 1e20

    def mean_square(w):
        return 0.5 * jnp.mean((y - X @ w) ** 2)

    found = minimize(mean_square, np.zeros(4), solver=GradientDescent(0.5, steps=500))
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    assert found.model.shape == (4,)
    np.testing.assert_allclose(found.model, exact, rtol=1e-6)


@pytest.mark.parametrize(("n", "r"), [(12, 4), (100, 5)])
def test_updates_in_an_epoch_are_n_over_r(n, r):
    """X002-23: n/r is the number of batches b, not of epochs, which are chosen freely."""
    assert Minibatches.of(n, r).count == n // r
