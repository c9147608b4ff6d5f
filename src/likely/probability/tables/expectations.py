r"""Expectations over tables, and the tower property.

$$E[g] = E_X\big[E[g \mid X]\big], \qquad
  \operatorname{Var} g = E\big[\operatorname{Var}(g \mid X)\big]
  + \operatorname{Var}\big(E[g \mid X]\big) .$$
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.probability.tables.factor import Factor, check_names, sum_out


class Tower(NamedTuple):
    """An expectation and a variance by way of a condition X."""

    total: float
    """E[g], in one sum over all cells."""
    conditional: np.ndarray
    """E[g | x] for each level x; NaN where x is impossible."""
    weights: np.ndarray
    """P(x)."""
    iterated: float
    """E[E[g | X]]: equal to the total, which is the tower property."""
    within: float
    """E[Var(g | X)]."""
    between: float
    """Var(E[g | X]); with the part within it makes the variance of g."""


def values_of(
    g: str | Callable[..., Any], names: tuple[str, ...], levels: tuple[np.ndarray, ...]
) -> np.ndarray:
    """g at all cells, in the shape of the table.

    Args:
        g: a name, or a function of variables by their names.
        names: of the variables.
        levels: of the variables.
    """
    if isinstance(g, str):
        check_names([g], names)
        levels_of_g = levels[names.index(g)]
        if levels_of_g.dtype.kind not in "biuf":
            raise InputError(
                f"the levels of {g!r} are {levels_of_g.tolist()}, which are no numbers; give "
                f"a function of them, such as lambda {g}: {g} == {levels_of_g[0]!r}."
            )
        wanted: tuple[str, ...] = (g,)
        call: Callable[..., Any] = lambda value: value.astype(float)  # noqa: E731
    else:
        wanted, call = tuple(inspect.signature(g).parameters), g
        check_names(wanted, names)
    shape = tuple(len(own) for own in levels)
    grids = []
    for name in wanted:
        axis = names.index(name)
        grids.append(
            levels[axis].reshape([-1 if i == axis else 1 for i in range(len(names))])
        )
    return np.broadcast_to(np.asarray(call(*grids), np.float64), shape)


def iterate(factor: Factor, g: np.ndarray, given: str) -> Tower:
    """The expectation of g with and without the condition in between."""
    check_names([given], factor.names)
    p = np.exp(factor.log_values)
    axis = factor.names.index(given)
    others = tuple(i for i in range(p.ndim) if i != axis)
    rest = tuple(name for name in factor.names if name != given)
    weights = np.exp(sum_out(factor, rest).log_values)
    possible = weights > 0
    share = np.where(possible, weights, 1.0)
    mean = np.where(possible, np.sum(p * g, axis=others) / share, np.nan)
    spread = np.moveaxis(g, axis, -1) - np.where(possible, mean, 0.0)
    within = float(np.sum(np.moveaxis(p, axis, -1) * spread**2))
    iterated = float(np.sum(weights[possible] * mean[possible]))
    between = float(np.sum(weights[possible] * (mean[possible] - iterated) ** 2))
    total = float(np.sum(p * g))
    return Tower(total, mean, weights, iterated, within, between)
