r"""The posterior of a network as a log density of its weights.

The objective of a fit is in nats per unit of weight, so that

$$\log p(φ \mid \text{data}) = -\Bigl(\sum_i w_i\Bigr) f(φ) + \mathrm{const},$$

with rows in the units that the network is trained in. Weights and biases have the prior
N(0, 1/α) (under a flat prior of biases a unit that is off for all rows makes the posterior
improper); scales that all rows share have a flat one. Hidden units may change places, so
weights themselves say nothing: diagnostics are of η at some of the rows.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely import recipe
from likely.base.training.members import Network
from likely.base.training.trainer import cast, member_of
from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.numerics import HALF_LOG_2PI
from likely.core.precision import float64
from likely.core.rows import fill_absent, pad
from likely.estimators.networks.learner import own_entries
from likely.estimators.networks.predictor import NetworkPredictor
from likely.models import Shared

MAX_PARAMETERS = 5000
SHOWN_ROWS = 10


def _held(model: Any) -> PyTree:
    """The arrays that the prior holds: all but the entries of η that rows share."""
    inner = model.model if isinstance(model, Shared) else model
    return eqx.filter(inner, eqx.is_inexact_array)


def _some_rows(batch: Any) -> Any:
    """A few present rows, evenly spaced."""
    here = np.flatnonzero(batch.w > 0)
    rows = here[np.unique(np.linspace(0, len(here) - 1, SHOWN_ROWS).astype(int))]
    return jax.tree.map(lambda a: np.asarray(a)[rows], batch.x)


@lean_jit
def _shown_etas(target: Any, layout: Any, Z: Float[Array | np.ndarray, "m p"]):
    def one(z):
        return target.eta(layout.tree(z), target.shown)

    return jax.lax.map(one, Z, batch_size=100)


class NetworkTarget(eqx.Module):
    """log p(weights | data) of a fitted network; the free parameters are its arrays."""

    learner: Any
    phi: Network
    objective: Any
    data: Any
    alpha: Any
    constant: Any
    shown: Any
    """Rows at which η is looked at."""

    @classmethod
    def of(cls, model: NetworkPredictor, rows: tuple) -> "NetworkTarget":
        """The posterior of an estimator that was fitted to these rows (X, y, weights)."""
        if model._stochastic():
            raise InputError(
                "a network with dropout or batch norm has no one likelihood of its "
                "weights; set dropout=0 and another norm."
            )
        with float64():
            phi = cast(member_of(model.phi_, 0), np.float64)
            phi = eqx.tree_at(
                lambda p: p.calibration, phi, None, is_leaf=lambda a: a is None
            )
            learner, batch = model.learner_, pad(model._batch(*rows))
            alpha = float(model._options(batch.w).hyper["alpha"])
            if not alpha > 0:
                raise InputError(
                    "the network has no prior (alpha is 0), and rows alone do not "
                    "determine its weights; give alpha above 0."
                )
            scaled = phi.scaling(fill_absent(jax.tree.map(jnp.asarray, batch)))
            objective, data = recipe.objective_of(
                learner.family, scaled, None, learner._likelihood
            )
            weights = sum(a.size for a in jax.tree.leaves(_held(phi.solution.model)))
            spread = np.log(np.asarray(phi.scaling.spread)).sum()
            constant = weights * (0.5 * np.log(alpha) - HALF_LOG_2PI)
            constant -= float(np.sum(batch.w)) * spread
            some = _some_rows(batch)
            target = cls(
                learner,
                phi,
                objective,
                data,
                np.asarray(alpha),
                np.asarray(constant),
                some,
            )
        size = sum(leaf.size for leaf in jax.tree.leaves(target.start))
        if size > MAX_PARAMETERS:
            raise InputError(
                f"the network has {size} parameters; posterior draws are for networks of "
                f"up to {MAX_PARAMETERS}. Use laplace=True or n_members instead."
            )
        return target

    @property
    def start(self) -> PyTree:
        """The parameters of the fit."""
        return eqx.filter(self.phi.solution.model, eqx.is_inexact_array)

    def _model(self, free: PyTree) -> Any:
        static = eqx.filter(self.phi.solution.model, eqx.is_inexact_array, inverse=True)
        return eqx.combine(free, static)

    def __call__(self, free: PyTree) -> Float[Array | np.ndarray, ""]:
        """log p(data | φ) + log p(φ)."""
        state = self.phi.solution.state
        model = self._model(free)
        loss, _ = self.objective(model, self.data, key=None, state=state)
        squares = sum(jnp.sum(a**2) for a in jax.tree.leaves(_held(model)))
        return self.constant - self.data.w.sum() * loss - 0.5 * self.alpha * squares

    @property
    def log_likelihood(self) -> float:
        """log p(data | φ) of the fit, in nats of the scaled target."""
        with float64():
            found = self.phi.solution
            loss, _ = self.objective(
                found.model, self.data, key=None, state=found.state
            )
            return -float(self.data.w.sum() * loss)

    def eta(self, free: PyTree, x: Any) -> Float[Array | np.ndarray, "n k"]:
        """η of rows, in the units of the data."""
        phi = eqx.tree_at(lambda p: p.solution.model, self.phi, self._model(free))
        return self.learner.eta(phi, x)

    def report(self, layout: Any, Z: Float[np.ndarray, "c n p"]):
        """η at a few rows, (c, n, q), and their names."""
        flat = Z.reshape(-1, Z.shape[-1])
        with float64():
            etas = np.asarray(_shown_etas(self, layout, flat))
        own = own_entries(self.learner.family, self.learner.shared)
        rest = np.setdiff1d(np.arange(etas.shape[-1]), own)
        names = [
            f"eta[{i}]" if len(own) == 1 else f"eta[{i}, {j}]"
            for i in range(etas.shape[1])
            for j in own
        ]
        found = [etas[..., own].reshape(len(etas), -1), etas[:, 0, rest]]
        names += [f"shared eta[{j}]" for j in rest]
        return np.concatenate(found, axis=1).reshape(*Z.shape[:2], -1), names
