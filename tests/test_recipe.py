"""The recipe with unlike models: one `fit` for all of them."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from likely import recipe
from likely.core import InputError, float64
from likely.families import Bernoulli, Categorical, Normal, Poisson
from likely.models import Linear, Null, Shared, mlp
from likely.objectives import GaussianPrior
from likely.solvers import LBFGS, Adam, LeastSquares, Newton
from likely.typing import Batch


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 3))
    y = X @ np.array([1.0, -2.0, 0.5]) + 0.3 + 0.7 * rng.normal(size=60)
    return Batch(X, y, np.ones(60))


def test_null_model_is_the_marginal_maximum(data, getkey):
    with float64():
        start = Null(jnp.zeros(2))
        fit = recipe.fit(Normal(), start, data, solver=LBFGS(), key=getkey())
        marginal = Normal().marginal(jnp.asarray(data.y), jnp.asarray(data.w))
        np.testing.assert_allclose(fit.model.bias, marginal, atol=1e-7)


@pytest.mark.parametrize("solver", [LeastSquares(), Newton(), LBFGS()])
def test_ridge_by_every_solver_is_the_closed_form(solver, data, getkey):
    """(XᵀX + αI)⁻¹Xᵀy, the minimiser of ½‖y−Xw‖² + ½α‖w‖²."""
    with float64():
        fit = recipe.fit(
            Normal(scale=1.0),
            Linear.zeros(3, 1, bias=False),
            data,
            prior=GaussianPrior(2.0),
            solver=solver,
            key=getkey(),
        )
        X, y, _ = data
        closed = np.linalg.solve(X.T @ X + 2.0 * np.eye(3), X.T @ y)
        np.testing.assert_allclose(fit.model.weight[:, 0], closed, atol=1e-7)
        assert bool(fit.solution.status.converged)


def test_learned_scale_is_the_mean_squared_residual(data, getkey):
    with float64():
        model = Shared(Linear.zeros(3), jnp.zeros(1))
        fit = recipe.fit(Normal(), model, data, solver=LBFGS(), key=getkey())
        A = np.c_[data.x, np.ones(60)]
        residual = data.y - A @ np.linalg.lstsq(A, data.y)[0]
        sigma = np.exp(float(fit.model.tail[0]))
        np.testing.assert_allclose(sigma, np.sqrt(np.mean(residual**2)), rtol=1e-6)


def test_heteroscedastic_scale_is_recovered(rng, getkey):
    x = rng.uniform(-1, 1, size=(4000, 1))
    y = 2 * x[:, 0] + np.exp(0.5 + x[:, 0]) * rng.normal(size=4000)
    with float64():
        data = Batch(x, y, np.ones(4000))
        fit = recipe.fit(
            Normal(), Linear.zeros(1, 2), data, solver=LBFGS(), key=getkey()
        )
    np.testing.assert_allclose(fit.model.weight, [[2.0, 1.0]], atol=0.15)
    np.testing.assert_allclose(fit.model.bias, [0.0, 0.5], atol=0.1)


def test_poisson_and_classes_reach_a_stationary_point(rng, getkey):
    X = rng.normal(size=(60, 3))
    counts = rng.poisson(np.exp(X[:, 0])).astype(float)
    classes = rng.integers(0, 3, size=60).astype(float)
    with float64():
        for family, y in ((Poisson(), counts), (Categorical(3), classes)):
            start = Linear.zeros(3, family.n_eta)
            for solver in (Newton(), LBFGS()):
                data = Batch(X, y, np.ones(60))
                fit = recipe.fit(family, start, data, solver=solver, key=getkey())
                assert float(fit.solution.status.value) < 1e-7


def test_a_network_with_running_state_learns_and_is_used_without_batches(rng, getkey):
    X = rng.normal(size=(256, 2)).astype(np.float32)
    y = (np.hypot(*X.T) < 1.2).astype(np.float32)
    model = mlp((2, 16, 16, 1), norm="batch", key=getkey())
    solver = Adam(rate=0.02, steps=200, batch_size=64)
    data = Batch(X, y, np.ones(256, np.float32))
    fit = recipe.fit(Bernoulli(), model, data, solver=solver, key=getkey())
    moved = fit.solution.state[1].mean
    assert not np.allclose(moved, 0)
    assert np.mean((fit(X).probs[:, 1] > 0.5) == y) > 0.95
    one = fit(X[:1]).probs
    np.testing.assert_allclose(one, fit(X).probs[:1], atol=1e-6)


def test_same_key_same_bits(rng, getkey):
    X = rng.normal(size=(64, 2)).astype(np.float32)
    data = Batch(X, X[:, 0], np.ones(64, np.float32))
    model = mlp((2, 4, 1), key=getkey())

    def loss():
        solver = Adam(rate=0.01, steps=20, batch_size=16)
        key = jax.random.key(7)
        fit = recipe.fit(Normal(1.0), model, data, solver=solver, key=key)
        return np.asarray(fit.solution.trace.loss)

    np.testing.assert_array_equal(loss(), loss())


def test_predictive_is_right_outside_the_scope_and_in_another_thread(data, getkey):
    with float64():
        fit = recipe.fit(
            Normal(scale=0.7),
            Linear.zeros(3),
            data,
            solver=LeastSquares(),
            key=getkey(),
        )
    predictive = fit(data.x)
    mean = data.x @ fit.model.weight[:, 0] + np.asarray(fit.model.bias)
    answers = {}

    def ask():
        answers["log_prob"] = predictive.log_prob(data.y)
        answers["quantile"] = predictive.quantile(0.9)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    oracle = stats.norm(mean, 0.7)
    np.testing.assert_allclose(answers["log_prob"], oracle.logpdf(data.y), rtol=1e-12)
    np.testing.assert_allclose(answers["quantile"], oracle.ppf(0.9), rtol=1e-12)
    np.testing.assert_allclose(predictive.mean, mean, rtol=1e-12)


def test_what_is_shown_of_a_fit(data, getkey):
    """Sentences and numbers, not the types of arrays; inside a program the types."""
    with float64():
        fit = recipe.fit(
            Normal(scale=1.0), Linear.zeros(3), data, solver=LBFGS(), key=getkey()
        )
    assert repr(fit).startswith("Fit of Normal: Solution of Linear, loss 1.")
    assert repr(fit.solution.status).startswith("Status: converged after ")
    trace = fit.solution.trace
    n = int(np.isfinite(trace.loss).sum())
    ends = f"loss {trace.loss[0]:.4g} to {trace.loss[n - 1]:.4g}"
    assert repr(trace).startswith(f"Trace: {n} points; {ends}, gradient ")
    several = jax.tree.map(lambda a: np.stack([a] * 12), fit.solution)
    assert repr(several.status).startswith("Status of 12 runs:\n  0: converged after")
    assert repr(several.status).endswith("  ...")
    assert repr(several.trace).startswith(f"Trace: 12 runs, the first with {n} points")
    assert "on average" in repr(several)
    shown = []
    jax.eval_shape(lambda s: shown.append(repr(s)), fit.solution)
    assert "Status(reason=" in shown[0]


@pytest.mark.parametrize(
    ("family", "change", "words"),
    [
        (Normal(1.0), {"y": np.full(60, np.nan)}, "y contains NaN"),
        (Normal(1.0), {"x": np.full((60, 3), np.inf)}, "X contains infinity"),
        (Normal(1.0), {"x": np.ones((59, 3))}, "X has 59 rows"),
        (Normal(1.0), {"w": np.zeros(60)}, "sum to zero"),
        (Poisson(), {}, "Poisson needs counts"),
        (Poisson(), {"y": np.full(60, 0.5)}, "0.5 in row 0"),
        (Bernoulli(), {"y": np.arange(60.0)}, "2.0 in row 2"),
        (Categorical(3), {"y": np.arange(60.0)}, "3.0 in row 3"),
    ],
)
def test_bad_data_gets_a_sentence_before_tracing(family, change, words, data, getkey):
    traced = []

    class Spy(Linear):
        def __call__(self, X, **_):
            traced.append(1)
            return super().__call__(X)

    model = Spy(jnp.zeros((3, family.n_eta)), jnp.zeros(family.n_eta))
    with pytest.raises(InputError, match=words):
        recipe.fit(family, model, data._replace(**change), solver=LBFGS(), key=getkey())
    assert not traced
