r"""The settings of a search: every combination of lists, or draws from distributions.

Trial i of a random search is a function of (seed, i): the first ten trials of a hundred are
the trials of a search of ten. Where every parameter is a list no combination is drawn twice.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from likely.core.checks import InputError, suggestion
from likely.selection.search.batches import Setting

EDGE_SHARE = 0.05
"""Probability beyond which a draw lies at the edge of its distribution."""
MIN_EDGE_VALUES = 3
"""Values that were tried at least, so that one of them is not at an edge."""

Space = list[dict[str, Any]]


SCIPY = ("rvs",)
"""What distributions of `scipy.stats` have, and anything else that can be drawn from."""


def checked_space(
    estimator: Any, space: Any, name: str, *, kinds: tuple[str, ...] = ()
) -> Space:
    """The values of each parameter, as lists and distributions.

    Args:
        estimator: whose parameters they are.
        space: a mapping from parameters to values, or a list of such mappings.
        name: what the space is called in messages.
        kinds: methods by one of which a distribution is known; none allows lists alone.
    """
    parts = [space] if isinstance(space, Mapping) else space
    valid = np.iterable(parts) and not isinstance(parts, str)
    parts = list(parts) if valid else []
    if not parts or not all(isinstance(part, Mapping) for part in parts):
        raise InputError(
            f"{name} is {space!r}; give values by parameter, such as "
            '{"alpha": [0.1, 1.0]}, or a list of such dicts.'
        )
    known = list(estimator.get_params())
    return [
        {
            parameter: _values(parameter, values, name, kinds)
            for parameter, values in part.items()
            if _check_name(estimator, parameter, known, part)
        }
        for part in parts
    ]


def _check_name(estimator: Any, parameter: Any, known: list[str], part: Any) -> bool:
    inside = str(parameter).rpartition("__")[0]
    replaced = inside in part or any(inside.startswith(f"{p}__") for p in part)
    if parameter not in known and not (inside and replaced):
        raise InputError(
            f"{type(estimator).__name__} has no parameter {parameter!r}; "
            f"{suggestion(parameter, known, 'it has')}"
        )
    return True


def _values(parameter: str, values: Any, name: str, kinds: tuple[str, ...]) -> Any:
    if any(hasattr(values, kind) for kind in kinds):
        return values
    listed = [] if isinstance(values, str) or not np.iterable(values) else list(values)
    if not listed:
        also = " or a distribution of scipy.stats" if kinds else ""
        raise InputError(
            f"{name} has {values!r} for {parameter!r}; give a list of one or more "
            f"values{also}."
        )
    return [v.item() if isinstance(v, np.generic) else v for v in listed]


def is_grid(space: Space) -> bool:
    """Whether every parameter has a list of values."""
    return all(isinstance(v, list) for part in space for v in part.values())


def grid_settings(space: Space) -> list[Setting]:
    """Every combination, in the order of scikit-learn."""
    return list(ParameterGrid(space))


def drawn_settings(space: Space, n: int, seed: int) -> list[Setting]:
    """n settings drawn at random, or all where there are fewer.

    Args:
        space: lists and distributions.
        n: how many.
        seed: of the draws.
    """
    if is_grid(space):
        return _without_repetition(ParameterGrid(space), n, seed)
    return [_draw(space, np.random.default_rng([seed, i])) for i in range(n)]


def _draw(space: Space, rng: np.random.Generator) -> Setting:
    part = space[rng.integers(len(space))] if len(space) > 1 else space[0]
    setting = {}
    for parameter in sorted(part):
        values = part[parameter]
        if isinstance(values, list):
            setting[parameter] = values[rng.integers(len(values))]
        else:
            value = values.rvs(random_state=rng)
            setting[parameter] = value.item() if hasattr(value, "item") else value
    return setting


def _without_repetition(grid: ParameterGrid, n: int, seed: int) -> list[Setting]:
    rng, size = np.random.default_rng(seed), len(grid)
    chosen: dict[int, None] = {}
    while len(chosen) < min(n, size):
        chosen.setdefault(int(rng.integers(size)))
    return [grid[i] for i in chosen]


def parameters_at_edge(
    space: Space, settings: Iterable[Setting], best: Setting
) -> list[str]:
    """The parameters of which the best value is among the extreme ones that were tried.

    Of a list that is its smallest or largest number (zero is no edge: it is where
    penalties end), of a distribution the outer twentieth on either side.

    Args:
        space: lists and distributions.
        settings: those that were tried.
        best: the best of them.
    """
    tried, found = list(settings), []
    for name, value in best.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        choices = [part[name] for part in space if name in part]
        if len(choices) == 1 and hasattr(choices[0], "cdf"):
            share = float(choices[0].cdf(value))
            if not EDGE_SHARE < share < 1 - EDGE_SHARE:
                found.append(name)
            continue
        numbers = {s[name] for s in tried if isinstance(s.get(name), int | float)}
        low, high = min(numbers, default=value), max(numbers, default=value)
        extreme = value == high or (value == low and value != 0)
        if len(numbers) >= MIN_EDGE_VALUES and extreme:
            found.append(name)
    return found
