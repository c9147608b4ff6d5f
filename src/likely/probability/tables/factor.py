r"""Factors: non-negative functions of named discrete variables, in log space.

Tables multiply, lose variables and are conditioned here, and nowhere else, so that a model
of many variables eliminates with the same three operations:

$$(φψ)(x) = φ(x)\,ψ(x), \qquad (\textstyle\sum_Y φ)(x) = \sum_y φ(x, y), \qquad
  φ(x \mid y_0) = φ(x, y_0) .$$

A zero is −∞. Logarithms keep the digits of products of many small numbers, which underflow
otherwise.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from likely.core.checks import InputError, suggestion

MAX_CELLS = 2**25
"""The largest number of cells of one factor: 256 MB of numbers."""


class Factor(NamedTuple):
    """A function of named variables, of which each has levels 0, 1, ...

    Its logarithms have one axis for each name.
    """

    names: tuple[str, ...]
    log_values: np.ndarray

    @property
    def sizes(self) -> dict[str, int]:
        """The number of levels of each variable."""
        return dict(zip(self.names, self.log_values.shape, strict=True))

    def arranged(self, names: Iterable[str]) -> np.ndarray:
        """The logarithms with axes in this order, of length 1 where a name is not ours."""
        names = tuple(names)
        own = [name for name in names if name in self.names]
        axes = [self.names.index(name) for name in own]
        sizes = self.sizes
        shape = [sizes.get(name, 1) for name in names]
        return self.log_values.transpose(axes).reshape(shape)


def multiply(factors: Iterable[Factor]) -> Factor:
    """The product of factors, over all their variables, in the order they appear in."""
    factors = list(factors)
    sizes: dict[str, int] = {}
    for factor in factors:
        for name, size in factor.sizes.items():
            if sizes.setdefault(name, size) != size:
                raise InputError(
                    f"{name!r} has {sizes[name]} levels in one table and {size} in another; "
                    "give both the same levels."
                )
    names, shape = tuple(sizes), tuple(sizes.values())
    check_cells(sizes)
    total = np.zeros(shape)
    for factor in factors:
        total = total + factor.arranged(names)
    return Factor(names, total)


def sum_out(factor: Factor, names: Collection[str]) -> Factor:
    """The factor of the other variables: the sum over all levels of these."""
    check_names(names, factor.names)
    axes = tuple(i for i, name in enumerate(factor.names) if name in names)
    rest = tuple(name for name in factor.names if name not in names)
    return Factor(rest, log_sum(factor.log_values, axes))


def restrict(factor: Factor, levels: Mapping[str, int]) -> Factor:
    """The factor of the other variables, with these at the numbers of their levels."""
    where = tuple(levels.get(name, slice(None)) for name in factor.names)
    rest = tuple(name for name in factor.names if name not in levels)
    return Factor(rest, factor.log_values[where])


def eliminate(
    factors: Iterable[Factor],
    keep: Collection[str],
    evidence: Mapping[str, int] | None = None,
    *,
    order: Sequence[str] | None = None,
) -> Factor:
    """The product of factors, summed over all variables but some.

    One variable after another is summed out of the factors that contain it; the next one is
    the one whose sum leaves the smallest factor. The product of all factors is
    never made, so that chains and trees of any length cost little.

    Args:
        factors: such as the conditional tables of a network, by `Table.factor`.
        keep: the variables of the result, which is in this order and not normalised.
        evidence: variables that are observed, and the numbers of their levels.
        order: in which the other variables are summed out, where it is known.
    """
    evidence = dict(evidence or {})
    left = [restrict(factor, evidence) for factor in factors]
    known = tuple(dict.fromkeys(name for factor in left for name in factor.names))
    check_names(keep, known)
    waiting = [name for name in known if name not in keep]
    if order is not None and sorted(order) != sorted(waiting):
        raise InputError(
            f"order is {list(order)}; give each of these once: {', '.join(waiting)}."
        )
    while waiting:
        if order is None:
            name = min(waiting, key=lambda name: _cost(left, name))
        else:
            name = order[len(order) - len(waiting)]
        touched = [factor for factor in left if name in factor.names]
        left = [factor for factor in left if name not in factor.names]
        left.append(sum_out(multiply(touched), (name,)))
        waiting.remove(name)
    result = multiply(left)
    keep = tuple(keep)
    return Factor(keep, result.arranged(keep))


def log_sum(logs: np.ndarray, axes: tuple[int, ...] | None = None) -> np.ndarray:
    """log Σ exp over some axes (all for None); −∞ where there are only zeros."""
    if axes == ():
        return logs
    top = np.max(logs, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(logs - top), axis=axes, keepdims=True)) + top
    return np.squeeze(total, axis=axes)


def log_ratio(logs: np.ndarray, of: np.ndarray) -> np.ndarray:
    """The logarithm of a quotient, where 0/0 is 0."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(logs), -np.inf, logs - of)


def check_names(names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are not there, with the nearest one."""
    known = tuple(known)
    for name in names:
        if name not in known:
            near = suggestion(name, [str(k) for k in known], "the variables are")
            raise InputError(f"there is no variable {name!r}; {near}")


def check_cells(sizes: Mapping[str, int]) -> None:
    """Refuse a table that has too many cells, naming its largest variables."""
    cells = float(np.prod([float(size) for size in sizes.values()]))
    if cells > MAX_CELLS:
        worst = sorted(sizes, key=lambda name: -sizes[name])[:3]
        shown = ", ".join(f"{name} ({sizes[name]} levels)" for name in worst)
        raise InputError(
            f"the table would have {cells:.3g} cells, at most {MAX_CELLS} are possible; bin "
            f"or leave out variables, the largest are {shown}, or use eliminate."
        )


def _cost(factors: list[Factor], name: str) -> float:
    """The number of cells of the product from which a variable is summed out."""
    sizes: dict[str, int] = {}
    for factor in factors:
        if name in factor.names:
            sizes |= factor.sizes
    return float(np.prod([float(size) for size in sizes.values()]))
