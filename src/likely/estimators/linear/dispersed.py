r"""The learner of linear models whose second parameter is shared by all rows.

It alternates

$$W \leftarrow \arg\min_W l(W, u), \qquad u \leftarrow \arg\min_u l(W, u),$$

u the logarithm of that parameter (a shape, a scale). For gamma regression W does not depend on u
at all, for negative binomial regression the two are orthogonal, so a few rounds are enough.
"""

from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.core.numerics import bounded
from likely.core.rows import weighted_mean
from likely.estimators.linear.fitting.host_newton import (
    GAMMA,
    Losses,
    Rows,
    fitted_line,
    gamma_dispersion,
    solution_of,
)
from likely.estimators.linear.fitting.matrix_free import (
    FAMILIES as SPARSE_FAMILIES,
    fit_matrix_free,
    is_sparse,
)
from likely.estimators.linear.glm import (
    has_rules,
    rules_of,
    start_at,
    strength,
    trim,
)
from likely.estimators.linear.inference.uncertainty import AbstractLinearLearner
from likely.estimators.linear.ridge_prior import ridge_prior
from likely.families import AbstractFamily, Gamma, Huber, NegativeBinomial, Tweedie
from likely.families.huber_distribution import huber_loss
from likely.families.negative_binomial_slopes import (
    dispersion_step,
    location_slopes,
)
from likely.families.weighted import weighted_median
from likely.models import Shared
from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.solvers import Newton
from likely.typing import Batch, Key, Solution, Solver

MAX_ROUNDS = 100
MAX_DISTANCE = 30.0
"""How far the logarithm of the dispersion may move from its start."""
MAX_CONCENTRATION = 1e6
"""r over the mean count from which a negative binomial is a Poisson distribution."""


def _count_loss(eta, u, y) -> np.ndarray:
    """−log p of a negative binomial less what does not depend on η."""
    return (np.exp(u) + y) * np.logaddexp(0.0, eta - u) - y * eta


COUNTS = Losses(_count_loss, location_slopes)


def _next_dispersion(rows: Rows, highest: float, eta: np.ndarray, u: float) -> float:
    limits = -MAX_DISTANCE, highest
    return dispersion_step(eta, u, rows.y, rows.w, limits)


def _sparse_dispersion(highest: float, rows: Any, eta: np.ndarray, u: float) -> float:
    limits = -MAX_DISTANCE, highest
    return dispersion_step(eta, u, rows.y.astype(float), rows.share, limits)


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
    rotates: ClassVar[bool] = True

    @property
    def folds_on_host(self) -> bool:
        """Whether `on_host` has an answer."""
        return isinstance(self.family, NegativeBinomial | Gamma)

    @property
    def takes_sparse(self) -> bool:
        """Whether rows may be a sparse matrix as it is."""
        return has_rules(self.solver) and type(self.family) in SPARSE_FAMILIES

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
        if is_sparse(batch.x):
            return self._matrix_free(hyper, batch)
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

    def _matrix_free(self, hyper: dict, batch: Batch) -> Solution:
        """The line and its dispersion by products of the columns alone."""
        counts = type(self.family) is NegativeBinomial
        mean = float(batch.w @ batch.y / batch.w.sum())
        highest = float(np.log(MAX_CONCENTRATION * max(mean, 1.0)))
        found, u, eta, rows = fit_matrix_free(
            self.family,
            batch,
            alpha=float(hyper["alpha"]),
            intercept=self.intercept,
            start=np.log([mean]),
            rules=rules_of(self.solver),
            losses=COUNTS if counts else None,
            turn=partial(_sparse_dispersion, highest) if counts else None,
        )
        if not counts:
            here = Rows(rows.X, rows.y, rows.share, 0.0, np.ones(1, bool), rows.is_pair)
            u = min(gamma_dispersion(here, eta[:, 0]), MAX_DISTANCE)
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


def _tiny(y: Array) -> float:
    """A number as small as a scale may get."""
    return float(jnp.finfo(y.dtype).tiny) ** 0.5


def _zeros_like(f, *args) -> PyTree:
    """Zeros in the shape of what f returns: one copy of f in a program is enough."""
    shapes = eqx.filter_eval_shape(f, *args)
    return jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)
