"""A table for the checks: a fitted model, its rows, and the fault that was planted."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Made(NamedTuple):
    """What `likely.check` is given."""

    model: Any
    X: Any
    y: Any
    options: dict[str, Any] = {}  # noqa: RUF012


class Case(NamedTuple):
    """A table by name."""

    name: str
    code: str
    """The check that has to name the fault; empty where there is none."""
    make: Callable[[np.random.Generator], Made]


def halves(X: Any, y: Any, model: Any, **options: Any) -> Made:
    """The model fitted to the first half of the rows; the other half tests it."""
    n = len(y) // 2
    take = (lambda a, s: a.iloc[s]) if hasattr(X, "iloc") else (lambda a, s: a[s])
    first, rest = slice(None, n), slice(n, None)
    fitted = model.fit(take(X, first), y[first])
    given = {"X_test": take(X, rest), "y_test": y[rest]}
    return Made(fitted, take(X, first), y[first], given | options)


def fitted(model: Any, X: Any, y: Any, **options: Any) -> Made:
    """The model fitted to all rows."""
    return Made(model.fit(X, y), X, y, options)


def normals(rng: np.random.Generator, n: int, d: int, r: float = 0.0) -> np.ndarray:
    """Normal columns, each two of correlation r."""
    return np.sqrt(1 - r) * rng.normal(size=(n, d)) + np.sqrt(r) * rng.normal(
        size=(n, 1)
    )
