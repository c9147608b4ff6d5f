r"""The likelihood of the cells of a row: $\log p(x \mid z) = \sum_j \log p_j(x_j \mid η_j(z))$.

Columns of one family stand in one block, so that a table of any width is a few operations on
arrays (n, m, k): rows, columns of the block, entries of η. What a family has beyond its first
entry of η (a scale, a concentration) is one number for each column that all rows share,
unless the network computes it, too.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import Array, Bool, Float

from likely.families import (
    AbstractFamily,
    Bernoulli,
    Categorical,
    NegativeBinomial,
    Normal,
    RoundedNormal,
)
from likely.families.mixture import Mixture
from likely.families.rounded_normal import rounded_log_prob
from likely.preprocess import TableCodec

MIN_SCALE = 1e-3
"""The smallest scale, in units of a column's deviation."""
ROUNDING = 12**-0.5
"""The standard deviation of rounding, in units of the distance of neighbouring numbers."""


STRAY_SHARE, BYTE_LEVELS = 1e-4, 256
"""The share of bytes that may be anything, so that a pixel that was always white in the
rows of a fit is not all but impossible in others."""


class Block(eqx.Module):
    """Columns of one family.

    Args:
        family: p(v | η).
        columns: their numbers.
        shared: whether entries of η after the first are the same for all rows.
        widths: (m,) distances of neighbouring values, of whole numbers alone.
        floors: (m,) the smallest scales, of normals alone.
        edges: whether values end at 0 and 1, where all that lies beyond is counted.
    """

    family: AbstractFamily
    columns: tuple[int, ...] = eqx.field(static=True)
    shared: bool = eqx.field(static=True)
    widths: Any = None
    floors: Any = None
    edges: bool = eqx.field(static=True, default=False)

    @property
    def size(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    @property
    def own(self) -> int:
        """Entries of η of a cell that a network computes."""
        plain = isinstance(self.family, Categorical | Mixture)
        return 1 if self.shared and not plain else self.family.n_eta

    @property
    def tail(self) -> int:
        """Entries of η of a cell that all rows share."""
        return self.family.n_eta - self.own

    def etas(self, out: Float[Array, "n o"], tail: Float[Array, " t"]) -> Array:
        """(n, m, k) η of each cell."""
        eta = out.reshape(len(out), self.size, self.own)
        if self.tail:
            common = tail.reshape(1, self.size, self.tail)
            common = jnp.broadcast_to(common, (len(out), *common.shape[1:]))
            eta = jnp.concatenate([eta, common], -1)
        if self.floors is None:
            return eta
        floor = jnp.log(jnp.asarray(self.floors, eta.dtype))[None]
        scale = 0.5 * jnp.logaddexp(2 * eta[..., 1], 2 * floor)
        return jnp.stack([eta[..., 0], scale], -1)

    def log_prob(self, eta: Array, v: Float[Array, "n m"]) -> Float[Array, "n m"]:
        """log p of each cell."""
        if self.widths is None:
            return self.family.log_prob(eta, v)
        widths = jnp.asarray(self.widths, eta.dtype)[None]
        inside = rounded_log_prob(v - eta[..., 0], eta[..., 1], widths)
        if not self.edges:
            return inside
        half, slope = 0.5 * widths, jnp.exp(-eta[..., 1])
        low = log_ndtr((half - eta[..., 0]) * slope)
        high = log_ndtr((eta[..., 0] - (1 - half)) * slope)
        found = jnp.where(v <= half, low, jnp.where(v >= 1 - half, high, inside))
        stray = np.log(STRAY_SHARE / BYTE_LEVELS)
        return jnp.logaddexp(np.log1p(-STRAY_SHARE) + found, stray)

    def sample(self, eta: Array, key: Any) -> Float[Array, "n m"]:
        """A draw of each cell; whole numbers before they are rounded."""
        if self.widths is None:
            return jnp.asarray(self.family(eta).sample(key), eta.dtype)
        own, stray = jax.random.split(key)
        noise = jax.random.normal(own, eta.shape[:-1], eta.dtype)
        found = eta[..., 0] + jnp.exp(eta[..., 1]) * noise
        if not self.edges:
            return found
        u = jax.random.uniform(stray, found.shape, found.dtype) / STRAY_SHARE
        found = jnp.where(u < 1, u, found)
        widths = jnp.asarray(self.widths, eta.dtype)[None]
        return jnp.clip(jnp.round(found / widths) * widths, 0.0, 1.0)

    def expectation(self, eta: Array) -> Float[Array, "n m c"]:
        """The probability of each level, or the mean as the only entry."""
        if isinstance(self.family, Categorical):
            return self.family.probs(eta)
        if self.widths is not None:
            return jnp.clip(eta[..., :1], 0.0, 1.0) if self.edges else eta[..., :1]
        return self.family(eta).mean[..., None]

    def point(self, expected: Float[Array, "n m c"]) -> Float[Array, "n m"]:
        """The most plausible value of each cell, from what is expected of it."""
        if isinstance(self.family, Categorical):
            return jnp.argmax(expected, -1).astype(expected.dtype)
        if isinstance(self.family, Bernoulli):
            return jnp.round(expected[..., 0])
        return expected[..., 0]

    def average(self, expected: Float[Array, "n m c"]) -> Float[Array, "n m"]:
        """The mean of each cell, from what is expected of it."""
        if isinstance(self.family, Categorical):
            return self.point(expected)
        return expected[..., 0]

    def first(self, v: Array, w: Array) -> tuple[Array, Array]:
        """The entries of η that are best without a network: own, and shared.

        Args:
            v: (n, m) values.
            w: (n, m) weights, 0 where a value is missing.
        """
        total = jnp.maximum(w.sum(0), 1e-6)
        mean = (w * v).sum(0) / total
        variance = (w * (v - mean[None]) ** 2).sum(0) / total
        if self.floors is not None:
            scale = 0.5 * jnp.log(jnp.maximum(variance, MIN_SCALE**2))
            eta = jnp.stack([mean, scale], -1)
        elif isinstance(self.family, NegativeBinomial) and self.family.n_eta == 2:
            extra = jnp.maximum(variance - mean, 1e-2 * mean + 1e-6)
            r = jnp.log(jnp.clip(mean**2 / extra, 1e-2, 1e2))
            eta = jnp.stack([jnp.log(jnp.maximum(mean, 1e-3)), r], -1)
        else:
            eta = jax.vmap(self.family.marginal, (1, 1))(v, w)
        return eta[:, : self.own].reshape(-1), eta[:, self.own :].reshape(-1)


class CellLikelihood(eqx.Module):
    """The likelihood of rows, whose cells are independent given the code of the row."""

    blocks: tuple[Block, ...]
    n_cells: int = eqx.field(static=True)

    @classmethod
    def of_table(cls, codec: TableCodec, *, shared: bool) -> "CellLikelihood":
        """Of the columns of a table, each of its own kind.

        Args:
            codec: of the table.
            shared: whether scales are the same for all rows.
        """
        groups: dict[Any, list[int]] = {}
        for j, column in enumerate(codec.columns):
            kind = column.kind if column.kind in ("whole", "count") else "number"
            key = column.n_levels if column.kind == "category" else kind
            groups.setdefault(key, []).append(j)
        blocks = []
        for key, columns in groups.items():
            of_numbers = key in ("number", "whole")
            codes = [codec.columns[j] for j in columns]
            gaps = np.array([c.step if key == "whole" else c.resolution for c in codes])
            floors = np.maximum(MIN_SCALE, ROUNDING * gaps) if of_numbers else None
            widths = gaps if key == "whole" else None
            family = RoundedNormal() if key == "whole" else codes[0].family
            blocks.append(Block(family, tuple(columns), shared, widths, floors))
        return cls(tuple(blocks), codec.q)

    @classmethod
    def of_family(
        cls,
        family: AbstractFamily,
        n_cells: int,
        *,
        shared: bool,
        least: float = MIN_SCALE,
    ) -> "CellLikelihood":
        """Of cells that are all of one family, such as the pixels of an image.

        Args:
            family: of each cell.
            n_cells: how many there are.
            shared: whether scales are the same for all rows.
            least: the smallest scale of normals, so that a pixel that never changes in the
                rows of a fit is not impossible in others.
        """
        columns = tuple(range(n_cells))
        free = isinstance(family, Normal) and family.n_eta == 2
        floors = np.full(n_cells, least) if free else None
        return cls((Block(family, columns, shared, None, floors),), n_cells)

    @classmethod
    def of_bytes(cls, n_cells: int, *, shared: bool) -> "CellLikelihood":
        """Of bytes, as numbers from 0 to 1: normal before they are rounded and cut off."""
        widths = np.full(n_cells, 1 / 255)
        block = Block(
            RoundedNormal(),
            tuple(range(n_cells)),
            shared,
            widths,
            widths / 4,
            edges=True,
        )
        return cls((block,), n_cells)

    @property
    def n_out(self) -> int:
        """How many numbers a network computes for a row."""
        return sum(b.size * b.own for b in self.blocks)

    @property
    def n_tail(self) -> int:
        """How many numbers all rows share."""
        return sum(b.size * b.tail for b in self.blocks)

    def etas(self, out: Float[Array, "n o"], tail: Float[Array, " t"]) -> list[Array]:
        """(n, m, k) η of the cells of each block."""
        found, i, j = [], 0, 0
        for block in self.blocks:
            more, common = block.size * block.own, block.size * block.tail
            found.append(block.etas(out[:, i : i + more], tail[j : j + common]))
            i, j = i + more, j + common
        return found

    def log_prob(
        self,
        out: Float[Array, "n o"],
        tail: Float[Array, " t"],
        v: Float[Array, "n q"],
        missing: Bool[Array, "n q"] | None,
    ) -> Float[Array, "n q"]:
        """log p of each cell, 0 where it is missing."""
        parts = [
            b.log_prob(eta, self.of_block(b, v))
            for b, eta in zip(self.blocks, self.etas(out, tail), strict=True)
        ]
        found = self._ordered(parts)
        return found if missing is None else jnp.where(missing, 0.0, found)

    def sample(self, out: Array, tail: Array, key: Any) -> Float[Array, "n q"]:
        """A draw of every cell."""
        keys = jax.random.split(key, len(self.blocks))
        etas = zip(self.blocks, self.etas(out, tail), keys, strict=True)
        return self._ordered([b.sample(eta, k) for b, eta, k in etas])

    def expectations(self, out: Array, tail: Array) -> list[Array]:
        """What is expected of the cells of each block; they may be averaged."""
        etas = zip(self.blocks, self.etas(out, tail), strict=True)
        return [b.expectation(eta) for b, eta in etas]

    def point(self, expected: list[Array]) -> Float[Array, "n q"]:
        """The most plausible cells, from what is expected of them."""
        pairs = zip(self.blocks, expected, strict=True)
        return self._ordered([b.point(e) for b, e in pairs])

    def averages(self, expected: list[Array]) -> Float[Array, "n q"]:
        """The mean of each cell: of a truth value its probability, of a category its level."""
        pairs = zip(self.blocks, expected, strict=True)
        return self._ordered([b.average(e) for b, e in pairs])

    def first(self, v: Array, missing: Any, w: Array) -> tuple[Array, Array]:
        """The numbers of a network without inputs, and those that all rows share."""
        w = jnp.broadcast_to(w[:, None], v.shape)
        w = w if missing is None else jnp.where(missing, 0.0, w)
        pairs = [b.first(self.of_block(b, v), self.of_block(b, w)) for b in self.blocks]
        out, tail = (jnp.concatenate(parts) for parts in zip(*pairs, strict=True))
        return out, tail

    def of_block(self, block: Block, v: Array) -> Array:
        """The cells of a block."""
        if block.size == self.n_cells:
            return v
        return v[:, np.array(block.columns)]

    def _ordered(self, parts: list[Array]) -> Array:
        """Cells in the order of the row, from those of the blocks."""
        if len(parts) == 1:
            return parts[0]
        order = np.concatenate([b.columns for b in self.blocks])
        return jnp.concatenate(parts, 1)[:, np.argsort(order)]
