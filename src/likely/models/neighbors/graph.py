"""The neighbours of rows among themselves and of new rows, exactly or approximately."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from likely.core.checks import InputError, check_choice
from likely.models.neighbors.descent import descend, search_rows
from likely.models.neighbors.exact import nearest_rows

METRICS = ("euclidean", "cosine")
METHODS = ("auto", "exact", "approximate")
MAX_EXACT_ROWS = 30_000
"""Rows up to which all pairs are cheaper than a descent, by default."""
MIN_APPROXIMATE_ROWS = 100
"""Rows below which there is nothing to save."""
MAX_EXACT_COLUMNS = 8
"""Dimensions up to which a tree is exact and fast at any number of rows."""


def neighbors(
    X: Float[np.ndarray, "n d"],
    k: int,
    *,
    metric: str = "euclidean",
    method: str = "auto",
    seed: int = 0,
    n_jobs: int | None = None,
) -> tuple[Float[np.ndarray, "n k"], Int[np.ndarray, "n k"]]:
    """Distances of the k nearest other rows of each row, and which rows they are.

    The nearest come first. The same rows, settings and seed give the same bits, whatever
    the number of threads.

    Args:
        X: rows.
        k: how many neighbours; fewer than there are rows.
        metric: "euclidean", or "cosine": one minus the cosine of the angle.
        method: "exact", "approximate" (some neighbours may be missed), or "auto": exact up
            to 30,000 rows or in up to 8 dimensions.
        seed: of the random numbers of the approximation.
        n_jobs: the number of threads; as many as there are processors where None.
    """
    return neighbors_and_index(
        X, k, metric=metric, method=method, seed=seed, n_jobs=n_jobs
    )[:2]


def neighbors_and_index(
    X: Float[np.ndarray, "n d"],
    k: int,
    *,
    metric: str = "euclidean",
    method: str = "auto",
    seed: int = 0,
    n_jobs: int | None = None,
) -> tuple[Float[np.ndarray, "n k"], Int[np.ndarray, "n k"], dict[str, Any] | None]:
    """The same as `neighbors`, and by what `neighbors_among` looks up new rows fast.

    The index is None where neighbours are exact.
    """
    check_choice("method", method, METHODS)
    if not 1 <= k < len(X):
        raise InputError(
            f"{k} neighbours were asked for among the other {len(X) - 1} rows; ask for "
            "at least 1 and at most as many as there are."
        )
    rows = measured(X, metric)
    if is_approximate(rows, method):
        found, index = descend(rows, k, seed, n_jobs)
        return *ordered(rows, rows, found, metric), index
    own = np.arange(len(rows))
    squares, found = nearest_rows(rows, rows, k, own, n_jobs)
    return distances_of(squares, metric), found, None


def neighbors_among(
    X: Float[np.ndarray, "n d"],
    Q: Float[np.ndarray, "m d"],
    k: int,
    *,
    metric: str = "euclidean",
    index: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> tuple[Float[np.ndarray, "m k"], Int[np.ndarray, "m k"]]:
    """Distances of the k rows that are nearest to each query, and which rows they are.

    Args:
        X: rows.
        Q: queries, that may be rows.
        k: how many neighbours; at most as many as there are rows.
        metric: as in `neighbors`.
        index: of the rows, for an approximate answer; None for an exact one.
        n_jobs: the number of threads; as many as there are processors where None.
    """
    rows, queries = measured(X, metric), measured(Q, metric)
    if index is not None:
        found = search_rows(rows, queries, k, index, n_jobs)
        return ordered(rows, queries, found, metric)
    nobody = np.full(len(queries), -1)
    squares, found = nearest_rows(rows, queries, k, nobody, n_jobs)
    return distances_of(squares, metric), found


def is_approximate(X: np.ndarray, method: str) -> bool:
    """Whether neighbours are approximate by this method."""
    n, d = X.shape
    if method == "auto":
        return n > MAX_EXACT_ROWS and d > MAX_EXACT_COLUMNS
    return method == "approximate" and n >= MIN_APPROXIMATE_ROWS


def measured(X: Any, metric: str) -> np.ndarray:
    """Rows whose Euclidean distances have the order of the metric."""
    check_choice("metric", metric, METRICS)
    X = np.ascontiguousarray(X, np.float64)
    if metric == "euclidean":
        return X
    scale = np.abs(X).max(axis=1, keepdims=True)
    if not scale.all():
        raise InputError(
            f"row {int(scale[:, 0].argmin())} is zero and has no direction; leave such rows "
            'out, or give metric="euclidean".'
        )
    X = X / scale
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def distances_of(squares: np.ndarray, metric: str) -> np.ndarray:
    """Distances from squared Euclidean ones of `measured` rows."""
    return 0.5 * squares if metric == "cosine" else np.sqrt(squares)


def ordered(
    rows: np.ndarray, queries: np.ndarray, found: np.ndarray, metric: str
) -> tuple[np.ndarray, np.ndarray]:
    """Exact distances of rows that were found, the nearest first."""
    squares = np.stack(
        [((queries - rows[names]) ** 2).sum(1) for names in found.T], axis=1
    )
    order = np.lexsort((found, squares))
    squares, found = (np.take_along_axis(a, order, 1) for a in (squares, found))
    return distances_of(squares, metric), found


def recall(found: Int[np.ndarray, "m k"], nearest: Int[np.ndarray, "m k"]) -> float:
    """The share of the nearest rows that were found."""
    both = (found[:, :, None] == nearest[:, None, :]).any(axis=1)
    return float(both.mean())
