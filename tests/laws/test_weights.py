"""w=2 is the row twice; garbage in a w=0 row changes nothing; for every solver."""

import jax.numpy as jnp
import numpy as np
import pytest

from likely import recipe
from likely.core import float64
from likely.families import Bernoulli, Categorical, Normal, Poisson
from likely.models import Linear, mlp
from likely.objectives import GaussianPrior
from likely.solvers import LBFGS, Adam, LeastSquares, Newton, Whitened
from likely.typing import Batch

CASES = {
    "least squares": (Normal(1.0), LeastSquares()),
    "newton": (Poisson(), Newton()),
    "newton, classes": (Categorical(3), Newton()),
    "lbfgs": (Bernoulli(), LBFGS(tolerance=1e-11)),
    "whitened": (Bernoulli(), Whitened(LBFGS(tolerance=1e-11))),
}


def targets(family, rng, n):
    return {
        "Normal": rng.normal(size=n),
        "Poisson": rng.poisson(2.0, size=n).astype(float),
        "Bernoulli": rng.integers(0, 2, size=n).astype(float),
        "Categorical": rng.integers(0, 3, size=n).astype(float),
    }[type(family).__name__]


def coefficients(family, solver, data, key):
    fit = recipe.fit(
        family,
        Linear.zeros(data.x.shape[1], family.n_eta),
        data,
        prior=GaussianPrior(0.5),
        solver=solver,
        key=key,
    )
    B = np.asarray(fit.model.coefficients)
    # a constant added to all classes changes no probability
    return B - B.mean(1, keepdims=True) if isinstance(family, Categorical) else B


@pytest.mark.parametrize("name", CASES)
def test_weight_two_is_the_row_twice(name, rng, getkey):
    family, solver = CASES[name]
    X, y = rng.normal(size=(40, 3)), targets(family, rng, 40)
    w = rng.integers(0, 4, size=40).astype(float)
    rows = np.repeat(np.arange(40), w.astype(int))
    with float64():
        weighted = coefficients(family, solver, Batch(X, y, w), getkey())
        repeated = Batch(X[rows], y[rows], np.ones(len(rows)))
        np.testing.assert_allclose(
            weighted, coefficients(family, solver, repeated, getkey()), atol=1e-9
        )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("garbage", [np.nan, np.inf, 1e300])
def test_garbage_in_absent_rows_changes_no_bit(name, garbage, rng, getkey):
    family, solver = CASES[name]
    X, y = rng.normal(size=(40, 3)), targets(family, rng, 40)
    w = np.r_[np.ones(30), np.zeros(10)]
    with float64():
        clean = coefficients(family, solver, Batch(X, y, w), getkey())
        X[30:] = garbage
        y[30:] = garbage
        dirty = coefficients(family, solver, Batch(X, y, w), getkey())
    np.testing.assert_array_equal(clean, dirty)


def test_garbage_does_not_reach_a_network(rng, getkey):
    X = rng.normal(size=(64, 2)).astype(np.float32)
    y = X[:, 0].copy()
    w = np.r_[np.ones(50), np.zeros(14)].astype(np.float32)
    model = mlp((2, 8, 1), norm="batch", key=getkey())
    solver, key = Adam(0.01, steps=30, batch_size=16), getkey()

    def fit():
        found = recipe.fit(
            Normal(1.0), model, Batch(X, y, w), solver=solver, key=jnp.copy(key)
        )
        return found.solution

    clean = fit()
    X[50:], y[50:] = np.nan, np.inf
    dirty = fit()
    np.testing.assert_array_equal(clean.trace.loss, dirty.trace.loss)
    np.testing.assert_array_equal(clean.state[1].mean, dirty.state[1].mean)
