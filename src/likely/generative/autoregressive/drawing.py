"""Cells drawn one column after another, each given those before it."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from likely.base.training.unsupervised import Cells
from likely.generative.autoregressive.columns import ColumnEta
from likely.generative.autoregressive.masked_density import MaskedDensity
from likely.typing import Key


def draw_cells(
    model: MaskedDensity,
    cells: Cells,
    order: Int[Array, " q"],
    by_start: Bool[Array, " n"],
    key: Key,
) -> Float[Array, "n q"]:
    """The rows with their missing cells drawn, in the order of the columns.

    It is exact where in every row all missing cells come after those that are there.

    Args:
        model: the masked network.
        cells: rows.
        order: the rank of each column.
        by_start: which rows are drawn from what the training began at.
        key: randomness.
    """

    def one(rank: Array, now: Cells) -> Cells:
        own, start = model.etas(now, order)
        eta: ColumnEta = jax.tree.map(
            lambda a, b: jnp.where(by_start.reshape(-1, *[1] * (a.ndim - 1)), b, a),
            own,
            start,
        )
        drawn = model.columns.sample(eta, jax.random.fold_in(key, rank))
        due = now.missing & (order == rank)[None]
        return Cells(jnp.where(due, drawn, now.values), now.missing & ~due, now.given)

    return jax.lax.fori_loop(0, len(order), one, cells).values
