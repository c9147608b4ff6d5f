"""Errors as sentences: what is wrong, where, what to do; raised before tracing."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from likely.typing import Batch

MAX_NAMES_LISTED = 40
MIN_SIMILARITY = 0.6
"""How similar a name has to be to be suggested: 1 is equal."""


class InputError(ValueError):
    """Data or settings that cannot be used: the message says what, where, why."""


def check_choice(name: str, value: Any, known: Iterable[str]) -> None:
    """Refuse a setting that is not one of a few words, and suggest the nearest one."""
    known = list(known)
    if value not in known:
        near = suggestion(value, known, "give one of")
        raise InputError(f"{name} is {value!r}; {near}")


def suggestion(name: Any, known: Sequence[str], otherwise: str) -> str:
    """The end of a sentence about a name that is not known: the nearest one, and all.

    Args:
        name: what was given.
        known: the names that there are.
        otherwise: the words before the list of all names.
    """
    shown = ", ".join(known[:MAX_NAMES_LISTED])
    more = len(known) - MAX_NAMES_LISTED
    listed = f"{otherwise} {shown}{f' and {more} more' if more > 0 else ''}"
    near = nearest(name, known) if isinstance(name, str) else None
    return f"{listed}." if near is None else f"{listed}; did you mean {near!r}?"


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The most similar of some names, whatever is upper and lower case; None if none is."""
    lower = {known_name.lower(): known_name for known_name in reversed(known)}
    found = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=MIN_SIMILARITY)
    return lower[found[0]] if found else None


def concrete(tree: Any) -> bool:
    """Whether the leaves have values that can be looked at (nothing is traced)."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))


def check_weights(w: Any, n: int) -> np.ndarray:
    """Row weights as float64, ones for None; an error unless there is one finite w ≥ 0 each."""
    w = np.ones(n) if w is None else np.asarray(w, dtype=np.float64)
    if w.shape != (n,):
        raise InputError(
            f"sample_weight has shape {w.shape} but there are {n} rows; "
            f"give one weight for each row, shape ({n},)."
        )
    bad = np.flatnonzero(~np.isfinite(w) | (w < 0))
    if bad.size:
        raise InputError(
            f"sample_weight is {w[bad[0]]} in row {bad[0]}; weights say how often a "
            "row counts, so give finite numbers of at least 0."
        )
    if not w.sum() > 0:
        raise InputError(
            "the weights sum to zero, so there is no row to learn from; "
            "give at least one row a positive weight."
        )
    return w


def check_finite(
    name: str,
    rows: np.ndarray,
    w: np.ndarray | None = None,
    *,
    names: np.ndarray | None = None,
) -> None:
    """Refuse NaN and infinity in rows that count, naming the first row and column.

    Args:
        name: what the array is called in the message.
        rows: (n, ...) numbers.
        w: row weights; rows of weight 0 may contain anything.
        names: of the columns.
    """
    rows = np.asarray(rows)
    if not np.issubdtype(rows.dtype, np.inexact):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum(dtype=np.float64)):  # one pass: a sum hides no NaN
            return
    bad = ~np.isfinite(rows)
    if w is not None:
        bad &= (np.asarray(w) > 0).reshape((-1,) + (1,) * (rows.ndim - 1))
    if bad.any():
        first = np.argwhere(bad)[0]
        value = "NaN" if np.isnan(rows[tuple(first)]) else "infinity"
        columns = [f", column {j if names is None else names[j]}" for j in first[1:2]]
        where = "".join([f"row {first[0]}", *columns])
        raise InputError(
            f"{name} contains {value} ({where}); remove or impute such rows, "
            "or give them weight 0."
        )


def check_batch(batch: Batch) -> Batch:
    """Check lengths, weights and finiteness of a concrete batch."""
    sides = ("y", batch.y), ("X", batch.x)
    for name, side in sides:
        for leaf in jax.tree.leaves(side):
            if not np.ndim(leaf):
                raise InputError(
                    f"{name} has no rows: it contains {leaf!r} where an array should be; "
                    "give arrays with one row for each observation."
                )
    n = len(jax.tree.leaves(batch.y)[0])
    w = check_weights(batch.w, n)
    for name, side in sides:
        for leaf in jax.tree.leaves(side):
            if len(leaf) != n:
                raise InputError(
                    f"{name} has {len(leaf)} rows but y has {n}; give as many of each."
                )
            if np.asarray(leaf).dtype.kind not in "biufc":
                raise InputError(
                    f"{name} contains {np.asarray(leaf).dtype} values; give numbers."
                )
            check_finite(name, np.asarray(leaf), w)
    return Batch(batch.x, batch.y, w)
