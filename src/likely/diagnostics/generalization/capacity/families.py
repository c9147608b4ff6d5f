"""Models of growing capacity: networks by their width, forests by leaves and trees."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.data.curves import linear
from likely.data.dataset import Dataset, column_names
from likely.diagnostics.generalization.decomposition.bias_variance import settings_of
from likely.diagnostics.generalization.refits.truth import Generator
from likely.estimators import MLPRegressor, RandomForestRegressor

WIDTHS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 32, 100)
LEAVES, TREES = (2, 4, 8, 12, 16, 24, 32, 40), (2, 4, 8, 16, 32)
PLANE = partial(linear, noise=0.5, coefficients=np.full(5, 5**-0.5), intercept=0.0)
"""Data of five columns, whose function is linear."""


def kinks(n: int, *, noise: float = 0.4, random_state: Any = None) -> Dataset:
    r"""Data that a few ReLU units fit: $y = |x_1 + x_2| - |x_2 - x_3| + ε$, of eight columns."""

    def mean(X: np.ndarray) -> np.ndarray:
        return np.abs(X[:, 0] + X[:, 1]) - np.abs(X[:, 1] - X[:, 2])

    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n, 8))
    y = mean(X) + noise * rng.normal(size=n)
    about = "The difference of two absolute values"
    return Dataset(X, y, column_names(8), ("y",), about, {"mean": mean, "noise": noise})


class Capacity(NamedTuple):
    """Models in the order of their capacity."""

    name: str
    axis: str
    """What the capacity is called."""
    sizes: np.ndarray
    labels: tuple[str, ...]
    models: list[Any]
    generator: Generator
    rows: int = 40
    tolerance: float = 1e-8


def network_widths(sizes: Any = None) -> Capacity:
    """ReLU networks of one hidden layer, without a penalty, trained long; by their width.

    Args:
        sizes: the widths.
    """
    widths = [int(size) for size in (WIDTHS if sizes is None else sizes)]
    if not widths or min(widths) < 1:
        raise InputError(f"sizes is {sizes!r}; give widths from 1 on.")
    models = [
        MLPRegressor((width,), solver="lbfgs", alpha=0.0, max_iter=400, tol=1e-6)
        for width in widths
    ]
    size = np.array(widths, float)
    return Capacity("network", "width", size, (), models, kinks, 80, tolerance=1e-2)


def forest_path(sizes: Any = None) -> Capacity:
    """One tree with more and more leaves up to one for each row, then more and more trees.

    Trees differ by the columns that they look at; every tree sees all rows.

    Args:
        sizes: pairs (leaves of a tree, trees).
    """
    pairs = [(k, 1) for k in LEAVES] + [(LEAVES[-1], trees) for trees in TREES]
    if sizes is not None:
        pairs = [tuple(map(int, pair)) for pair in sizes]
    models = [
        RandomForestRegressor(
            n_estimators=trees, max_leaf_nodes=leaves, min_samples_leaf=1,
            bootstrap=False, max_features=1 / 3,
        )
        for leaves, trees in pairs
    ]  # fmt: skip
    total = np.array([leaves * trees for leaves, trees in pairs], float)
    labels = tuple(
        f"{leaves} leaves" if trees == 1 else f"{trees} trees"
        for leaves, trees in pairs
    )
    return Capacity("forest", "leaves in all", total, labels, models, PLANE)


def capacity_of(model: Any, parameter: str | None, sizes: Any) -> Capacity:
    """The capacities of an estimator, by the values of one of its parameters.

    Args:
        model: the estimator.
        parameter: the name of the parameter.
        sizes: its values, rising; numbers, or widths as (width,).
    """
    if parameter is None or sizes is None:
        raise InputError(
            "an estimator needs the parameter that is its capacity, and sizes: its values."
        )
    models, values = settings_of(model, parameter, sizes)
    plain = [v[0] if isinstance(v, tuple) and len(v) == 1 else v for v in values]
    numbers = all(isinstance(v, int | float | np.number) for v in plain)
    return Capacity(
        type(model).__name__,
        parameter,
        np.array(plain if numbers else range(len(plain)), float),
        () if numbers else tuple(map(str, plain)),
        models,
        PLANE,
    )


CAPACITIES: dict[str, Callable[..., Capacity]] = {
    "network": network_widths,
    "forest": forest_path,
}
