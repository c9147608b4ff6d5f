r"""The learners of linear models: a family on η = XW + 1b (+ an offset).

`LinearLearner` is the recipe itself. `DispersedLearner` is the recipe for families whose
second parameter is shared by all rows (a shape, a scale): it alternates

$$W \leftarrow \arg\min_W l(W, u), \qquad u \leftarrow \arg\min_u l(W, u),$$

u the logarithm of that parameter. For gamma regression W does not depend on u at all,
for negative binomial regression the two are orthogonal, so a few rounds are enough.
`SharedLearner` finds W and u together by Newton's method, however strongly they depend on each
other: u may be the thresholds of ordered classes, or the shape of lifetimes.
"""

from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely import recipe
from likely.core.numerics import bounded
from likely.core.rows import weighted_mean
from likely.estimators.linear.host_newton import (
    GAMMA,
    POISSON,
    Losses,
    Rows,
    fitted_line,
    gamma_dispersion,
    solution_of,
)
from likely.estimators.linear.inference.uncertainty import AbstractLinearLearner
from likely.estimators.linear.many_fits import solver_for_many
from likely.estimators.linear.ridge_prior import ridge_prior
from likely.families import (
    AbstractFamily,
    Categorical,
    Censored,
    Gamma,
    Huber,
    NegativeBinomial,
    Poisson,
    Tweedie,
)
from likely.families.huber_distribution import huber_loss
from likely.families.negative_binomial_slopes import (
    dispersion_step,
    location_slopes,
)
from likely.families.weighted import weighted_median
from likely.models import Linear, Offset, Shared
from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.solvers import LBFGS, Newton
from likely.typing import Batch, Key, Solution, Solver

MAX_ROUNDS = 100
MAX_DISTANCE = 30.0
"""How far the logarithm of the dispersion may move from its start."""
MAX_NEWTON_COEFFICIENTS = 512
"""Coefficients up to which the Hessian of a shared learner is computed."""
MAX_CONCENTRATION = 1e6
"""r over the mean count from which a negative binomial is a Poisson distribution."""


def _count_loss(eta, u, y) -> np.ndarray:
    """−log p of a negative binomial less what does not depend on η."""
    return (np.exp(u) + y) * np.logaddexp(0.0, eta - u) - y * eta


COUNTS = Losses(_count_loss, location_slopes)


def _next_dispersion(rows: Rows, highest: float, eta: np.ndarray, u: float) -> float:
    limits = -MAX_DISTANCE, highest
    return dispersion_step(eta, u, rows.y, rows.w, limits)


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

    @property
    def folds_on_host(self) -> bool:
        """Whether `on_host` has an answer."""
        return isinstance(self.family, Poisson)

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
        """The line in NumPy, for Poisson counts and where that is safe."""
        plain = type(self.family) is Poisson and hyper.get("coordinates") is None
        if not plain or not isinstance(self.solver, Newton):
            return None
        rows, rules = Rows.of(batch), self.solver.rules
        if rows is None:
            return None
        alpha = float(hyper["alpha"]) / (1.0 if self.per_weight else rows.w.sum())
        line = fitted_line(
            rows,
            POISSON,
            alpha=alpha,
            intercept=self.intercept,
            rules=rules,
        )
        return line and solution_of(rows, line, self.intercept, rules.capacity)

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


class _Location(eqx.Module):
    """−log p less what does not depend on the location: `Separable`, quick to compile."""

    unit: AbstractFamily
    u: Float[Array, ""]
    prior: AbstractPrior
    rows: Normalisation

    def pointwise(self, eta: Float[Array, "n 1"], y: Array) -> Float[Array, " n"]:
        u = self.u
        if isinstance(self.unit, Huber):
            delta = jnp.asarray(self.unit.delta, eta.dtype)
            return huber_loss((y - eta[:, 0]) * jnp.exp(-u), delta)
        rho = bounded(eta[:, 0])
        if isinstance(self.unit, Gamma):
            return y * jnp.exp(-rho) + rho
        if isinstance(self.unit, Tweedie):
            p = jnp.asarray(self.unit.power, eta.dtype)
            falling = y * jnp.exp((1 - p) * rho) / (p - 1)
            return falling + jnp.exp((2 - p) * rho) / (2 - p)
        return (jnp.exp(u) + y) * jax.nn.softplus(rho - u) - y * rho

    def penalty(self, model) -> Float[Array, ""]:
        return -self.prior.log_prob(model) / self.rows.total_weight

    def __call__(self, model, batch: Batch, *, key=None, state=None):
        eta, state = model(batch.x)
        loss = self.rows.mean(self.pointwise(eta, batch.y), batch.w)
        return loss + self.penalty(model), state


class DispersedLearner(AbstractLinearLearner):
    """The recipe where the second parameter of the family is shared by all rows.

    Args:
        family: with η = (location, u).
        unit: the same family with that parameter fixed.
        fixed: the name of the fixed parameter.
        solver: for W.
        intercept: whether there is a b.
        coupled: whether W depends on u; if not, one round is enough.
    """

    family: AbstractFamily
    unit: AbstractFamily
    fixed: str = eqx.field(static=True)
    solver: Solver
    intercept: bool = eqx.field(static=True)
    coupled: bool = eqx.field(static=True, default=True)
    any_coordinates: ClassVar[bool] = True

    @property
    def folds_on_host(self) -> bool:
        """Whether `on_host` has an answer."""
        return isinstance(self.family, NegativeBinomial | Gamma)

    def learn(self, key: Key, hyper: dict, batch: Batch) -> Solution:
        """The line with its learned dispersion.

        A line with a scale is fitted to targets of about that scale around zero.
        """
        if self.fixed != "scale":
            return self._alternate(key, hyper, batch)
        y, w = batch.y, batch.w
        middle = weighted_median(y, w)
        unit = weighted_mean(jnp.abs(y - middle), w)
        unit = jnp.where(unit > 0, unit, jnp.maximum(jnp.abs(middle), _tiny(y)))
        middle = middle if self.intercept else jnp.zeros_like(middle)
        alpha = jnp.asarray(hyper["alpha"]) * unit**2
        rows = batch._replace(y=(y - middle) / unit)
        found = self._alternate(key, {**hyper, "alpha": alpha}, rows)
        line, u = found.model.model, found.model.tail
        B = line.coefficients * unit
        B = B.at[-1].add(middle) if self.intercept else B
        shared = Shared(line.with_coefficients(B), u + jnp.log(unit))
        return eqx.tree_at(lambda s: s.model, found, shared)

    def on_host(self, hyper: dict, batch: Batch) -> Solution | None:
        """The line and its dispersion in NumPy, for log links and where that is safe."""
        losses = {NegativeBinomial: COUNTS, Gamma: GAMMA}.get(type(self.family))
        plain = losses is not None and hyper.get("coordinates") is None
        if losses is None or not plain or not isinstance(self.solver, Newton):
            return None
        rows, rules = Rows.of(batch), self.solver.rules
        if rows is None:
            return None
        highest = float(np.log(MAX_CONCENTRATION * max(rows.mean, 1.0)))
        line = fitted_line(
            rows,
            losses,
            alpha=float(hyper["alpha"]),
            intercept=self.intercept,
            rules=rules,
            turn=partial(_next_dispersion, rows, highest) if self.coupled else None,
        )
        if line is None:
            return None
        u = line.u if self.coupled else gamma_dispersion(rows, line.eta)
        if not abs(u) < MAX_DISTANCE:
            return None
        found = solution_of(rows, line, self.intercept, rules.capacity)
        shared = Shared(found.model, jnp.asarray([u]))
        return eqx.tree_at(lambda s: s.model, found, shared)

    def _alternate(self, key: Key, hyper: dict, batch: Batch) -> Solution:
        """Alternate until u stands still; the status has the steps of the longest round."""
        X = batch.x[0] if isinstance(batch.x, tuple) else batch.x
        prior = ridge_prior(X, strength(hyper, batch.w, True), hyper)
        location, u = self._start(batch)
        model = start_at(batch.x, location[None], self.intercept)
        limits = self._limits(u, batch)
        if not self.coupled:
            found = self._location(key, prior, model, jnp.zeros_like(u), batch)
            u = self._dispersion(found.model(batch.x)[0], u, limits, batch)
            return eqx.tree_at(lambda s: s.model, found, Shared(found.model, u[None]))

        def again(state):
            before, u, _, rounds = state
            found = self._location(key, prior, before.model, u, batch)
            steps = jnp.maximum(before.status.steps, found.status.steps)
            found = eqx.tree_at(lambda s: s.status.steps, found, steps)
            new = self._dispersion(found.model(batch.x)[0], u, limits, batch)
            return found, new, jnp.abs(new - u), rounds + 1

        def moving(state):
            _, u, change, rounds = state
            return (change > 1e-10 * (1 + jnp.abs(u))) & (rounds < MAX_ROUNDS)

        nothing = _zeros_like(self._location, key, prior, model, u, batch)
        first = eqx.tree_at(lambda s: s.model, nothing, model)
        state = (first, u, jnp.asarray(jnp.inf), jnp.asarray(0))
        found, u, *_ = jax.lax.while_loop(moving, again, state)
        return eqx.tree_at(lambda s: s.model, found, Shared(found.model, u[None]))

    def _location(self, key: Key, prior, model, u, batch: Batch) -> Solution:
        """W where the dispersion is e^u."""
        rows = Normalisation.of(batch)
        objective = _Location(self.unit, jnp.asarray(u), prior, rows)
        return self.solver.minimize(objective, model, batch, key=key)

    def _dispersion(self, eta: Float[Array, "n 1"], u, limits, batch: Batch):
        """u where W is known: Newton's method on a line, never more than 2 at once."""

        def loss(u) -> Float[Array, ""]:
            both = jnp.concatenate([eta, jnp.broadcast_to(u, eta.shape)], 1)
            return weighted_mean(-self.family.log_prob(both, batch.y), batch.w)

        slope = jax.grad(loss)

        def step(state):
            u, _, steps = state
            h = 1e-4
            g, above, below = jax.vmap(slope)(jnp.stack([u, u + h, u - h]))
            second = jnp.maximum(jnp.abs(above - below) / (2 * h), 1e-12)
            new = jnp.clip(u - jnp.clip(g / second, -2.0, 2.0), *limits)
            return new, jnp.abs(new - u), steps + 1

        def moving(state):
            return (state[1] > 1e-11) & (state[2] < 50)

        return jax.lax.while_loop(moving, step, (u, jnp.asarray(jnp.inf), 0))[0]

    def _start(self, batch: Batch) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """A location and a dispersion to start from."""
        zero = jnp.zeros((), batch.y.dtype)
        if self.fixed == "scale":
            return zero, zero
        return self.unit.marginal(batch.y, batch.w)[0], zero

    def _limits(self, u: Float[Array, ""], batch: Batch) -> tuple[Array, Array]:
        """How small and how large u may get."""
        if self.fixed == "concentration" and self.coupled:
            mean = jnp.maximum(weighted_mean(batch.y, batch.w), 1.0)
            return u - MAX_DISTANCE, jnp.log(MAX_CONCENTRATION * mean)
        return u - MAX_DISTANCE, u + MAX_DISTANCE

    def losses(self, phi: Solution, batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    def eta(self, phi: Solution, X: Any) -> Float[Array, "n k"]:
        """(x·w + b, u)."""
        return phi.model(X)[0]

    def penalty(self, phi: Solution, hyper: dict, w: Any) -> tuple[Any, None]:
        """α, in nats; in units of 1/s² where there is a scale s."""
        unit = jnp.exp(2 * phi.model.tail[0]) if self.fixed == "scale" else 1.0
        return hyper["alpha"] * w.sum() * unit, None

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


def _tiny(y: Array) -> float:
    """A number as small as a scale may get."""
    return float(jnp.finfo(y.dtype).tiny) ** 0.5


def _zeros_like(f, *args) -> PyTree:
    """Zeros in the shape of what f returns: one copy of f in a program is enough."""
    shapes = eqx.filter_eval_shape(f, *args)
    return jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)


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
