"""Trained models at work on many rows: some at a time, of a few sizes, in one precision."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from likely.core.precision import float64
from likely.core.rows import pad_rows, size_class

MAX_ROWS = 1024
"""Rows that are computed together."""


def in_chunks(
    function: Callable,
    model: Any,
    rows: Any,
    *,
    double: bool = True,
    max_rows: int = MAX_ROWS,
    least: int = 0,
    **options: Any,
) -> Any:
    """What a compiled function makes of rows, as NumPy arrays in float64.

    Args:
        function: of (model, rows); its arrays have an axis of rows.
        model: its parameters.
        rows: arrays with an axis of rows.
        double: whether to compute in float64, or else in float32.
        max_rows: rows that are computed together.
        least: to the size class of how many rows fewer ones are padded, so that calls
            with similar numbers of rows are one program.
        options: of the function, the same for all rows.
    """
    count = len(jax.tree.leaves(rows)[0])
    kind, found = (np.float64 if double else np.float32), []
    with float64() if double else jax.enable_x64(False):
        model = cast(model, kind)
        for start in range(0, count, max_rows):
            part = jax.tree.map(lambda a, s=start: a[s : s + max_rows], rows)
            size = min(max_rows, count - start)
            part = pad_rows(part, size_class(max(size, min(least, max_rows))))
            out = function(model, cast(part, kind), **options)
            found.append(
                jax.tree.map(lambda a, n=size: np.asarray(a, np.float64)[:n], out)
            )
    return jax.tree.map(lambda *parts: np.concatenate(parts), *found)


def cast(tree: Any, dtype: Any) -> Any:
    """The tree with its real numbers in a precision."""

    def one(leaf: Any) -> Any:
        return jnp.asarray(leaf, dtype) if eqx.is_inexact_array(leaf) else leaf

    return jax.tree.map(one, tree)
