r"""The learners of linear models: a family on η = XW + 1b (+ an offset).

`LinearLearner` is the recipe itself. `SharedLearner` finds W and a parameter u that all rows share
together by Newton's method, however strongly they depend on each other: u may be the thresholds
of ordered classes, or the shape of lifetimes. `dispersed` has the learner that alternates.
"""

from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely import recipe
from likely.estimators.linear.fitting.host_newton import (
    CLASSES,
    POISSON,
    Rows,
    solution_of,
)
from likely.estimators.linear.fitting.many_fits import solver_for_many
from likely.estimators.linear.fitting.matrix_free import (
    FAMILIES as SPARSE_FAMILIES,
    fit_matrix_free,
    is_sparse,
)
from likely.estimators.linear.fitting.row_space import is_saturated
from likely.estimators.linear.fitting.sampled_newton import many_rows_line
from likely.estimators.linear.inference.uncertainty import AbstractLinearLearner
from likely.estimators.linear.ridge_prior import ridge_prior
from likely.families import (
    AbstractFamily,
    Bernoulli,
    Categorical,
    Censored,
    Poisson,
)
from likely.models import Linear, Offset, Shared
from likely.solvers import LBFGS, Newton, Whitened
from likely.typing import Batch, Key, Solution, Solver

MAX_NEWTON_COEFFICIENTS = 512
"""Coefficients up to which the Hessian of a shared learner is computed."""


def _log(mean: float) -> float:
    return float(np.log(mean))


def _log_odds(mean: float) -> float:
    return float(np.log(mean) - np.log1p(-mean)) if mean < 1 else np.inf


def _all_right(y: np.ndarray, eta: np.ndarray) -> bool:
    """Whether η gets every row right, so that the likelihood of classes has no maximum."""
    return bool((np.where(y == 1, eta, -eta) > 0).all())


def rules_of(solver: Any) -> Any:
    """The stopping rules of a solver, or of the one that it makes use of."""
    inner: Any = solver.solver if isinstance(solver, Whitened) else solver
    return inner.rules


def has_rules(solver: Any) -> bool:
    """Whether the solver is one of those that the settings of an estimator choose."""
    inner = solver.solver if isinstance(solver, Whitened) else solver
    return isinstance(inner, Newton | LBFGS)


def start_at(X: Any, eta: Float[Array, " k"], intercept: bool) -> Linear | Offset:
    """W = 0 and the intercept of the null model, with an offset if the rows have one."""
    if not isinstance(X, tuple):
        return Linear.zeros(X.shape[1], len(eta), eta if intercept else False)
    bias = eta - X[1].mean() if intercept else False
    return Offset(Linear.zeros(X[0].shape[1], len(eta), bias))


class LinearLearner(AbstractLinearLearner):
    """The recipe for a linear model: family, prior w ~ N(0, 1/α), solver.

    Args:
        family: p(y | θ).
        solver: how.
        intercept: whether there is a b.
        per_weight: α is for each unit of weight (N(0, 1/(α Σw))), as in scikit-learn's
            generalised linear models.
    """

    family: AbstractFamily
    solver: Solver
    intercept: bool = eqx.field(static=True)
    per_weight: bool = eqx.field(static=True, default=False)
    any_coordinates: ClassVar[bool] = True
    rotates: ClassVar[bool] = True

    @property
    def folds_on_host(self) -> bool:
        """Whether `on_host` has an answer."""
        return isinstance(self.family, Poisson)

    @property
    def takes_sparse(self) -> bool:
        """Whether rows may be a sparse matrix as it is."""
        return has_rules(self.solver) and type(self.family) in SPARSE_FAMILIES

    def learn(self, key: Key, hyper: dict, batch: Batch) -> Solution:
        """Start at the null model and minimise."""
        X = batch.x[0] if isinstance(batch.x, tuple) else batch.x
        model = start_at(
            batch.x, self.family.marginal(batch.y, batch.w), self.intercept
        )
        alpha = strength(hyper, batch.w, self.per_weight)
        prior = ridge_prior(X, alpha, hyper)
        found = recipe.fit(
            self.family, model, batch, prior=prior, solver=self.solver, key=key
        ).solution
        if not isinstance(self.family, Categorical):
            return found
        B = found.model.coefficients  # a constant added to all classes changes nothing
        centred = found.model.with_coefficients(B - B.mean(1, keepdims=True))
        return eqx.tree_at(lambda s: s.model, found, centred)

    def for_many(self, fits: int, X: Any) -> "LinearLearner":
        """The learner with a solver for many fits at once, where Newton's is slower."""
        solver = solver_for_many(self.solver, self.family, fits, X)
        if solver is self.solver:
            return self
        return LinearLearner(self.family, solver, self.intercept, self.per_weight)

    def on_host(self, hyper: dict, batch: Batch) -> Solution | None:
        """The line in NumPy, for sparse rows, counts and two classes where that is safe."""
        if is_sparse(batch.x) or self._is_saturated(hyper, batch):
            return self._matrix_free(hyper, batch)
        losses = {Poisson: POISSON, Bernoulli: CLASSES}.get(type(self.family))
        if losses is None or hyper.get("coordinates") is not None:
            return None
        rows = Rows.of(batch) if has_rules(self.solver) else None
        if rows is None:
            return None
        rules, classes = rules_of(self.solver), losses is CLASSES
        alpha = float(hyper["alpha"]) / (1.0 if self.per_weight else rows.w.sum())
        line = many_rows_line(
            rows,
            losses,
            alpha=alpha,
            intercept=self.intercept,
            rules=rules,
            link=_log_odds if classes else _log,
            enough=partial(_all_right, rows.y) if classes and not alpha else None,
        )
        return line and solution_of(rows, line, self.intercept, rules.capacity)

    def _is_saturated(self, hyper: dict, batch: Batch) -> bool:
        """Whether several classes have a coefficient for every row, or more."""
        if not isinstance(self.family, Categorical) or not has_rules(self.solver):
            return False
        known = isinstance(batch.x, tuple) or hyper.get("coordinates") is not None
        return not known and is_saturated(batch.x, batch.w, self.intercept)

    def _matrix_free(self, hyper: dict, batch: Batch) -> Solution:
        """The line by products of the columns alone."""
        y, w = jnp.asarray(batch.y), jnp.asarray(batch.w)
        start = np.asarray(self.family.marginal(y, w))
        return fit_matrix_free(
            self.family,
            batch,
            alpha=float(hyper["alpha"]) / (1.0 if self.per_weight else batch.w.sum()),
            intercept=self.intercept,
            start=start,
            rules=rules_of(self.solver),
        )[0]

    def losses(self, phi: Solution, batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    def eta(self, phi: Solution, X: Any) -> Float[Array, "n k"]:
        """x·W + b."""
        return phi.model(X)[0]

    def penalty(self, phi: Solution, hyper: dict, w: Any) -> tuple[Any, None]:
        """α, in nats."""
        return hyper["alpha"] * (w.sum() if self.per_weight else 1.0), None

    def trimmed(self, phi: Solution, d: int) -> Solution:
        """φ with the weights of the first d columns."""
        return trim(phi, d)


class SharedLearner(AbstractLinearLearner):
    """The recipe for a family of η = (location, u), u shared by all rows.

    Args:
        family: p(y | θ).
        solver: for w, b and u.
        intercept: whether there is a b.
        per_weight: α is for each unit of weight.
    """

    family: AbstractFamily
    solver: Solver
    intercept: bool = eqx.field(static=True, default=True)
    per_weight: bool = eqx.field(static=True, default=False)
    any_coordinates: ClassVar[bool] = True
    rotates: ClassVar[bool] = True

    def learn(self, key: Key, hyper: dict, batch: Batch) -> Solution:
        """Start at the null model, or close to it, and minimise."""
        X = batch.x[0] if isinstance(batch.x, tuple) else batch.x
        family = self.family
        start = family.start if isinstance(family, Censored) else family.marginal
        null = start(batch.y, batch.w)
        line = start_at(batch.x, null[:1], self.intercept)
        model = Shared(line, null[1:]) if len(null) > 1 else line
        prior = ridge_prior(X, strength(hyper, batch.w, self.per_weight), hyper)
        return recipe.fit(
            self.family, model, batch, prior=prior, solver=self.solver, key=key
        ).solution

    def losses(self, phi: Solution, batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    def eta(self, phi: Solution, X: Any) -> Float[Array, "n k"]:
        """(x·w + b, u)."""
        return phi.model(X)[0]

    def penalty(self, phi: Solution, hyper: dict, w: Any) -> tuple[Any, None]:
        """α, in nats."""
        return hyper["alpha"] * (w.sum() if self.per_weight else 1.0), None

    def trimmed(self, phi: Solution, d: int) -> Solution:
        """φ with the weights of the first d columns."""
        return trim(phi, d)


def shared_solver(coefficients: int, max_iter: int, tol: float) -> Solver:
    """Newton's method, or L-BFGS for more coefficients than a Hessian is worth."""
    if coefficients <= MAX_NEWTON_COEFFICIENTS:
        return Newton(max_steps=max_iter, tolerance=tol)
    return LBFGS(search="backtracking", max_steps=max_iter, tolerance=max(tol, 1e-8))


def strength(hyper: dict, w: Float[Array, " n"], per_weight: bool) -> Array:
    """α in units of the summed negative log-likelihood."""
    alpha = jnp.asarray(hyper["alpha"])
    return alpha * w.sum() if per_weight else alpha


def trim(phi: PyTree, d: int) -> PyTree:
    """The tree with every `weight` cut down to its first d rows."""

    def cut(path, leaf):
        named = getattr(path[-1], "name", None) == "weight"
        return leaf[..., :d, :] if named else leaf

    return jax.tree_util.tree_map_with_path(cut, phi)
