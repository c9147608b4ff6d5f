r"""The solution of least norm, which gradient descent finds among many.

With fewer rows than weights least squares has a whole plane of solutions. Every gradient is a
combination of rows, so descent never leaves $φ_0 + \text{span}(a_1, …, a_n)$, and with A the
design it ends at

$$φ_\infty = A^+ y + (I - A^+ A)\,φ_0,$$

from 0 at the solution of least norm. So do momentum, Nesterov's rule and stochastic descent;
Adam, which divides each entry by its own scale, does not.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from likely import recipe
from likely.base.settings import at_least
from likely.core.checks import InputError, check_batch
from likely.core.precision import float64
from likely.core.random import key_of, seed_of
from likely.diagnostics.landscape.surface import in_precision
from likely.diagnostics.result import Result
from likely.families import Normal
from likely.models import Linear
from likely.solvers import Adam, Constant, GradientDescent, Momentum, Nesterov
from likely.typing import Batch, LinearModel

MIN_SINGULAR_VALUE = 1e-10
"""Singular values below this part of the largest are 0."""


@dataclass(frozen=True, repr=False, eq=False)
class MinimumNorm(Result):
    """Where several solvers end on least squares with more weights than rows."""

    n_rows: int
    rank: int
    n_weights: int
    least_norm: float
    """Of the solution of least norm."""
    solvers: tuple[str, ...]
    norms: Float[np.ndarray, " s"]
    distances: Float[np.ndarray, " s"]
    """From the solution of least norm, relative to its norm."""
    outside: Float[np.ndarray, " s"]
    """The length of the part of the weights that no row sees, in the same units."""
    expected: Float[np.ndarray, " s"]
    """What that part was at the start, which gradients cannot change."""
    errors: Float[np.ndarray, " s"]
    """The root of the mean squared error on the training rows above the lowest one, relative to
    that of weights 0."""

    @property
    def verdict(self) -> str:
        """Who ended at the solution of least norm, and who did not."""
        near = self.distances < 1e-3
        names = np.array(self.solvers)
        who = ", ".join(names[near])
        others = [
            f"{name} {distance:.2g} away (norm {norm:.3g})"
            for name, distance, norm, ok in zip(
                self.solvers, self.distances, self.norms, near, strict=True
            )
            if not ok
        ]
        first = (
            f"{self.n_weights} weights, {self.n_rows} rows of rank {self.rank}: the solution of "
            f"least norm has {self.least_norm:.4g}. "
        )
        second = f"At it ended: {who}." if who else "No solver ended at it."
        third = f" Not: {'; '.join(others)}." if others else ""
        return first + second + third

    def table(self) -> dict[str, Any]:
        """One row for each solver."""
        return {
            "solver": list(self.solvers),
            "norm": self.norms.tolist(),
            "distance": self.distances.tolist(),
            "outside the rows": self.outside.tolist(),
            "at the start": self.expected.tolist(),
            "training error": self.errors.tolist(),
        }

    def plot(self) -> Any:
        """Norms of what each solver found, and distances from the least norm."""
        from likely.plots import minimum_norm

        return minimum_norm(self)


def minimum_norm(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    model: Any = None,
    n_steps: int = 4000,
    random_state: Any = 0,
) -> MinimumNorm:
    """Least squares with more weights than rows, by several solvers from 0.

    Args:
        X: (n, d) inputs.
        y: (n,) targets.
        sample_weight: how often each row counts.
        model: a linear model with one output, whose weights are taken as 0 at the start; None is
            `models.Linear` without a bias.
        n_steps: of each solver.
        random_state: the seed of the order of rows, and of one start that is not 0.
    """
    steps = at_least("n_steps", n_steps, 1, whole=True)
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    data = check_batch(Batch(X, y, sample_weight))
    if data.y.ndim != 1:
        raise InputError(f"y has shape {data.y.shape}; give one target for each row.")
    with float64():
        line = _line(model, X)
        A = np.asarray(line.design(jnp.asarray(X)), np.float64)
    present = data.w > 0
    root = np.sqrt(data.w[present] / data.w.sum())
    A_w, y_w = A[present] * root[:, None], data.y[present] * root
    plus = np.linalg.pinv(A_w, rcond=MIN_SINGULAR_VALUE)
    best = plus @ y_w
    rank = int(
        np.linalg.matrix_rank(A_w, tol=MIN_SINGULAR_VALUE * np.linalg.norm(A_w, 2))
    )
    p = A.shape[1]
    if rank == p:
        raise InputError(
            f"the rows determine all {p} weights, so there is one solution and least norm means "
            "nothing; give fewer rows than weights."
        )
    away = np.random.default_rng([seed_of(random_state), 1]).normal(size=p)
    away *= np.linalg.norm(best) / np.linalg.norm(away)
    runs = _runs(A[present], A_w, (steps, rank == present.sum()), away)
    ends = np.stack([
        _end(line, data, solver, start, random_state) for _, solver, start in runs
    ])  # fmt: skip
    size = float(np.linalg.norm(best)) or 1.0
    free = np.eye(p) - plus @ A_w
    starts = np.stack([start for *_, start in runs])
    lowest = np.linalg.norm(A_w @ best - y_w)
    left = np.linalg.norm(ends @ A_w.T - y_w, axis=1) - lowest
    return MinimumNorm(
        int(present.sum()),
        rank,
        p,
        float(np.linalg.norm(best)),
        tuple(name for name, *_ in runs),
        np.linalg.norm(ends, axis=1),
        np.linalg.norm(ends - best, axis=1) / size,
        np.linalg.norm(ends @ free, axis=1) / size,
        np.linalg.norm(starts @ free, axis=1) / size,
        np.maximum(left, 0) / np.linalg.norm(y_w),
    )


def _line(model: Any, X: np.ndarray) -> Any:
    """A linear model with one output and weights 0."""
    if X.ndim != 2:
        raise InputError(f"X has shape {X.shape}; give rows and columns.")
    line: Any = Linear.zeros(X.shape[1], 1, bias=False) if model is None else model
    if not isinstance(line, LinearModel) or line.coefficients.shape[1] != 1:
        raise InputError(
            f"{type(model).__name__} is no linear model with one output; the solution of least "
            "norm is that of linear least squares: give a models.Linear."
        )
    line = jax.tree.map(jnp.asarray, in_precision(line, np.float64))
    return line.with_coefficients(jnp.zeros_like(line.coefficients))


def _runs(A: np.ndarray, A_w: np.ndarray, of: tuple, away: np.ndarray) -> list[tuple]:
    """(name, solver, start) of each run, with rates below the limits of this design."""
    steps, exact = of
    zero = np.zeros_like(away)
    L = float(np.linalg.norm(A_w, 2) ** 2)
    steep = float((A**2).sum(1).max())
    plain = GradientDescent(Constant(1 / L), steps=steps)
    found = [
        ("gradient descent", plain, zero),
        ("momentum", Momentum(Constant(0.5 / L), decay=0.9, steps=steps), zero),
        ("Nesterov", Nesterov(Constant(0.5 / L), decay=0.9, steps=steps), zero),
    ]
    if exact:  # else stochastic descent at a constant rate does not settle
        single = GradientDescent(Constant(1 / steep), steps=10 * steps, batch_size=1)
        found.append(("single rows", single, zero))
    return [
        *found,
        ("Adam", Adam(Constant(0.01), steps=steps), zero),
        ("gradient descent from elsewhere", plain, away),
    ]


def _end(
    line: Any, data: Batch, solver: Any, start: np.ndarray, random_state: Any
) -> Float[np.ndarray, " p"]:
    """The weights at which a solver ends, by the recipe."""
    with float64():
        begin = line.with_coefficients(jnp.asarray(start)[:, None])
        fitted = recipe.fit(
            Normal(scale=1.0),
            begin,
            data,
            solver=solver,
            key=jax.random.clone(key_of(random_state)),
        )
        end: Any = jax.tree.map(jnp.asarray, fitted.model)
        return np.asarray(end.coefficients, np.float64)[:, 0]
