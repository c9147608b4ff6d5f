r"""A masked network that is trained under many orders of the columns, and answers in any.

In each step every quarter of the batch is in an order of its own, drawn at random. So
whatever is known of a row can come first: what is missing is then drawn exactly, and the
density is the mean over several orders, each of which is a density itself.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from likely.base.training.unsupervised import Cells, unpack
from likely.generative.autoregressive.columns import CodedColumns
from likely.generative.autoregressive.masked_density import MaskedDensity
from likely.generative.defended import TRAINING_SHARE, DefendedLikelihood
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key

ORDERS_PER_STEP = 4
"""Orders of a step, if its rows can be divided by as many."""
LOOK_ORDERS = 2
"""Orders in which held-out rows are judged."""


class MaskedTable(eqx.Module):
    """A masked network over columns, in one order or in any.

    Args:
        density: the network.
        any_order: whether it is trained under random orders.
    """

    density: MaskedDensity
    any_order: bool = eqx.field(static=True)

    def both(
        self, batch: Batch, *, key: Key | None = None, noise: Any = None
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """log p of each row, by the network and by what its training begins at.

        Args:
            batch: packed codes.
            key: in training, of orders, dropout and noise.
            noise: its standard deviation, on numbers.
        """
        cells = unpack(batch)
        q = cells.values.shape[1]
        if key is None:
            count = LOOK_ORDERS if self.any_order and q > 1 else 1
            orders = [jnp.asarray(order) for order in fixed_orders(q, count)]
            every = [self.density.log_probs(cells, order) for order in orders]
            own, start = (jnp.stack(a).mean(0) for a in zip(*every, strict=True))
            return own, start
        k_order, k_noise, k_drop = jax.random.split(key, 3)
        if noise is not None:
            cells = self._noisy(cells, noise, k_noise)
        if not self.any_order:
            return self.density.log_probs(cells, jnp.arange(q), key=k_drop)
        n = len(cells.values)
        groups = ORDERS_PER_STEP if n % ORDERS_PER_STEP == 0 else 1
        keys = jax.random.split(k_order, groups)
        orders = jax.vmap(lambda k: jax.random.permutation(k, q))(keys)
        parts = jax.tree.map(lambda a: a.reshape(groups, n // groups, -1), cells)
        own, start = jax.vmap(
            lambda c, o, k: self.density.log_probs(Cells(*c), o, key=k)
        )(parts, orders, jax.random.split(k_drop, groups))
        return own.reshape(n), start.reshape(n)

    def _noisy(self, cells: Cells, noise: Any, key: Key) -> Cells:
        """The cells with noise on numbers that are there, correlated as these are."""
        density, values = self.density, cells.values
        R = jnp.triu(jax.lax.stop_gradient(density.linear.whitening.factor))
        normal = jax.random.normal(key, (len(values), len(R)), values.dtype)
        kinds = np.array(density.columns.kinds)
        own = np.array([density.linear.variables.index(j) for j in range(len(kinds))])
        more = noise * (normal @ R)[:, own]
        moved = (kinds == "number")[None] & ~cells.missing
        return cells._replace(values=values + jnp.where(moved, more, 0.0))


class MaskedTableProblem(eqx.Module):
    """What is learned: a masked network that begins at linear predictions.

    Args:
        columns: the kinds of the columns.
        hidden: units in a hidden layer.
        n_hidden: the number of hidden layers.
        dropout: the probability to drop a hidden unit.
        any_order: whether it is trained under random orders.
        noise: standard deviation of the noise in training, or None.
        share: of the network in training.
    """

    columns: CodedColumns
    hidden: int = eqx.field(static=True)
    n_hidden: int = eqx.field(static=True)
    dropout: float = eqx.field(static=True)
    any_order: bool = eqx.field(static=True)
    noise: Any = None
    share: float = eqx.field(static=True, default=TRAINING_SHARE)

    def build(self, data: Batch, key: Key) -> MaskedTable:
        """The network with its first weights."""
        cells = unpack(data)
        density = MaskedDensity.build(
            self.columns,
            cells,
            data.w,
            hidden=self.hidden,
            n_hidden=self.n_hidden,
            dropout=self.dropout,
            key=key,
        )
        return MaskedTable(density, self.any_order)

    def objective(self, prior: Any, rows: Normalisation) -> DefendedLikelihood:
        """What is minimised."""
        return DefendedLikelihood(prior, rows, self.share, self.noise)


def fixed_orders(q: int, count: int) -> list[Int[np.ndarray, " q"]]:
    """Orders, as the rank of each column: as they come, reversed, and others at random."""
    found = [np.arange(q), np.arange(q)[::-1]]
    found += [np.random.default_rng(k).permutation(q) for k in range(2, count)]
    return found[:count]


def known_first(order: np.ndarray, missing: np.ndarray) -> Int[np.ndarray, "n q"]:
    """The ranks of the columns of each row, missing cells last, otherwise in an order.

    Args:
        order: (q,) the rank of each column, or (n, q) of each row.
        missing: (n, q) which cells are missing; larger numbers come later.
    """
    late = missing.astype(int) * missing.shape[1] + order
    return np.argsort(np.argsort(late, axis=1), axis=1)
