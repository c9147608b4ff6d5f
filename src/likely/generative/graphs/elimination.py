r"""The order in which variables are summed out of a product of factors.

Summing out a variable joins all its neighbours in one factor. A good order keeps these
factors small: *min-fill* takes the variable whose neighbours need the fewest new connections
among themselves, *min-weight* the one whose factor has the fewest cells. Both are
tried, and the cheaper order is taken; finding the best one is NP-hard.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np


class EliminationOrder(NamedTuple):
    """Variables in the order in which they are summed out, and what that costs."""

    names: tuple[str, ...]
    largest: float
    """The number of cells of the largest factor on the way."""
    total: float
    """The number of cells of all of them."""


def elimination_order(
    scopes: Iterable[Collection[str]], sizes: Mapping[str, int], keep: Collection[str]
) -> EliminationOrder:
    """A good order to sum out all variables but some.

    Args:
        scopes: the variables of each factor.
        sizes: the number of levels of each variable.
        keep: the variables of the result.
    """
    known = tuple(frozenset(scope) for scope in scopes)
    return _cheaper(known, tuple(sizes.items()), tuple(keep))


@lru_cache(maxsize=4096)
def _cheaper(scopes: tuple, sizes: tuple, keep: tuple) -> EliminationOrder:
    """The cheaper of both orders; the same question is asked for many rows."""
    return min(
        (_greedy(scopes, dict(sizes), set(keep), fill=fill) for fill in (True, False)),
        key=lambda order: (order.total, order.largest),
    )


def _greedy(
    scopes: tuple[frozenset[str], ...],
    sizes: Mapping[str, int],
    keep: set[str],
    *,
    fill: bool,
) -> EliminationOrder:
    near: dict[str, set[str]] = {}
    for scope in scopes:
        for name in scope:
            near.setdefault(name, set()).update(scope - {name})

    def cells(name: str) -> float:
        return float(np.prod([float(sizes[n]) for n in (name, *near[name])]))

    def cost(name: str) -> tuple[float, float]:
        new = float(sum(b not in near[a] for a, b in combinations(near[name], 2)))
        return (new, cells(name)) if fill else (cells(name), new)

    order, counts = [], [float(np.prod([float(sizes[n]) for n in keep]))]
    waiting = sorted(name for name in near if name not in keep)
    while waiting:
        name = min(waiting, key=cost)
        counts.append(cells(name))
        for a, b in combinations(near[name], 2):
            near[a].add(b)
            near[b].add(a)
        for other in near.pop(name):
            near[other].discard(name)
        waiting.remove(name)
        order.append(name)
    return EliminationOrder(tuple(order), max(counts), sum(counts))
