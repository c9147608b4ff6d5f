"""Problems with known minima, for the laws of solvers.

`PROBLEMS` holds a function that makes each problem; `registries.solvers` names the solvers
that are meant for it.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from likely.families import Bernoulli, Normal
from likely.models import Linear
from likely.objectives import GaussianPrior, LaplacePrior, NegativeLogLikelihood
from likely.solvers import Curve, Function, SumOfSquares
from likely.solvers.function import NO_ROWS
from likely.typing import Batch

TRACES: Counter = Counter()
ALPHA = 0.7


class Counted(eqx.Module):
    """An objective that counts how often it is traced."""

    objective: Any

    def __call__(self, model, batch, *, key=None, state=None):
        TRACES["objective"] += 1
        return self.objective(model, batch, key=key, state=state)

    def pointwise(self, eta, y):
        TRACES["objective"] += 1
        return self.objective.pointwise(eta, y)

    def penalty(self, model):
        return self.objective.penalty(model)

    def smooth(self, model, batch, *, key=None, state=None):
        TRACES["objective"] += 1
        return self.objective.smooth(model, batch, key=key, state=state)

    def prox(self, model, step):
        return self.objective.prox(model, step)


class Problem(NamedTuple):
    objective: Callable[[Batch, float], Any]
    """From the data and the strength of a prior (where there is one)."""
    start: Callable[[], Any]
    """The model to start from, made inside the scope of its precision."""
    optimum: Any
    """The parameters at the minimum, as the flat vector of the model's leaves."""
    data: Batch = NO_ROWS
    """Rows, each of them twice; or none."""

    @property
    def has_rows(self) -> bool:
        return self.data.x is not None


# Functions ----------------------------------------------------------------------------


class Quadratic(eqx.Module):
    """½ (x − c)ᵀ A (x − c)."""

    A: Any
    c: Any

    def __call__(self, x):
        return 0.5 * (x - self.c) @ self.A @ (x - self.c)


def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def saddle(x):
    """Flat at 0, where it neither starts nor ends: the minima are (0, ±1)."""
    return 0.5 * x[0] ** 2 - 0.25 * x[1] ** 2 + 0.125 * x[1] ** 4


def cliff(x):
    """A gentle bowl with a wall of slope 1e9 beyond 2."""
    return 0.5 * jnp.sum(x**2) + 1e9 * jnp.sum(jnp.maximum(x - 2, 0))


def function(f, start, optimum) -> Problem:
    objective = lambda data, alpha: Counted(Function(f))  # noqa: E731
    return Problem(objective, lambda: jnp.asarray(start), np.asarray(optimum))


def quadratic(condition: float) -> Problem:
    """In four dimensions, turned, with curvatures from 1/condition to 1."""
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    A = (Q * np.geomspace(1 / condition, 1, 4)) @ Q.T
    c = rng.normal(size=4)
    return function(Quadratic(A, c), np.zeros(4), c)


# Rows ---------------------------------------------------------------------------------


def twice(x, y) -> Batch:
    return Batch(np.concatenate([x, x]), np.concatenate([y, y]), np.ones(2 * len(y)))


def likelihood(family, y, optimum) -> Problem:
    X = np.random.default_rng(1).normal(size=(30, 3))

    def objective(data: Batch, alpha: float):
        prior = GaussianPrior(alpha)
        return Counted(NegativeLogLikelihood.of(family, data, prior))

    data = twice(X, y(X))
    return Problem(objective, lambda: Linear.zeros(3), optimum(*data[:2]), data)


def least_squares() -> Problem:
    """Ridge regression by the normal equations."""

    def optimum(X, y):
        A = np.hstack([X, np.ones((len(X), 1))])
        return np.linalg.solve(A.T @ A + ALPHA * np.diag([1, 1, 1, 0]), A.T @ y)

    noise = np.random.default_rng(2).normal(size=30)
    y = lambda X: X @ [1.0, -2.0, 0.5] + 3 + noise  # noqa: E731
    return likelihood(Normal(1.0), y, optimum)


def logistic() -> Problem:
    """Logistic regression with a ridge, by plain Newton steps in NumPy."""

    def optimum(X, y):
        A, P = np.hstack([X, np.ones((len(X), 1))]), ALPHA * np.diag([1.0, 1, 1, 0])
        b = np.zeros(4)
        for _ in range(20):
            p = 1 / (1 + np.exp(-A @ b))
            H = A.T @ ((p * (1 - p))[:, None] * A) + P
            b -= np.linalg.solve(H, A.T @ (p - y) + P @ b)
        return b

    rng = np.random.default_rng(3)
    return likelihood(
        Bernoulli(),
        lambda X: (X[:, 0] + rng.normal(size=30) > 0.3).astype(float),
        optimum,
    )


def lasso() -> Problem:
    """With columns at right angles: each coefficient softly thresholded by itself."""
    rng = np.random.default_rng(4)
    Q, _ = np.linalg.qr(rng.normal(size=(30, 5)))
    y = Q @ [4.0, 0.0, -3.0, 0.0, 0.0] + 0.05 * rng.normal(size=30)
    data, slope = twice(Q, y), 2 * Q.T @ y
    optimum = np.sign(slope) * np.maximum(np.abs(slope) - ALPHA, 0) / 2
    assert (optimum != 0).tolist() == [True, False, True, False, False]

    def objective(data: Batch, alpha: float):
        prior = LaplacePrior(alpha)
        return Counted(NegativeLogLikelihood.of(Normal(1.0), data, prior))

    return Problem(objective, lambda: Linear.zeros(5, bias=False), optimum, data)


def decay(b, x):
    return b[0] * jnp.exp(-b[1] * x)


def curve() -> Problem:
    """An exponential decay without noise."""
    x, truth = np.linspace(0, 4, 30), np.array([2.0, 0.7])
    y = truth[0] * np.exp(-truth[1] * x)
    return Problem(
        lambda data, alpha: Counted(SumOfSquares()),
        lambda: Curve(jnp.array([1.0, 0.2]), decay),
        truth,
        twice(x, y),
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "quadratic, condition 1": lambda: quadratic(1.0),
    "quadratic, condition 1e2": lambda: quadratic(1e2),
    "quadratic, condition 1e4": lambda: quadratic(1e4),
    "rosenbrock": lambda: function(rosenbrock, [-1.2, 1.0], [1.0, 1.0]),
    "saddle": lambda: function(saddle, [1.0, 1e-3], [0.0, 1.0]),
    "cliff": lambda: function(cliff, [2.001, 1.0], [0.0, 0.0]),
    "least squares": least_squares,
    "logistic": logistic,
    "lasso": lasso,
    "curve": curve,
}
