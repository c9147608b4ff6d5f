"""ISTA and FISTA: exact zeros, against scikit-learn and coordinate descent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression

from likely.core import float64, to_numpy
from likely.families import Bernoulli, Normal
from likely.models import Linear
from likely.objectives import (
    ElasticNetPrior,
    GaussianPrior,
    LaplacePrior,
    NegativeLogLikelihood,
)
from likely.solvers import CoordinateDescent, Newton, ProximalGradient
from likely.typing import GRADIENT, STEP_LIMIT, Batch


def rows(rng, n=80, d=8):
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.4 * rng.normal(size=(d, d)))
    b = np.zeros(d)
    b[[1, 4, 6]] = 2.0, -3.0, 1.5
    return Batch(X, X @ b + 1 + 0.5 * rng.normal(size=n), np.ones(n))


def solve(solver, data, prior, family=None):
    with float64():
        data = jax.tree.map(jnp.asarray, data)
        family = Normal(1.0) if family is None else family
        objective = NegativeLogLikelihood.of(family, data, prior)
        start = Linear.zeros(data.x.shape[1])
        return to_numpy(solver.minimize(objective, start, data, key=None))


@pytest.mark.parametrize("accelerate", [True, False], ids=["fista", "ista"])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_lasso_and_elastic_net_as_scikit_learn_has_them(accelerate, l1_ratio, rng):
    data, alpha = rows(rng), 0.3
    solver = ProximalGradient(20_000, 1e-8, accelerate)
    found = solve(solver, data, ElasticNetPrior(alpha * 80, l1_ratio))
    exact = ElasticNet(alpha, l1_ratio=l1_ratio, tol=1e-12).fit(data.x, data.y)
    np.testing.assert_allclose(found.model.weight[:, 0], exact.coef_, atol=1e-6)
    np.testing.assert_allclose(found.model.bias, exact.intercept_, atol=1e-6)
    np.testing.assert_array_equal(found.model.weight[:, 0] == 0, exact.coef_ == 0)
    assert found.status.reason == GRADIENT


def test_the_known_support_is_found(rng):
    """With little noise and enough penalty, exactly the true coefficients survive."""
    X = rng.normal(size=(200, 30))
    truth = np.zeros(30)
    truth[[3, 11, 29]] = 2.0, -1.0, 0.5
    data = Batch(X, X @ truth + 0.05 * rng.normal(size=200), np.ones(200))
    for solver in (ProximalGradient(tolerance=1e-9), CoordinateDescent()):
        found = solve(solver, data, LaplacePrior(0.05 * 200))
        np.testing.assert_array_equal(found.model.weight[:, 0] != 0, truth != 0)


def test_sparse_logistic_regression(rng):
    data = rows(rng)
    data = data._replace(y=(data.y > 0).astype(float))
    found = solve(
        ProximalGradient(tolerance=1e-9), data, LaplacePrior(3.0), Bernoulli()
    )
    exact = LogisticRegression(
        l1_ratio=1.0, C=1 / 3.0, solver="saga", tol=1e-10, max_iter=100_000
    ).fit(data.x, data.y)
    np.testing.assert_allclose(found.model.weight[:, 0], exact.coef_[0], atol=1e-4)


def test_without_a_kink_it_is_gradient_descent(rng):
    data = rows(rng)
    data = data._replace(y=(data.y > 0).astype(float))
    ends = [
        solve(solver, data, GaussianPrior(1.0), Bernoulli())
        for solver in (ProximalGradient(tolerance=1e-9), Newton())
    ]
    np.testing.assert_allclose(ends[0].model.weight, ends[1].model.weight, atol=1e-6)


def test_acceleration_needs_fewer_steps(rng):
    data = rows(rng)
    steps = [
        int(
            solve(
                ProximalGradient(20_000, 1e-7, fast), data, LaplacePrior(1.0)
            ).status.steps
        )
        for fast in (True, False)
    ]
    assert steps[0] < steps[1] / 2


def test_the_loss_falls_and_the_path_is_kept(rng):
    found = solve(
        ProximalGradient(40, 0.0, False, path=True), rows(rng), LaplacePrior(9.0)
    )
    loss = np.asarray(found.trace.loss)[:41]
    assert (np.diff(loss) <= 1e-12).all()
    assert found.status.reason == STEP_LIMIT
    np.testing.assert_array_equal(found.trace.model.weight[0], 0)
    np.testing.assert_array_equal(found.trace.model.weight[40], found.model.weight)


def test_vmap_over_penalties_and_weights_is_single_runs(rng):
    data = rows(rng)
    alphas, W = np.array([1.0, 10.0]), rng.integers(0, 3, size=(2, 80)) * 1.0

    def fit(solver, alpha, w):
        batch = data._replace(w=w)
        objective = NegativeLogLikelihood.of(Normal(1.0), batch, LaplacePrior(alpha))
        start = Linear.zeros(8)
        return solver.minimize(objective, start, batch, key=None).model.weight

    with float64():
        data = jax.tree.map(jnp.asarray, data)
        alphas, W = jnp.asarray(alphas), jnp.asarray(W)
        for solver in (
            ProximalGradient(tolerance=1e-9),
            CoordinateDescent(1000, 1e-13),
        ):
            many = jax.vmap(lambda a, w, s=solver: fit(s, a, w))(alphas, W)
            for i in range(2):
                one = fit(solver, alphas[i], W[i])
                np.testing.assert_allclose(many[i], one, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "solver", [ProximalGradient(tolerance=1e-9), CoordinateDescent()]
)
def test_weights(solver, rng):
    """w=2 is the row twice, and what an absent row holds does not matter."""
    data = rows(rng)
    w = rng.integers(0, 3, size=80).astype(float)
    rough = Batch(np.where(w[:, None] > 0, data.x, np.nan), data.y, w)
    rough.y[w == 0] = 1e300
    twice = Batch(
        *(np.repeat(a, w.astype(int), axis=0) for a in (data.x, data.y)), None
    )
    twice = twice._replace(w=np.ones(len(twice.y)))
    ends = [solve(solver, batch, LaplacePrior(4.0)) for batch in (rough, twice)]
    np.testing.assert_allclose(ends[0].model.weight, ends[1].model.weight, atol=1e-6)


def test_lasso_shrinks_what_subset_selection_keeps(rng):
    """The kept coefficients are smaller than least squares would have them."""
    data = rows(rng)
    lasso = Lasso(0.5).fit(data.x, data.y).coef_
    found = solve(ProximalGradient(tolerance=1e-9), data, LaplacePrior(0.5 * 80))
    np.testing.assert_allclose(found.model.weight[:, 0], lasso, atol=1e-3)
    assert np.abs(found.model.weight).sum() < 2.0 + 3.0 + 1.5
