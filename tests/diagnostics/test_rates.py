"""Bounds of first-order methods in every run of a sweep, and step limits, against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize

import likely as lk
from likely import families, models
from likely.core import InputError
from likely.diagnostics import convergence_rates, step_limits
from likely.diagnostics.rates.bounds import momentum_of
from likely.diagnostics.rates.constants import EXACT, ROWS, SEARCHED
from likely.models import Linear
from likely.solvers import Nesterov, minimize


def spectrum_matrix(values, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return (Q * values) @ Q.T


@settings(max_examples=25)
@given(
    st.lists(st.floats(1e-4, 1e3), min_size=3, max_size=3),
    st.booleans(),
    st.integers(0, 10_000),
)
def test_every_bound_holds_on_random_quadratics(values, singular, seed):
    values = np.array([0.0, *values[1:]]) if singular else np.array(values)
    start = np.random.default_rng(seed).normal(size=3)
    found = convergence_rates(spectrum_matrix(values, seed), start=start, n_steps=60)
    assert found.holds, found
    assert found.constants.origin == EXACT
    assert pytest.approx(values.max(), rel=1e-9) == found.constants.L
    assert (found.constants.mu == 0) == (
        singular or values.min() < 1e-10 * values.max()
    )
    # gradient descent goes by its closed form, (1 − λ/L)ᵗ along each eigenvector
    eigen, V = np.linalg.eigh(spectrum_matrix(values, seed))
    shrunk = (1 - eigen / eigen[-1])[None] ** np.arange(61)[:, None] * (V.T @ start)
    expected = 0.5 * (shrunk**2) @ np.maximum(eigen, 0)
    size = expected[0]
    np.testing.assert_allclose(
        found["gradient descent"].excess, expected, rtol=1e-6, atol=1e-12 * size
    )


@pytest.mark.parametrize(
    "kind",
    [
        "bernoulli",
        pytest.param("poisson", marks=pytest.mark.slow),
        pytest.param("huber", marks=pytest.mark.slow),
    ],
)
@settings(max_examples=12)
@given(st.floats(0.3, 2.0), st.integers(0, 10_000))
def test_every_bound_holds_on_linear_models(kind, scale, seed):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(40, 2))
    eta = X @ rng.normal(size=2) / (1 + scale)
    y = {
        "bernoulli": (eta + rng.logistic(size=40) > 0).astype(float),
        "poisson": rng.poisson(np.exp(np.clip(eta, -3, 2))).astype(float),
        "huber": eta + rng.standard_t(2, size=40),
    }[kind]
    family = {
        "bernoulli": families.Bernoulli(),
        "poisson": families.Poisson(),
        "huber": families.Huber(scale=1.0),
    }[kind]
    found = convergence_rates(Linear.zeros(2), X, y, family=family, n_steps=60)
    assert found.holds, found
    assert found.constants.origin == ROWS
    rate = found["gradient descent"]
    assert (np.diff(rate.excess) <= rate.rounding).all()  # 1/L: every step descends


def test_constants_of_a_logistic_regression_bound_its_hessians(rng):
    """μ ≤ every curvature ≤ L within the ball, and L ≤ ¼ λ_max(AᵀA/n)."""
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.logistic(size=40) > 0).astype(float)
    found = convergence_rates(
        Linear.zeros(2), X, y, family=families.Bernoulli(), n_steps=60
    )
    A = np.column_stack([X, np.ones(40)])
    top = np.linalg.eigvalsh(A.T @ A / 40)[-1]
    assert 0.25 * top * 1.002 >= found.constants.L
    best = optimize.minimize(
        lambda b: np.logaddexp(0, A @ b).sum() - y @ A @ b, np.zeros(3)
    ).x
    assert found.distance == pytest.approx(np.linalg.norm(best), rel=1e-4)
    for _ in range(200):
        v = rng.normal(size=3)
        phi = best + found.constants.radius * rng.uniform() * v / np.linalg.norm(v)
        p = 1 / (1 + np.exp(-A @ phi))
        values = np.linalg.eigvalsh((A.T * (p * (1 - p))) @ A / 40)
        assert values[0] >= found.constants.mu
        assert values[-1] <= found.constants.L
    assert "row by row" in found.verdict
    assert len(found.plot().axes) == 4


def test_the_sharp_bound_is_reached():
    """LD²/(4t + 2): Huber's function with its kink at D/(2t + 1), from D = 1, t = 10."""
    delta = 1 / 21

    def huber(x):
        a = jnp.abs(x[0])
        return jnp.where(a < delta, 0.5 * a**2, delta * a - 0.5 * delta**2)

    found = convergence_rates(huber, start=[1.0], n_steps=10)
    assert found.constants.origin == SEARCHED
    assert "no proof" in found.verdict
    assert pytest.approx(1) == found.constants.L
    rate = found["gradient descent"]
    assert rate.excess[10] == pytest.approx(1 / 42, rel=1e-9)
    assert rate.bounds["LD²/(4t+2), sharp"][10] == pytest.approx(1 / 42, rel=1e-6)


def test_slopes_are_those_of_theory():
    """diag(1, 25): gradient descent by log(24/25)², momentum by log β, both a step."""
    found = convergence_rates(np.diag([1.0, 25.0]), n_steps=59)
    assert found["gradient descent"].slope == pytest.approx(
        2 * np.log(24 / 25), rel=1e-9
    )
    eta, beta = momentum_of(found.constants)
    assert (eta, beta) == pytest.approx((4 / 36, (4 / 6) ** 2))
    assert found["momentum"].slope == pytest.approx(np.log(beta), rel=0.08)
    assert found["momentum"].steps_taken < found["gradient descent"].excess.size
    assert found["gradient descent"].steps_taken is None
    assert len(found.table()["bound"]) == 7
    with pytest.raises(InputError, match="there is no 'Adam'"):
        found["Adam"]


@pytest.mark.slow
def test_acceleration_is_of_second_order_where_descent_is_of_first():
    """On a chain of springs, long beside the steps, the slopes by log t are −½ and −2 or so."""
    n = 200
    A = 0.25 * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    start = np.r_[1.0, np.zeros(n - 1)]
    A[0, 0] = 0.25  # a free end, so that the lowest curvature is nearly 0
    found = convergence_rates(A, start=start, n_steps=100)
    t = np.arange(30, 101)

    def slope(name):
        return np.polyfit(np.log(t), np.log(found[name].excess[t]), 1)[0]

    assert found.holds
    assert slope("Nesterov, growing") < 1.8 * slope("gradient descent")
    assert (
        found["Nesterov, growing"].excess[100]
        < 0.1 * found["gradient descent"].excess[100]
    )


def test_the_accelerated_rule_is_the_one_of_its_formula():
    h = np.array([1.0, 25.0, 0.01])
    solver = Nesterov(1 / 25, form="accelerated", steps=30, path=True)
    found = minimize(lambda x: 0.5 * (h * x**2).sum(), np.ones(3), solver=solver)
    x, y = np.ones(3), np.ones(3)
    for t in range(30):
        ahead = y - h * y / 25
        x, y = ahead, ahead + t / (t + 3) * (ahead - x)
        np.testing.assert_allclose(found.trace.model[t + 1], y, rtol=1e-10)


def test_what_does_not_fit_is_refused_in_a_sentence(rng):
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    network = models.mlp((2, 3, 1), activation="tanh", key=jax.random.key(0))
    with pytest.raises(InputError, match="not convex"):
        convergence_rates(network, X, y, family=families.Normal(scale=1.0))
    with pytest.raises(InputError, match="not convex"):
        convergence_rates(np.diag([1.0, -1.0]))
    line = Linear.zeros(2)
    with pytest.raises(InputError, match="no minimum"):
        convergence_rates(line, X, (X[:, 0] > 0) * 1.0, family=families.Bernoulli())
    with pytest.raises(InputError, match="square and symmetric"):
        convergence_rates(np.ones((2, 3)))
    with pytest.raises(InputError, match="needs a start"):
        convergence_rates(jnp.sum)
    with pytest.raises(InputError, match="3 finite weights"):
        convergence_rates(np.eye(3), start=[1.0])
    with pytest.raises(InputError, match="n_steps"):
        convergence_rates(np.eye(2), n_steps=1)


@pytest.mark.slow
def test_weights_are_repetitions_and_absent_rows_do_not_count(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    w = np.r_[np.full(5, 2.0), np.ones(10), np.zeros(5)]
    family = families.Normal(scale=1.0)
    line = Linear.zeros(2)
    dirty = X.copy()
    dirty[w == 0] = np.nan
    weighted = convergence_rates(line, dirty, y, w, family=family, n_steps=20)
    rows = np.repeat(np.arange(20), w.astype(int))
    repeated = convergence_rates(line, X[rows], y[rows], family=family, n_steps=20)
    assert pytest.approx(repeated.constants.L) == weighted.constants.L
    a, b = (r["gradient descent"].excess for r in (weighted, repeated))
    np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-15)


# step limits --------------------------------------------------------------------------


def test_steps_beyond_2_over_L_grow_by_their_factor():
    found = step_limits(np.diag([1.0, 25.0]), factors=(0.5, 1.5, 1.99, 2.1, 3.0))
    assert pytest.approx(25) == found.L
    np.testing.assert_allclose(found.measured, found.predicted, atol=1e-10)
    assert found.fates == ["converges"] * 3 + ["diverges"] * 2
    np.testing.assert_allclose(found.rising, [0, 0, 0, 1, 1])
    exact = step_limits(np.diag([1.0, 25.0]), factors=(2.0,), n_steps=100)
    assert exact.fates == ["stays"]
    assert abs(exact.measured[0]) == pytest.approx(1)
    assert len(found.plot().axes) == 2


@pytest.mark.slow
def test_a_logistic_regression_leaves_without_diverging(rng):
    """Its gradient is bounded: beyond 2/L it swings between two places for ever."""
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.logistic(size=60) > 0).astype(int)
    model = lk.LogisticRegression(alpha=0.0).fit(X, y)
    found = step_limits(model, X, y, factors=(0.5, 1.5, 2.5))
    assert found.fates == ["converges", "converges", "leaves"]
    np.testing.assert_allclose(found.measured, found.predicted, atol=2e-3)
    assert found.excess[2, -1] > 1e3 * found.start


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_networks_too_and_weights_that_are_no_minimum(rng):
    X = rng.normal(size=(60, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=60)
    model = lk.MLPRegressor(
        (5,), "tanh", solver=lk.solvers.LBFGS(4000, 1e-10), alpha=0.0
    )
    model.fit(X, y)
    found = step_limits(model, X, y, factors=(0.5, 1.5, 1.9, 2.1), distance=1e-4)
    np.testing.assert_allclose(found.measured, found.predicted, atol=0.02)
    assert "leaves" in found.fates[3] or found.sharpness[3] < found.L
    raw = models.mlp((2, 3, 1), activation="tanh", key=jax.random.key(0))
    with pytest.raises(InputError, match="not at a minimum"):
        step_limits(raw, X, y, family=families.Normal(scale=1.0))
