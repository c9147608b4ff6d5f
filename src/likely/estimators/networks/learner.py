r"""The pure core of networks: scaling, an architecture, a family, a solver.

An architecture is plain data with one method, `build(shape, n_out, *, key)`, which makes
the model for rows of this shape (`models.MLP` inside `TableNetwork`, or any other). The
core scales inputs and target, starts the model near the null model, hands it
to the solver, and brings η back to the units of the data.
"""

from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely import recipe
from likely.base.training.bodies import Body
from likely.base.training.members import Network, Start
from likely.base.training.regimes import Regime, released
from likely.core.rows import fill_absent, weighted_mean
from likely.estimators.networks.units import (
    first_eta,
    in_data_units,
    outputs_of,
    target_units,
)
from likely.families import AbstractFamily, Normal
from likely.layers import Chain, Dense, MixedPrecision
from likely.layers.composition.chain import initial_state
from likely.models import Shared
from likely.objectives import (
    GaussianPrior,
    NegativeLogLikelihood,
    PositionLikelihood,
)
from likely.solvers.first_order.rules import AbstractFirstOrder
from likely.solvers.first_order.schedules import rate_height
from likely.typing import Batch, Key, Model, Solution


@runtime_checkable
class Architecture(Protocol):
    """The settings of a network: hashable, without arrays."""

    def build(self, shape: tuple[int, ...], n_out: int, *, key: Key) -> Model:
        """The model from rows of this shape to n_out entries of η."""
        ...


class RowScaling(eqx.Module):
    """Where the inputs and the target are, and how wide they spread."""

    center: Float[Array | np.ndarray, "*batch"]
    scale: Float[Array | np.ndarray, "*batch"]
    shift: Float[Array | np.ndarray, "*outputs"]
    spread: Float[Array | np.ndarray, "*outputs"]

    @classmethod
    def of(
        cls,
        data: Batch,
        family: AbstractFamily,
        inputs: str = "columns",
        plain: tuple[int, ...] = (),
        *,
        positions: bool = False,
    ) -> "RowScaling":
        """Of present rows, weighted; a constant column is only centred.

        Args:
            data: the rows.
            family: which says whether the target has units.
            inputs: "columns" scales every entry of a row by itself, "channels" all
                places of the last axis together, "present" too, where the last channel
                says which positions are there, "none" nothing.
            plain: columns, or channels of "present", that stay as they are.
            positions: whether y has a value for each position of a row.
        """
        shift, spread = target_units(
            family, data.y, data.w, _moments, positions=positions
        )
        return cls(*_of_inputs(data, inputs, plain), shift, spread)

    def __call__(self, data: Batch) -> Batch:
        """The rows in units of their spread."""
        y = data.y
        shift, spread = (a[None] if a.ndim else a for a in (self.shift, self.spread))
        return Batch(self.inputs(data.x), (y - shift) / spread, data.w)

    def inputs(self, X: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        """The inputs in units of their spread."""
        front = (1,) * (X.ndim - self.center.ndim)
        center, scale = (a.reshape(front + a.shape) for a in (self.center, self.scale))
        return (X - center) / scale


def _of_inputs(data: Batch, inputs: str, plain: tuple[int, ...]) -> tuple[Array, Array]:
    X, w = data.x, data.w
    if inputs == "none":
        return jnp.zeros((), X.dtype), jnp.ones((), X.dtype)
    if inputs == "channels":
        places = X.size // (len(X) * X.shape[-1])
        flat = X.reshape(-1, X.shape[-1])
        return _moments(flat, jnp.repeat(w, places))
    if inputs == "present":
        flat, here = X[..., :-1].reshape(-1, X.shape[-1] - 1), X[..., -1].reshape(-1)
        values = jnp.where(here[:, None] > 0, flat, 0.0)
        moments = _moments(values, here * jnp.repeat(w, len(here) // len(X)))
        center, scale = (
            jnp.append(a, b) for a, b in zip(moments, (0.0, 1.0), strict=True)
        )
    else:
        center, scale = _moments(X, w)
    where = jnp.asarray(plain, int)
    return center.at[where].set(0.0), scale.at[where].set(1.0)


def _moments(values: Array, w: Array) -> tuple[Array, Array]:
    mean = weighted_mean(values, w)
    spread = jnp.sqrt(weighted_mean((values - mean[None]) ** 2, w))
    tiny = 1e-12 * (1 + jnp.abs(mean))
    return mean, jnp.where(spread > tiny, spread, 1.0)


class NetworkLearner(eqx.Module):
    """The recipe with a network.

    Args:
        family: p(y | θ).
        network: an `Architecture`.
        solver: any solver.
        shared: how many entries at the end of each output's η all rows share.
        inputs: how inputs are scaled, see `RowScaling`.
        plain: columns that are not scaled.
        rated: whether the learning rate of the solver is a hyper-parameter.
        positions: whether y and η have a value for each position of a row.
        regime: what of the network is trained.
        pretrained: whether the body begins from another network, near which the prior is.
    """

    family: AbstractFamily
    network: Any
    solver: Any
    shared: int = eqx.field(static=True, default=0)
    inputs: str = eqx.field(static=True, default="columns")
    plain: tuple[int, ...] = eqx.field(static=True, default=())
    rated: bool = eqx.field(static=True, default=True)
    positions: bool = eqx.field(static=True, default=False)
    regime: Regime = eqx.field(static=True, default=Regime())
    pretrained: bool = eqx.field(static=True, default=False)

    def start(
        self,
        key: Key,
        hyper: dict[str, Any],
        batch: Batch,
        begin: Network | Body | None = None,
    ) -> Start:
        """The objective on scaled rows, and the first weights, or those of `begin`.

        Of the weights of a `Body` the head is new.
        """
        data = fill_absent(jax.tree.map(jnp.asarray, batch))
        if isinstance(begin, Network):
            scaling = begin.scaling
        else:
            scaling = self.scaling_of(data)
            scaling = scaling if begin is None else begin.scaled(scaling)
        scaled, own = scaling(data), None
        if self.regime.adds:
            key, own = jax.random.split(key)
        if isinstance(begin, Network):
            model, state = begin.solution.model, begin.solution.state
        else:
            model = self.build(scaled, key)
            state = initial_state(model)
            if begin is not None:
                model, state = begin.graft(model, state)
        model = self.regime.constrain(model, own)
        objective, scaled = recipe.objective_of(
            self.family, scaled, self._prior(model, hyper), self._likelihood
        )
        return Start(objective, model, scaled, state, scaling)

    def _prior(self, model: Any, hyper: dict[str, Any]) -> Any:
        """Of the weights of a model that is about to be trained."""
        prior = GaussianPrior(alpha=hyper["alpha"])
        return self.regime.prior_of(model, prior) if self.pretrained else prior

    def scaling_of(self, data: Batch) -> RowScaling:
        """The units of rows that are present."""
        return RowScaling.of(
            data, self.family, self.inputs, self.plain, positions=self.positions
        )

    @property
    def _likelihood(self) -> Any:
        return PositionLikelihood if self.positions else NegativeLogLikelihood

    def build(self, data: Batch, key: Key) -> Any:
        """The model with its first weights, its outputs at the null model."""
        own = own_entries(self.family, self.shared)
        tail = np.setdiff1d(np.arange(self.family.n_eta), own)
        first = first_eta(self.family, data.y, data.w, positions=self.positions)
        model = self.network.build(data.x.shape[1:], len(own), key=key)
        model = with_bias(model, first[own])
        if not self.shared:
            return model
        order = np.argsort(np.concatenate([own, tail]))
        plain = bool((order == np.arange(len(order))).all())
        order = None if plain else tuple(map(int, order))
        return Shared(model, first[tail], order)

    def learn(
        self,
        key: Key,
        hyper: dict[str, Any],
        batch: Batch,
        begin: Network | Body | None = None,
    ) -> Network:
        """φ from data, in one program."""
        first, then = jax.random.split(key)
        start = self.start(first, hyper, batch, begin)
        found = recipe.fit(
            self.family,
            start.model,
            start.data,
            prior=self._prior(start.model, hyper),
            solver=self.with_rate(hyper),
            key=then,
            state=start.state,
            likelihood=self._likelihood,
        ).solution
        found = self._with_best_scale(released(found), start.data)
        return Network(found, start.scaling)

    def _with_best_scale(self, found: Solution, data: Batch) -> Solution:
        """The solution with the most likely σ for its curve, which has a formula."""
        if not (isinstance(self.family, Normal) and self.shared):
            return found
        eta, _ = found.model(data.x, state=found.state)
        variance = weighted_mean((data.y - eta[:, 0]) ** 2, data.w)
        tiny = jnp.finfo(variance.dtype).tiny ** 0.5
        log_scale = 0.5 * jnp.log(jnp.maximum(variance, tiny))
        return eqx.tree_at(lambda s: s.model.tail, found, log_scale[None])

    def with_rate(self, hyper: dict[str, Any]) -> Any:
        """The solver at the learning rate of these settings."""
        if not (self.rated and isinstance(self.solver, AbstractFirstOrder)):
            return self.solver
        return eqx.tree_at(
            lambda s: rate_height(s.rate), self.solver, hyper["learning_rate_init"]
        )

    def eta(self, phi: Network, X: Float[Array, "n ..."]) -> Float[Array, "n *p k"]:
        """η of each row, in the units of the data."""
        found, scaling = phi.solution, phi.scaling
        eta, _ = found.model(scaling.inputs(X), state=found.state)
        a, b = in_data_units(self.family, scaling.shift, scaling.spread)
        front = (1,) * (eta.ndim - 1)
        eta = eta * a.reshape(*front, -1) + b.reshape(*front, -1)
        if phi.calibration is None:
            return eta
        slope, offset = phi.calibration
        return eta * slope.reshape(*front, -1) + offset.reshape(*front, -1)

    def losses(self, phi: Network, batch: Batch) -> Float[Array, " n"]:
        """−log p(yᵢ | xᵢ) of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    @staticmethod
    def __upgrade__(fields: dict) -> dict:
        """Before families could be chosen, the scale of a normal was shared."""
        if "shared" not in fields:
            fields["shared"] = int(isinstance(fields["family"], Normal))
        return fields


def own_entries(family: AbstractFamily, shared: int) -> np.ndarray:
    """Which entries of η the network computes; all rows share the others."""
    own, start = [], 0
    for member in outputs_of(family):
        own += range(start, start + member.n_eta - shared)
        start += member.n_eta
    return np.array(own, int)


def last_layer(model: Any) -> Any:
    """The dense layer that a model ends with, or None."""
    inner = getattr(model, "model", model)  # `Shared`, `MixedPrecision`
    if inner is not model:
        return last_layer(inner)
    last = model.layers[-1] if isinstance(model, Chain) else None
    if isinstance(last, MixedPrecision):
        return last_layer(last)
    return last if isinstance(last, Dense) else None


def with_bias(model: Any, bias: Float[Array, " k"]) -> Any:
    """The model with this bias in its last layer, where there is one."""
    last = last_layer(model)
    if last is None or last.bias is None:
        return model
    return eqx.tree_at(
        lambda m: last_layer(m).bias, model, bias.astype(last.bias.dtype)
    )


def parameter_count(network: Any, shape: tuple[int, ...], n_eta: int) -> int:
    """The number of parameters of the model that an architecture builds."""
    try:
        return _counted(network, shape, n_eta)
    except TypeError:  # not hashable, so not remembered
        return _counted.__wrapped__(network, shape, n_eta)


@lru_cache(maxsize=64)
def _counted(network: Any, shape: tuple[int, ...], n_eta: int) -> int:
    model = eqx.filter_eval_shape(
        lambda key: network.build(shape, n_eta, key=key), jax.random.key(0)
    )
    arrays = eqx.filter(model, lambda a: hasattr(a, "shape"))
    return sum(int(np.prod(a.shape)) for a in jax.tree.leaves(arrays))
