"""Codes of a table as inputs of networks, with columns of a kind side by side."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from likely.preprocess.codec.column_code import ColumnCode


class CellInputs(eqx.Module):
    """From codes to the inputs of a network, in NumPy or JAX.

    The columns are: numbers as they are; logarithms of counts, scaled; truth values as −1 and
    1; a column for each level of the other categories; flags of missing cells, for the columns
    that had some. Where a cell is missing its inputs are 0.
    """

    numbers: tuple[int, ...] = eqx.field(static=True)
    counts: tuple[int, ...] = eqx.field(static=True)
    truths: tuple[int, ...] = eqx.field(static=True)
    categories: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """Column and number of levels of each category of more than two."""
    flags: tuple[int, ...] = eqx.field(static=True)
    center: Any
    """(counts,) the means of log(1 + x)."""
    scale: Any

    @classmethod
    def of(cls, columns: tuple[ColumnCode, ...]) -> "CellInputs":
        """The inputs of these columns."""
        kinds = [c.kind for c in columns]

        def those(*wanted: str) -> tuple[int, ...]:
            return tuple(j for j, kind in enumerate(kinds) if kind in wanted)

        counts, levels = those("count"), those("category")
        sizes = [columns[j].n_levels for j in levels]
        return cls(
            those("number", "positive", "whole"),
            counts,
            tuple(j for j, c in zip(levels, sizes, strict=True) if c == 2),
            tuple((j, c) for j, c in zip(levels, sizes, strict=True) if c > 2),
            tuple(j for j, c in enumerate(columns) if c.incomplete),
            np.array([columns[j].center for j in counts]),
            np.array([columns[j].scale for j in counts]),
        )

    @property
    def width(self) -> int:
        """How many inputs there are."""
        plain = len(self.numbers) + len(self.counts) + len(self.truths)
        return plain + sum(c for _, c in self.categories) + len(self.flags)

    def __call__(self, V: Any, missing: Any = None) -> Any:
        """(n, width) the inputs of codes.

        Args:
            V: (n, q) codes.
            missing: (n, q) which of them are missing; where V is NaN if None.
        """
        xp = jnp if isinstance(V, jax.Array) else np
        missing = xp.isnan(V) if missing is None else missing
        V = xp.where(missing, 0.0, V)
        parts = [V[:, list(self.numbers)]]
        if self.counts:
            logs = xp.log1p(xp.maximum(V[:, list(self.counts)], 0.0))
            center, scale = (
                xp.asarray(a, V.dtype)[None] for a in (self.center, self.scale)
            )
            parts.append(_present((logs - center) / scale, missing, self.counts, xp))
        if self.truths:
            truths = 2 * V[:, list(self.truths)] - 1
            parts.append(_present(truths, missing, self.truths, xp))
        for j, c in self.categories:
            hot = (V[:, j : j + 1] == xp.arange(c)[None]) & ~missing[:, j : j + 1]
            parts.append(hot.astype(V.dtype))
        if self.flags:
            parts.append(missing[:, list(self.flags)].astype(V.dtype))
        return xp.concatenate(parts, axis=1)


def _present(values: Any, missing: Any, columns: tuple[int, ...], xp: Any) -> Any:
    return xp.where(missing[:, list(columns)], 0.0, values)
