r"""Networks with and without batch norm, trained by plain SGD at many rates from many seeds.

All rates and seeds of a network are one program. A training is cut into segments, so that the
weights on the way are known; SGD remembers nothing else, so the cuts change nothing.

A third network has batch norm without its noise: the gradient comes from the same minibatches,
but means and variances from all rows.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.core.compiling import lean_jit
from likely.layers import initial_state
from likely.models import MLP
from likely.solvers import Constant, GradientDescent
from likely.typing import Batch, Key, State

SEGMENTS = 5


class BatchStatistics(eqx.Module):
    """The loss with the means and variances of the minibatch: the usual batch norm."""

    objective: Any

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The loss of a minibatch."""
        rows, _ = batch.x
        return self.objective(
            model, Batch(rows, batch.y, batch.w), key=key, state=state
        )


class AllStatistics(eqx.Module):
    """The loss of a minibatch with the means and variances of all rows."""

    objective: Any
    X: Float[Array, "n d"]
    w: Float[Array, " n"]

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The loss of a minibatch, whose rows are among all rows by number."""
        _, numbers = batch.x
        eta, state = model(self.X, w=self.w, key=key, state=state)
        losses = self.objective.pointwise(eta[numbers], batch.y)
        return self.objective.rows.mean(losses, batch.w), state


class Runs(NamedTuple):
    """Weights and running statistics of several trainings: axes of rates and seeds lead."""

    params: PyTree
    state: State


class Arm(eqx.Module):
    """A network to be trained: its architecture, loss and rows."""

    network: MLP
    objective: Any
    data: Batch
    """With rows and their numbers as inputs."""
    n_out: int = eqx.field(static=True)
    batch_size: int = eqx.field(static=True)

    @property
    def rows(self) -> Batch:
        """The rows without their numbers."""
        return self.data._replace(x=self.data.x[0])

    @property
    def static(self) -> Any:
        """The model without its weights."""
        shape = self.data.x[0].shape[1]
        model = eqx.filter_eval_shape(
            lambda key: self.network.build(shape, self.n_out, key=key),
            jax.random.key(0),
        )
        return eqx.filter(model, lambda leaf: not hasattr(leaf, "shape"))

    def model(self, params: PyTree) -> Any:
        """The model with these weights."""
        return eqx.combine(params, self.static)


def train(
    arm: Arm, rates: Float[np.ndarray, " r"], keys: Any, n_steps: int
) -> list[Runs]:
    """The runs before training and after each segment.

    Args:
        arm: the network.
        rates: of SGD.
        keys: (s,) one for each seed: of the first weights and of the minibatches.
        n_steps: steps in all.
    """
    steps = -(-n_steps // SEGMENTS)
    runs = [first_weights(arm, keys, len(rates))]
    for number in range(SEGMENTS):
        own = jax.vmap(jax.random.fold_in, (0, None))(keys, number + 1)
        runs.append(
            _segment(arm, runs[-1], jnp.asarray(rates, jnp.float32), own, steps)
        )
    return runs


@lean_jit
def first_weights(arm: Arm, keys: Any, n_rates: int) -> Runs:
    """The runs before training, the same for all rates."""

    def one(key: Key) -> Runs:
        d = arm.data.x[0].shape[1]
        model = arm.network.build(d, arm.n_out, key=key)
        return Runs(eqx.filter(model, eqx.is_inexact_array), initial_state(model))

    own = jax.vmap(jax.random.fold_in, (0, None))(keys, 0)
    runs = jax.vmap(one)(own)
    return jax.tree.map(lambda a: jnp.broadcast_to(a, (n_rates, *a.shape)), runs)


@lean_jit
def _segment(arm: Arm, runs: Runs, rates: Array, keys: Any, steps: int) -> Runs:
    def one(run: Runs, rate: Array, key: Key) -> Runs:
        solver = GradientDescent(Constant(rate), steps=steps, batch_size=arm.batch_size)
        found = solver.minimize(
            arm.objective, arm.model(run.params), arm.data, key=key, state=run.state
        )
        return Runs(eqx.filter(found.model, eqx.is_inexact_array), found.state)

    seeds = jax.vmap(one, (0, None, 0))
    return jax.vmap(seeds, (0, 0, None))(runs, rates, keys)


def picked(runs: Runs, rate: int) -> Runs:
    """The runs of one rate: the axis of seeds leads."""
    return jax.tree.map(lambda a: a[rate], runs)


@lean_jit
def final_losses(arm: Arm, runs: Runs, key: Key) -> Float[Array, "r s"]:
    """The training loss of all rows together, as it is minimised."""

    def one(run: Runs) -> Array:
        again = jax.random.clone(key)
        return _loss(arm, run, arm.rows, again)

    return jax.vmap(jax.vmap(one))(runs)


@lean_jit
def losses_in_use(arm: Arm, runs: Runs, rows: Batch) -> Float[Array, " s"]:
    """The mean loss of rows with running statistics, for each seed."""
    share = len(rows.w) * arm.objective.objective.rows.mean_weight / rows.w.sum()
    rows = rows._replace(w=rows.w * share)
    return jax.vmap(lambda run: _loss(arm, run, rows, None))(runs)


def _loss(arm: Arm, run: Runs, rows: Batch, key: Key | None) -> Array:
    return arm.objective.objective(
        arm.model(run.params), rows, key=key, state=run.state
    )[0]
