"""A second fit compiles nothing: not for the same shapes, a new n, rate or alpha."""

import contextlib
import logging

import jax
import numpy as np
import pytest

import likely as lk
from likely import recipe
from likely.core import float64, pad
from likely.families import Bernoulli, Normal
from likely.models import Linear, mlp
from likely.objectives import GaussianPrior, Smoothing
from likely.solvers import (
    LBFGS,
    Adam,
    Continuation,
    Curriculum,
    LeastSquares,
    Newton,
)
from likely.solvers.training import Training
from likely.typing import Batch


@contextlib.contextmanager
def compilations():
    """The names of the programs that XLA compiles inside the block."""
    names = []

    class Handler(logging.Handler):
        def emit(self, record):
            message = record.getMessage()
            if message.startswith("Compiling"):
                names.append(message.split()[1])

    logger, handler = logging.getLogger("jax"), Handler()
    logger.addHandler(handler)
    try:
        with jax.log_compiles(True):
            yield names
    finally:
        logger.removeHandler(handler)


def rows(rng, n, classes=False):
    X = rng.normal(size=(n, 4))
    y = X[:, 0] + rng.normal(size=n)
    return X, (y > 0).astype(float) if classes else y


def test_the_counter_counts():
    with compilations() as names:
        jax.jit(lambda x: 3 * x + 1)(np.arange(7.0))
    assert names


def far(batch):
    return (batch.x**2).sum(1)


def test_another_curriculum_compiles_nothing(rng):
    data = Batch(*(a.astype(np.float32) for a in (*rows(rng, 48), np.ones(48))))
    model = mlp((4, 3, 1), key=jax.random.key(0))

    def fit(start, levels):
        plan = Curriculum(far, steps=int(100 * start), start=start)
        path = Continuation(Smoothing(), levels, 5)
        solver = Adam(0.01, steps=9, batch_size=16, sampling=plan, continuation=path)
        key = jax.random.key(1)
        recipe.fit(Normal(1.0), model, data, solver=solver, key=key)

    fit(0.2, (1.0, 0.0))
    with compilations() as names:
        fit(0.5, (0.3, 0.0))
    assert not names


@pytest.mark.parametrize("solver", [LeastSquares, Newton, LBFGS])
def test_a_new_n_and_a_new_alpha_compile_nothing(solver, rng, getkey):
    def fit(n, alpha):
        data = pad(Batch(*rows(rng, n), np.ones(n)))
        with float64():
            recipe.fit(
                Normal(scale=1.0),
                Linear.zeros(4),
                data,
                prior=GaussianPrior(alpha),
                solver=solver(),
                key=getkey(),
            )

    fit(50, 1.0)
    with compilations() as names:
        fit(60, 2.0)
    assert not names


def test_a_new_rate_and_tolerance_compile_nothing(rng, getkey):
    X, y = (a.astype(np.float32) for a in rows(rng, 64))
    data = Batch(X, y, np.ones(64, np.float32))
    model = mlp((4, 8, 1), key=getkey())

    def fit(rate, tolerance):
        for solver in (Adam(rate, steps=10, batch_size=16), LBFGS(20, tolerance)):
            recipe.fit(Normal(1.0), model, data, solver=solver, key=getkey())

    fit(0.01, 1e-4)
    with compilations() as names:
        fit(0.003, 1e-3)
    assert not names


@pytest.mark.parametrize(
    ("make", "classes"),
    [
        (lambda alpha: lk.LinearRegression(), False),
        (lambda alpha: lk.Ridge(alpha), False),
        (lambda alpha: lk.LogisticRegression(alpha), True),
    ],
)
def test_a_second_estimator_compiles_nothing(make, classes, rng):
    def fit(n, alpha):
        X, y = rows(rng, n, classes)
        estimator = make(alpha).fit(X, y)
        estimator.predict(X)
        estimator.nll(X, y)

    fit(50, 1.0)
    with compilations() as names:
        fit(60, 2.0)
    assert not names


def test_a_new_family_object_compiles_nothing(rng, getkey):
    X, y = rows(rng, 64, classes=True)

    def fit():
        with float64():
            recipe.fit(
                Bernoulli(),
                Linear.zeros(4),
                Batch(X, y, np.ones(64)),
                solver=LBFGS(),
                key=getkey(),
            )

    fit()
    with compilations() as names:
        fit()
    assert not names


@pytest.mark.parametrize("devices", [None, 1])
def test_a_second_training_compiles_nothing(devices, rng, getkey):
    """Nor do another number of steps of a size class, another rate, another n."""
    model = mlp((4, 8, 1), key=getkey())
    mesh = None if devices is None else jax.make_mesh((devices,), ("rows",))

    def fit(n, rate, steps):
        data = pad(Batch(*rows(rng, n), np.ones(n)))
        data = Batch(*(a.astype(np.float32) for a in data))
        solver = Training(Adam(rate, steps=steps, batch_size=16), mesh=mesh)
        recipe.fit(Normal(1.0), model, data, solver=solver, key=getkey())

    fit(50, 0.01, 40)
    with compilations() as names:
        fit(60, 0.003, 50)
    assert not names


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_second_network_compiles_nothing(rng):
    def fit(n, alpha):
        X, y = rows(rng, n)
        for solver in ("lbfgs", "adam"):
            for members in (1, 3):
                model = lk.MLPRegressor(
                    (4,), solver=solver, alpha=alpha, max_iter=3, n_members=members
                )
                model.fit(X, y).predict(X)

    fit(50, 1.0)
    with compilations() as names:
        fit(60, 2.0)
    assert not names
