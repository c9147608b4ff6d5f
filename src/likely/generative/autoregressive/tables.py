"""Masked networks of tables at work: densities, conditional draws, single cells."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.special import logsumexp, softmax

from likely.base.training.unsupervised import Cells, HeldOutRows, unpack
from likely.core.random import seed_of
from likely.generative.autoregressive.any_order import (
    LOOK_ORDERS,
    MaskedTable,
    fixed_orders,
    known_first,
)
from likely.generative.autoregressive.drawing import draw_cells
from likely.generative.defended import pooled_share
from likely.generative.row_chunks import in_chunks

MAX_OWN_ORDERS = 64
"""Rows that are computed together where each has an order of its own."""
MAX_SHARED_ORDERS = 16
"""Different orders up to which rows of the same order are computed together."""


class MaskedTables(NamedTuple):
    """The networks of all members, their share beside their starts, and their orders."""

    members: list[MaskedTable]
    share: float
    n_orders: int

    @property
    def orders(self) -> list[np.ndarray]:
        """The orders over which densities are means."""
        q = len(self.members[0].density.columns.kinds)
        any_order = self.members[0].any_order and q > 1
        return fixed_orders(q, self.n_orders if any_order else 1)

    def log_prob(self, cells: Cells) -> np.ndarray:
        """(n,) log p of the cells that are there: the mean over members and orders."""
        missing = np.asarray(cells.missing)
        partly = missing.any(1) & self.members[0].any_order
        found = np.empty(len(missing))
        for mask, function in ((~partly, self._in_orders), (partly, self._by_rows)):
            rows = np.flatnonzero(mask)
            if len(rows):
                own, start = function(Cells(*(np.asarray(a)[rows] for a in cells)))
                logs = self._joint(own, start)
                found[rows] = logsumexp(logs, axis=(0, 1)) - np.log(own.shape[0])
        return found

    def best_share(self, held_out: HeldOutRows) -> float:
        """π by the rows that members were stopped by."""
        found = []
        for m, member in enumerate(self.members):
            rows = held_out.of(m)
            if rows is not None:
                cells = Cells(*(np.asarray(a) for a in unpack(rows)))
                for order in self.orders[:LOOK_ORDERS]:
                    both = in_chunks(_log_probs, member, cells, order=order)
                    found.append((*both, rows.w / min(LOOK_ORDERS, len(self.orders))))
        return pooled_share(found)

    def _joint(self, own: np.ndarray, start: np.ndarray) -> np.ndarray:
        """(2, ...) log of each component with its share: the network, and its start."""
        with np.errstate(divide="ignore"):
            return np.stack([np.log(self.share) + own, np.log1p(-self.share) + start])

    def _in_orders(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """(k, n) log p and log p₀ of complete rows, by member and order."""
        own, start = [], []
        for member in self.members:
            for order in self.orders:
                found = in_chunks(_log_probs, member, cells, order=np.asarray(order))
                own.append(found[0])
                start.append(found[1])
        return np.stack(own), np.stack(start)

    def _by_rows(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """(k, n) of rows with missing cells, which come last in the order of each row."""
        own, start = [], []
        for member in self.members:
            for order in self.orders:
                ranks = known_first(order, np.asarray(cells.missing))
                found = in_chunks(
                    _cell_log_probs, member, (cells, ranks), max_rows=MAX_OWN_ORDERS
                )
                own.append(np.where(cells.missing, 0.0, found[0]).sum(1))
                start.append(np.where(cells.missing, 0.0, found[1]).sum(1))
        return np.stack(own), np.stack(start)

    # Conditional on what is known --------------------------------------------------------

    def draw(self, cells: Cells, random_state: Any, draws: int = 1) -> np.ndarray:
        """(draws, n, q) the rows with their missing cells drawn, given all others.

        Each row comes from a member, and its network or its start, drawn by how probable
        they make what is known of the row.
        """
        rng = np.random.default_rng(seed_of(random_state))
        ranks = self._ranks(cells, rng)
        chosen = self._components(cells, ranks, rng, draws).ravel()
        every = Cells(*(np.tile(np.asarray(a), (draws, 1)) for a in cells))
        different, which = np.unique(ranks, axis=0, return_inverse=True)
        which = np.tile(which.ravel(), draws)
        found = np.empty(every.values.shape)
        member, by_start = np.divmod(chosen, 2)
        groups = member * len(different) + which
        if len(different) > MAX_SHARED_ORDERS:
            groups = member
        _, groups, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        for group in range(len(sizes)):
            rows = np.flatnonzero(groups == group)
            found[rows] = self._drawn(
                Cells(*(a[rows] for a in every)),
                self.members[member[rows[0]]],
                different[which[rows]],
                (by_start[rows] == 1, rng.integers(2**31, size=len(rows))),
                int(sizes.max()),
            )
        return found.reshape(draws, *np.shape(cells.values))

    @staticmethod
    def _drawn(
        cells: Cells,
        member: MaskedTable,
        ranks: np.ndarray,
        how: tuple[np.ndarray, np.ndarray],
        least: int,
    ) -> np.ndarray:
        """(n, q) rows drawn from one member.

        Args:
            cells: what is known of them.
            member: the network.
            ranks: (n, q) the order of each row.
            how: which rows are drawn from what the training began at, and seeds.
            least: the size of the largest group of rows, so that one program draws all.
        """
        if (ranks == ranks[0]).all():
            rows, order = (cells, *how), ranks[0]
            return in_chunks(_draw, member, rows, least=least, order=order)
        rows = (cells, *how, ranks)
        return in_chunks(_draw_by_rows, member, rows, max_rows=MAX_OWN_ORDERS)

    def cell_log_prob(self, cells: Cells, judged: np.ndarray) -> np.ndarray:
        """(n, q) log p of single cells given those that are there; NaN where not judged.

        Args:
            cells: rows with the values of the judged cells, which count as missing.
            judged: (n, q) which cells.
        """
        row, column = np.nonzero(judged)
        found = np.full(judged.shape, np.nan)
        if not len(row):
            return found
        own = Cells(*(np.asarray(a)[row] for a in cells))
        later = own.missing.astype(int) * 2
        later[np.arange(len(row)), column] = 1
        ranks = known_first(self.orders[0], later)
        logs, known = [], []
        seen = Cells(own.values, own.missing & (later != 1), own.given)
        for member in self.members:
            parts = in_chunks(
                _cell_log_probs, member, (seen, ranks), max_rows=MAX_OWN_ORDERS
            )
            for part, share in zip(parts, self._shares, strict=True):
                here = np.where(later == 0, part, 0.0).sum(1)
                known.append(share + here)
                logs.append(share + here + part[np.arange(len(row)), column])
        joint, alone = (np.logaddexp.reduce(np.stack(a)) for a in (logs, known))
        found[row, column] = joint - alone
        return found

    @property
    def _shares(self) -> tuple[float, float]:
        with np.errstate(divide="ignore"):
            return float(np.log(self.share)), float(np.log1p(-self.share))

    def _ranks(self, cells: Cells, rng: Any) -> np.ndarray:
        """(n, q) an order for each row, what is known first where any order is known."""
        orders = np.stack(self.orders)
        own = orders[rng.integers(len(orders), size=len(np.asarray(cells.values)))]
        if not self.members[0].any_order:
            return own
        return known_first(own, np.asarray(cells.missing))

    def _components(
        self, cells: Cells, ranks: np.ndarray, rng: Any, draws: int
    ) -> np.ndarray:
        """(draws, n) which component each row comes from: 2 · member, and 1 for its start."""
        missing = np.asarray(cells.missing)
        logs = np.zeros((2 * len(self.members), len(missing)))
        for m, member in enumerate(self.members):
            parts = (np.zeros(missing.shape),) * 2
            if not missing.all():
                rows = (cells, ranks)
                parts = in_chunks(
                    _cell_log_probs, member, rows, max_rows=MAX_OWN_ORDERS
                )
            for i, share in enumerate(self._shares):
                logs[2 * m + i] = share + np.where(missing, 0.0, parts[i]).sum(1)
        p = softmax(logs, axis=0).cumsum(0)
        return (rng.random((draws, 1, len(missing))) * p[-1] > p[None, :-1]).sum(1)


@eqx.filter_jit
def _log_probs(model: MaskedTable, cells: Cells, order: Any) -> tuple[Array, Array]:
    """log p and log p₀ of rows in one order."""
    return model.density.log_probs(cells, jnp.asarray(order))


@eqx.filter_jit
def _cell_log_probs(
    model: MaskedTable, rows: tuple[Cells, Int[Array, "n q"]]
) -> tuple[Float[Array, "n q"], Float[Array, "n q"]]:
    """log p and log p₀ of each cell, each row in an order of its own."""

    def one(cells: Cells, order: Int[Array, " q"]) -> tuple[Array, Array]:
        alone = Cells(*(a[None] for a in cells))
        etas = model.density.etas(alone, order)
        own, start = (model.density.columns.log_probs(e, alone.values) for e in etas)
        return own[0], start[0]

    return jax.vmap(one)(*rows)


@eqx.filter_jit
def _draw(
    model: MaskedTable,
    rows: tuple[Cells, Bool[Array, " n"], Int[Array, " n"]],
    order: Any,
) -> Float[Array, "n q"]:
    """The rows with their missing cells drawn; the seed of the first is that of all."""
    cells, by_start, seeds = rows
    key = jax.random.key(seeds[0])
    return draw_cells(model.density, cells, jnp.asarray(order), by_start, key)


@eqx.filter_jit
def _draw_by_rows(
    model: MaskedTable,
    rows: tuple[Cells, Bool[Array, " n"], Int[Array, " n"], Int[Array, "n q"]],
) -> Float[Array, "n q"]:
    """The same, each row in an order of its own."""

    def one(cells: Cells, flag: Array, seed: Array, order: Array) -> Array:
        alone = Cells(*(a[None] for a in cells))
        key = jax.random.key(seed)
        return draw_cells(model.density, alone, order, flag[None], key)[0]

    return jax.vmap(one)(*rows)
