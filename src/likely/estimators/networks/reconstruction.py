r"""Hidden entries of rows: what a network can learn without labels.

A part of the entries of each row (of the patches of each image) is hidden: set to zero in
units of their spread. The network says what they were; the loss is

$$\frac12 \sum_{\text{hidden}} (\hat x_j - x_j)^2 \Big/ \text{hidden entries, on average}.$$
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.base.training.members import Network, Start
from likely.core.rows import fill_absent
from likely.estimators.networks.learner import RowScaling
from likely.families import Normal
from likely.layers.composition.chain import initial_state
from likely.objectives.priors import GaussianPrior
from likely.objectives.rows import Normalisation
from likely.solvers.first_order.rules import AbstractFirstOrder
from likely.typing import Batch, Key, Model, State


class EntryMasking(eqx.Module):
    """A perturbation that draws which entries of each row are hidden: y is 1 there, else 0.

    Args:
        fraction: the part that is hidden.
        patch: the side of the patches that are hidden together in images; 0 for tables.
    """

    fraction: Float[Array | np.ndarray, ""]
    patch: int = eqx.field(static=True, default=0)

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """The parameters as they are, and the rows with what is hidden of them."""
        return params, batch._replace(y=self.draw(batch.x.shape, key, batch.x.dtype))

    def draw(self, shape: tuple[int, ...], key: Key, dtype: Any) -> Array:
        """1 where an entry is hidden, 0 elsewhere."""
        if not self.patch:
            return (jax.random.uniform(key, shape) < self.fraction).astype(dtype)
        n, h, w, _ = shape
        grid = [-(-side // self.patch) for side in (h, w)]
        hidden = jax.random.uniform(key, (n, *grid)) < self.fraction
        for axis in (1, 2):
            hidden = jnp.repeat(hidden, self.patch, axis)
        return jnp.broadcast_to(hidden[:, :h, :w, None], shape).astype(dtype)


class Reconstruction(eqx.Module):
    """The mean squared error of the hidden entries, halved, and the prior.

    Args:
        rows: the normalisation over all the data.
        prior: p(φ).
        per_row: how many entries of a row are hidden, on average.
        plain: columns of codes, which are hidden but not predicted.
    """

    rows: Normalisation
    prior: GaussianPrior
    per_row: Float[Array | np.ndarray, ""]
    plain: tuple[int, ...] = eqx.field(static=True, default=())

    def __call__(
        self, model: Model, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The loss on rows whose y says which entries are hidden."""
        hidden = batch.y > 0
        shown = jnp.where(hidden, 0.0, batch.x)
        found, state = model(shown, w=batch.w, key=key, state=state)
        error = 0.5 * (found.reshape(batch.x.shape) - batch.x) ** 2
        predicted = np.ones(batch.x.shape[1:], bool)
        predicted[list(self.plain)] = False
        error = jnp.where(hidden & predicted[None], error, 0.0)
        sums = error.reshape(len(error), -1).sum(1) / self.per_row
        penalty = self.rows.penalty(self.prior, model)
        return self.rows.mean(sums, batch.w) + penalty, state


class ReconstructionLearner(eqx.Module):
    """A network that learns to say what is hidden of a row.

    Args:
        network: an `Architecture`.
        solver: a first-order solver whose noise is `EntryMasking`.
        per_row: how many entries of a row are hidden, on average.
        n_out: the outputs of the network.
        inputs: how inputs are scaled, see `RowScaling`.
        plain: columns of codes.
    """

    network: Any
    solver: Any
    per_row: Float[Array | np.ndarray, ""]
    n_out: int = eqx.field(static=True)
    inputs: str = eqx.field(static=True, default="columns")
    plain: tuple[int, ...] = eqx.field(static=True, default=())

    def scaling_of(self, data: Batch) -> RowScaling:
        """The units of the entries of present rows."""
        none = jnp.zeros(len(data.w), data.x.dtype)
        data = data._replace(y=none)
        return RowScaling.of(data, Normal(), self.inputs, self.plain)

    def start(
        self,
        key: Key,
        hyper: dict[str, Any],
        batch: Batch,
        begin: Network | None = None,
    ) -> Start:
        """The objective on scaled rows, and the first weights."""
        data = fill_absent(jax.tree.map(jnp.asarray, batch))
        scaling = self.scaling_of(data)
        scaled = scaling(data)
        model = self.network.build(data.x.shape[1:], self.n_out, key=key)
        prior = GaussianPrior(alpha=hyper["alpha"])
        objective = Reconstruction(
            Normalisation.of(scaled), prior, self.per_row, self.plain
        )
        return Start(objective, model, scaled, initial_state(model), scaling)

    def with_rate(self, hyper: dict[str, Any]) -> Any:
        """The solver at the learning rate of these settings."""
        assert isinstance(self.solver, AbstractFirstOrder)
        rate = hyper["learning_rate_init"]
        return eqx.tree_at(lambda s: s.rate.value, self.solver, rate)


@eqx.filter_jit
def drawn(masking: EntryMasking, X: Any, key: Key) -> Array:
    """Which entries of rows are hidden, on their own."""
    return masking.draw(X.shape, key, X.dtype)
