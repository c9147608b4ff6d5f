"""p-values are uniform under the null, and intervals cover what they promise."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import likely as lk
from likely.core import float64
from likely.estimators.linear.glm import LinearLearner
from likely.estimators.linear.normal import NormalLinearLearner
from likely.families import Bernoulli, Normal, Poisson
from likely.inference import curvature, information, inverse
from likely.solvers import Newton
from likely.typing import Batch

SETS, N, D = 2000, 1000, 5
TRUTH = np.array([0.5, -0.3, 0.2, 0.0, 0.0])  # the last two have no effect


def linear(key, eta):
    return eta + jax.random.normal(key, eta.shape)


def logistic(key, eta):
    return jax.random.bernoulli(key, jax.nn.sigmoid(eta)).astype(eta.dtype)


def poisson(key, eta):
    return jax.random.poisson(key, jnp.exp(eta)).astype(eta.dtype)


CASES = {
    "linear": (linear, NormalLinearLearner(False, True), Normal(1.0)),
    "logistic": (logistic, LinearLearner(Bernoulli(), Newton(), True), Bernoulli()),
    "poisson": (poisson, LinearLearner(Poisson(), Newton(), True), Poisson()),
}


@eqx.filter_jit
def statistics(draw, learner, family, keys):
    """b/√C of a column without effect, for every data set, in one program."""

    def one(key):
        first, second, third = jax.random.split(key, 3)
        X = jax.random.normal(first, (N, D))
        y, w = draw(second, X @ jnp.asarray(TRUTH) + 0.2), jnp.ones(N)
        phi = learner.learn(third, {"alpha": jnp.zeros(())}, Batch(X, y, w))
        eta = phi.model(X)[0]
        A = phi.model.design(X)
        C = inverse(information(A, curvature(family, eta, y).hessian, w))
        s2 = jnp.sum((y - eta[:, 0]) ** 2) / (N - D - 1)
        C = C * s2 if isinstance(family, Normal) else C
        return phi.model.weight[-1, 0] / jnp.sqrt(C[D - 1, D - 1])

    return jax.lax.map(one, keys, batch_size=100)


@pytest.mark.parametrize(
    "name",
    [n if n == "linear" else pytest.param(n, marks=pytest.mark.slow) for n in CASES],
)
def test_p_values_are_uniform_under_the_null(name):
    with float64():
        keys = jax.random.split(jax.random.key(5), SETS)
        z = np.asarray(statistics(*CASES[name], keys))
    null = stats.t(N - D - 1) if name == "linear" else stats.norm()
    p = 2 * null.sf(np.abs(z))
    assert stats.kstest(p, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_the_program_is_the_summary(rng):
    """What is simulated above is what `summary()` reports."""
    X = rng.normal(size=(N, D))
    y = rng.poisson(np.exp(X @ TRUTH)).astype(float)
    found = lk.PoissonRegressor().fit(X, y).summary()
    A, mean = np.column_stack([np.ones(N), X]), np.exp(found.coefficients[0])
    mean = np.exp(A @ found.coefficients)
    C = np.linalg.inv((A * mean[:, None]).T @ A)
    np.testing.assert_allclose(found.estimate.covariance, C, rtol=1e-8)


def gamma(rng, mean):
    return mean * rng.gamma(2.0, 0.5, size=len(mean))


COVERAGE = {
    "linear": (lk.LinearRegression, lambda rng, m: m + rng.normal(size=len(m)), 30, 60),
    "gamma": (lk.GammaRegressor, lambda rng, m: gamma(rng, np.exp(m)), 150, 40),
    "poisson": (lk.PoissonRegressor, lambda rng, m: rng.poisson(np.exp(m + 1)), 60, 30),
    "negative binomial": (
        lk.NegativeBinomialRegressor,
        lambda rng, m: rng.poisson(gamma(rng, np.exp(m + 1))),
        150,
        8,
    ),
}
CONTINUOUS = ("linear", "gamma")
NEW = 100


@pytest.mark.slow
@pytest.mark.parametrize("name", COVERAGE)
def test_intervals_cover(name):
    """New rows lie in the 90 % interval as often as promised; of counts, at least."""
    make, draw, n, fits = COVERAGE[name]
    rng = np.random.default_rng(3)
    shares = []
    for _ in range(fits):
        X = rng.normal(size=(n + NEW, 3))
        y = draw(rng, X @ TRUTH[:3]).astype(float)
        low, high = make().fit(X[:n], y[:n]).predict_interval(X[n:], coverage=0.9)
        shares.append(np.mean((low <= y[n:]) & (y[n:] <= high)))
    mean, error = np.mean(shares), np.std(shares, ddof=1) / np.sqrt(fits)
    band = stats.norm.ppf(1 - 0.005 / len(CONTINUOUS)) * error  # family-wise 1 %
    assert mean > 0.9 - band
    assert name not in CONTINUOUS or mean < 0.9 + band


@pytest.mark.slow
@pytest.mark.parametrize("how", ["delta", "bootstrap"])
def test_uncertainty_widens_intervals(how, rng):
    X = rng.normal(size=(25, 2))
    y = rng.poisson(20 * np.exp(X[:, 0])).astype(float)
    model = lk.PoissonRegressor().fit(X, y)
    far = np.array([[3.0, 3.0]])
    plugged = np.diff(model.predict_interval(far, uncertainty="none"), axis=0)
    wider = np.diff(model.predict_interval(far, uncertainty=how), axis=0)
    assert wider > plugged


@pytest.mark.slow
def test_bootstrap_errors_are_near_those_of_the_model(rng):
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + rng.normal(size=300)
    model = lk.LinearRegression().fit(X, y)
    some = model.summary(errors="bootstrap", n_resamples=400).standard_errors
    np.testing.assert_allclose(some, model.summary().standard_errors, rtol=0.25)
    uneven = X[:, 0] + (0.1 + np.abs(X[:, 0])) * rng.normal(size=300)
    model = lk.LinearRegression().fit(X, uneven)
    robust = model.summary(errors="HC3").standard_errors
    boot = model.summary(errors="bootstrap", n_resamples=400).standard_errors
    np.testing.assert_allclose(boot, robust, rtol=0.25)
    assert robust[1] > 1.3 * model.summary().standard_errors[1]
