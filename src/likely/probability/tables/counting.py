"""Counting the rows of a frame: a contingency table of any number of columns."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from likely.core.checks import InputError, check_weights
from likely.data.frames import to_arrow
from likely.probability.tables.factor import check_cells, check_names


class Counted(NamedTuple):
    """Weights of all combinations of levels."""

    counts: np.ndarray
    names: tuple[str, ...]
    levels: tuple[np.ndarray, ...]


def counts_of_frame(
    frame: Any,
    names: Sequence[str] | str | None,
    sample_weight: Any,
    levels: Mapping[str, Any],
) -> Counted:
    """The weight of the rows in each combination of levels."""
    table = to_arrow(frame)
    names = (names,) if isinstance(names, str) else names
    chosen = tuple(table.column_names if names is None else names)
    check_names([*chosen, *levels], table.column_names)
    if not len(table) or not chosen:
        raise InputError("the frame has no rows to count; give one or more.")
    w = check_weights(sample_weight, len(table))
    present = np.flatnonzero(w > 0)
    rows = table.select(chosen).take(pa.array(present))
    codes, known = [], []
    for name in chosen:
        column = rows.column(name).combine_chunks()
        if column.null_count or _has_nan(column):
            raise InputError(
                f"{name!r} has missing values; fill them, or give such rows weight 0."
            )
        own = np.asarray(levels[name]) if name in levels else None
        code, found = _codes(column, own, name)
        codes.append(code)
        known.append(found)
    sizes = {name: len(own) for name, own in zip(chosen, known, strict=True)}
    check_cells(sizes)
    shape = tuple(sizes.values())
    flat = np.ravel_multi_index(codes, shape)
    counts = np.bincount(flat, weights=w[present], minlength=int(np.prod(shape)))
    return Counted(counts.reshape(shape), chosen, tuple(known))


def counts_of(counts: Any) -> np.ndarray:
    """An array of counts as float64; an error unless they are finite and not negative."""
    counts = np.asarray(counts, np.float64)
    bad = np.argwhere(~(counts >= 0) | np.isinf(counts))
    if len(bad):
        where = tuple(bad[0].tolist())
        raise InputError(
            f"the count at {where} is {counts[where]}; counts are finite and not negative."
        )
    return counts


def smoothed(counts: np.ndarray, prior: float | int) -> np.ndarray:
    """The shares (n + α) / Σ(n + α)."""
    if not (np.isfinite(prior) and prior >= 0):
        raise InputError(f"prior is {prior}; give a finite number of at least 0.")
    raised = counts + prior
    if not raised.sum() > 0:
        raise InputError("the counts sum to zero; give counts, or a prior above 0.")
    return raised / raised.sum()


def _codes(
    column: Any, levels: np.ndarray | None, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """The number of the level of each row, and the levels."""
    declared = None
    if isinstance(column, pa.DictionaryArray):
        declared = np.array(column.dictionary.to_pylist())
    else:
        column = column.dictionary_encode()
    values = np.asarray(column.dictionary.to_numpy(zero_copy_only=False))
    values = values.astype(str) if values.dtype == object else values
    found, order = np.unique(values, return_inverse=True)
    code = order[np.asarray(column.indices)]
    wanted = declared if levels is None else levels
    if wanted is None:
        return code, found
    place = {level: i for i, level in enumerate(wanted.tolist())}
    occurring = found[np.bincount(code, minlength=len(found)) > 0]
    extra = [level for level in occurring.tolist() if level not in place]
    if extra:
        raise InputError(
            f"{name!r} has the value {extra[0]!r}, which is not among its levels "
            f"{wanted.tolist()}; add it, or give such rows weight 0."
        )
    return np.array([place.get(level, 0) for level in found.tolist()])[code], wanted


def _has_nan(column: Any) -> bool:
    if not pa.types.is_floating(column.type):
        return False
    return bool(np.isnan(column.to_numpy(zero_copy_only=False)).any())
