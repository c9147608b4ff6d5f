r"""The pure core of networks: scaling, a multilayer perceptron, a family, a solver."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.rows import fill_absent, weighted_mean
from likely.families import AbstractFamily, Normal
from likely.layers.chain import initial_state
from likely.models import MLP, Shared
from likely.objectives import GaussianPrior, NegativeLogLikelihood
from likely.solvers import Adam
from likely.typing import Batch, Key, Solution


class RowScaling(eqx.Module):
    """Where the inputs and the target are, and how wide they spread."""

    center: Float[Array | np.ndarray, "*batch d"]
    scale: Float[Array | np.ndarray, "*batch d"]
    shift: Float[Array | np.ndarray, "*batch"]
    spread: Float[Array | np.ndarray, "*batch"]

    @classmethod
    def of(cls, data: Batch, numeric: bool) -> "RowScaling":
        """Of present rows, weighted; a constant column is only centred."""
        center, scale = _moments(data.x, data.w)
        zero = jnp.zeros((), data.x.dtype)
        shift, spread = _moments(data.y, data.w) if numeric else (zero, zero + 1)
        return cls(center, scale, shift, spread)

    def __call__(self, data: Batch) -> Batch:
        """The rows in units of their spread."""
        return Batch(self.inputs(data.x), (data.y - self.shift) / self.spread, data.w)

    def inputs(self, X: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The inputs in units of their spread."""
        return (X - self.center[None]) / self.scale[None]


def _moments(values: Array, w: Array) -> tuple[Array, Array]:
    mean = weighted_mean(values, w)
    spread = jnp.sqrt(weighted_mean((values - mean[None]) ** 2, w))
    tiny = 1e-12 * (1 + jnp.abs(mean))
    return mean, jnp.where(spread > tiny, spread, 1.0)


class Network(eqx.Module):
    """φ of a network: the solution on scaled rows, and the scaling."""

    solution: Solution
    scaling: RowScaling


class Start(eqx.Module):
    """What a solver needs to begin."""

    objective: NegativeLogLikelihood
    model: Any
    data: Batch
    state: Any
    scaling: RowScaling


class NetworkLearner(eqx.Module):
    """The recipe with a network: a family, its layers, and a solver."""

    family: AbstractFamily
    network: MLP
    solver: Any

    def start(self, key: Key, hyper: dict[str, Any], batch: Batch) -> Start:
        """The objective on scaled rows, and the first weights."""
        data = fill_absent(jax.tree.map(jnp.asarray, batch))
        scaling = RowScaling.of(data, self._numeric)
        prior = GaussianPrior(hyper["alpha"])
        outputs = 1 if self._numeric else self.family.n_eta
        model = self.network.build(data.x.shape[1], outputs, key=key)
        if self._numeric:
            model = Shared(model, jnp.zeros(1))
        scaled = scaling(data)
        objective = NegativeLogLikelihood.of(self.family, scaled, prior)
        return Start(objective, model, scaled, initial_state(model), scaling)

    def learn(self, key: Key, hyper: dict[str, Any], batch: Batch) -> Network:
        """φ from data, in one program."""
        first, then = jax.random.split(key)
        start = self.start(first, hyper, batch)
        found = self.with_rate(hyper).minimize(
            start.objective, start.model, start.data, key=then, state=start.state
        )
        return Network(self._settled(found, start.data), start.scaling)

    def _settled(self, found: Solution, data: Batch) -> Solution:
        """The solution with the σ that is likeliest for its curve, which has a formula."""
        if not self._numeric:
            return found
        eta, _ = found.model(data.x, state=found.state)
        variance = weighted_mean((data.y - eta[:, 0]) ** 2, data.w)
        tiny = jnp.finfo(variance.dtype).tiny ** 0.5
        log_scale = 0.5 * jnp.log(jnp.maximum(variance, tiny))
        return eqx.tree_at(lambda s: s.model.tail, found, log_scale[None])

    def with_rate(self, hyper: dict[str, Any]) -> Any:
        """The solver at the learning rate of these settings."""
        if not isinstance(self.solver, Adam):
            return self.solver
        rate = hyper["learning_rate_init"]
        return eqx.tree_at(lambda s: s.rate.value, self.solver, rate)

    def eta(self, phi: Network, X: Float[Array, "n d"]) -> Float[Array, "n k"]:
        """η of each row, in the units of the data."""
        found, scaling = phi.solution, phi.scaling
        eta, _ = found.model(scaling.inputs(X), state=found.state)
        if not self._numeric:
            return eta
        loc = eta[:, 0] * scaling.spread + scaling.shift
        return jnp.stack([loc, eta[:, 1] + jnp.log(scaling.spread)], axis=1)

    def losses(self, phi: Network, batch: Batch) -> Float[Array, " n"]:
        """−log p(yᵢ | xᵢ) of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    @property
    def _numeric(self) -> bool:
        return isinstance(self.family, Normal)


@eqx.filter_jit
def start(learner: NetworkLearner, key: Key, hyper: dict, batch: Batch) -> Start:
    """What a solver needs to begin, compiled once for each learner and size class."""
    return learner.start(key, hyper, batch)
