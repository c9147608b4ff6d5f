"""Checks of tables: shapes, names, levels, and probabilities that sum to one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likely.core.checks import InputError, suggestion
from likely.probability.tables.factor import check_cells, check_names

MAX_SUM_ERROR = 1e-9
"""How far from one the probabilities may sum, for rounding."""


def check_shape(values: np.ndarray, names: tuple[str, ...]) -> None:
    """Refuse names that are not one for each axis, or not different."""
    if not names or len(set(names)) != len(names):
        raise InputError(f"names is {list(names)}; give each axis a name of its own.")
    if values.ndim != len(names) or not values.size:
        raise InputError(
            f"values has shape {values.shape} and there are {len(names)} names "
            f"({', '.join(map(str, names))}); give one axis with levels for each name."
        )
    check_cells(dict(zip(names, values.shape, strict=True)))


def levels_of(
    levels: Any,
    names: tuple[str, ...],
    shape: tuple[int, ...],
) -> tuple[np.ndarray, ...]:
    """One array of levels for each variable: 0, 1, ... where they are not given."""
    if levels is None:
        levels = {}
    elif not isinstance(levels, Mapping):
        if len(names) == 1 and len(levels) and np.ndim(levels[0]) == 0:
            levels = [levels]  # the levels of the only variable
        if len(levels) != len(names):
            raise InputError(
                f"levels has {len(levels)} entries and there are {len(names)} variables; "
                "give a list of levels for each."
            )
        levels = dict(zip(names, levels, strict=True))
    check_names(levels, names)
    found = []
    for name, size in zip(names, shape, strict=True):
        own = np.asarray(levels[name] if name in levels else np.arange(size))
        if own.shape != (size,) or len({str(level) for level in own.tolist()}) != size:
            raise InputError(
                f"levels of {name!r} are {own.tolist()}; give {size} different ones, "
                "as many as the axis is long."
            )
        found.append(own)
    return tuple(found)


def check_probabilities(
    values: np.ndarray,
    names: tuple[str, ...],
    levels: tuple[np.ndarray, ...],
    conditions: tuple[str, ...],
) -> None:
    """Refuse negative cells, and sums that are not one, saying by how much."""
    bad = np.argwhere(~(values >= 0) | np.isinf(values))
    if len(bad):
        cell = _cell(bad[0], names, levels)
        raise InputError(
            f"the cell {cell} is {values[tuple(bad[0])]}; probabilities are finite and not "
            "negative."
        )
    if set(conditions) == set(names):
        raise InputError(
            "every variable is a condition; leave one that is asked about."
        )
    axes = tuple(i for i, name in enumerate(names) if name not in conditions)
    sums = values.sum(axes)
    gaps = np.atleast_1d(np.abs(sums - 1))
    if gaps.max() > MAX_SUM_ERROR:
        worst = np.unravel_index(gaps.argmax(), gaps.shape)
        total = float(np.atleast_1d(sums)[worst])
        kept = [i for i, name in enumerate(names) if name in conditions]
        where = ""
        if kept:
            own = [names[i] for i in kept], [levels[i] for i in kept]
            where = f" given {_cell(np.array(worst), *own)}"
        side = "above" if total > 1 else "below"
        raise InputError(
            f"the probabilities{where} sum to {total:.10g}, {abs(total - 1):.3g} {side} one; "
            "divide by the sum, or use Table.from_counts."
        )


def number_of(level: Any, name: str, levels: np.ndarray) -> int:
    """The number of a level, or a sentence with those that there are."""
    found = [i for i, own in enumerate(levels.tolist()) if own == level]
    if not found:
        known = [str(own) for own in levels.tolist()]
        near = suggestion(level, known, "its levels are")
        raise InputError(f"{name} has no level {level!r}; {near}")
    return found[0]


def _cell(index: Sequence[int] | np.ndarray, names: Any, levels: Any) -> str:
    pairs = zip(names, levels, index, strict=True)
    return ", ".join(f"{name}={own[i]}" for name, own, i in pairs)
