"""Checked probabilities: arrays, mappings, or tables with named axes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from likely.core.checks import InputError, check_choice, suggestion

SUM_TOLERANCE = 1e-6
"""How far a sum of probabilities may be from one: rounding, not a missing cell."""
NATS_PER_UNIT = {"nats": 1.0, "bits": float(np.log(2.0))}
Axes = str | int | Sequence[str | int]


def in_unit(nats: Any, unit: str) -> Any:
    """A number of nats in the unit asked for.

    Args:
        nats: a number or an array.
        unit: "nats" (natural logarithm) or "bits" (logarithm to base 2).
    """
    check_choice("unit", unit, NATS_PER_UNIT)
    return nats / NATS_PER_UNIT[unit]


def raw_values(p: Any) -> np.ndarray:
    """The numbers of an array, of a mapping, or of a table with `.values`, as float64."""
    if isinstance(p, Mapping):
        p = list(p.values())
    values = getattr(p, "values", p)
    return np.asarray(p if callable(values) else values, dtype=np.float64)


def cell_name(p: Any, cell: Any) -> str:
    """A cell in words: by the names and levels of a table, the keys of a mapping, or numbers."""
    cell = tuple(int(i) for i in cell)
    if isinstance(p, Mapping):
        return repr(list(p)[cell[0]])
    names, levels = getattr(p, "names", None), getattr(p, "levels", None)
    known = _one_each(names, cell)
    if known is None:
        return f"cell {cell[0] if len(cell) == 1 else cell}"
    if isinstance(levels, Mapping):
        levels = [levels.get(name) for name in known]
    own = _one_each(levels, cell) or [None] * len(cell)
    words = zip(known, cell, own, strict=True)
    return ", ".join(f"{n} = {i if each is None else each[i]}" for n, i, each in words)


def _one_each(found: Any, cell: tuple[int, ...]) -> list[Any] | None:
    """What a table says about each of its axes, if it does."""
    if found is None or callable(found) or len(found) != len(cell):
        return None
    return list(found)


def probabilities(p: Any, name: str = "p") -> np.ndarray:
    """The cells of a distribution as float64, checked: none negative, with sum one.

    Args:
        p: an array of any shape, a mapping from symbols to probabilities, or anything with
            NumPy `.values`, such as a table of probabilities.
        name: what it is called in the message.
    """
    values = raw_values(p)
    if not values.size:
        raise InputError(f"{name} is empty; give at least one probability.")
    bad = np.argwhere(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        where, value = cell_name(p, bad[0]), values[tuple(bad[0])]
        raise InputError(
            f"{name} is {value:g} at {where}; probabilities are finite and at least 0."
        )
    total = float(values.sum())
    gap = total - 1
    if abs(gap) > SUM_TOLERANCE:
        side = "above" if gap > 0 else "below"
        raise InputError(
            f"{name} sums to {total:.8g}, {abs(gap):.3g} {side} one; divide counts by "
            "their sum, or look for a cell that is missing or counted twice."
        )
    return values


def axes_of(p: Any, which: Axes, ndim: int) -> tuple[int, ...]:
    """The numbers of axes that are given by number or by name.

    Args:
        p: the table, with `.names` where axes may be given by name.
        which: an axis, or several.
        ndim: how many axes there are.
    """
    asked = [which] if isinstance(which, str | int | np.integer) else list(which)
    names = getattr(p, "names", None)
    known = [] if names is None or callable(names) else [str(n) for n in names]
    found = []
    for axis in asked:
        if isinstance(axis, str):
            if axis not in known:
                words = (
                    suggestion(axis, known, "there are") if known else "use numbers."
                )
                raise InputError(f"the table has no variable {axis!r}; {words}")
            found.append(known.index(axis))
        elif -ndim <= axis < ndim:
            found.append(int(axis) % ndim)
        else:
            raise InputError(
                f"the table has no axis {axis}; there are {ndim}, from 0 to {ndim - 1}."
            )
    if len(set(found)) < len(found):
        raise InputError(f"a variable is named twice in {asked}; name each once.")
    return tuple(found)


def marginal(values: np.ndarray, axes: Collection[int]) -> np.ndarray:
    """The sum over all other axes; the kept ones in the order of the table."""
    others = tuple(i for i in range(values.ndim) if i not in axes)
    return np.asarray(values.sum(axis=others))
