r"""A few rows among which the nearest are, found without the distance from every row.

In few dimensions a tree of the rows gives them. In more dimensions the squares
$\lVert x\rVert^2 + \lVert r\rVert^2 - 2\,x·r$ do, by a product of matrices; they lose digits where
rows are close, so distances of the candidates are computed again, difference by
difference. Rows that are no candidates are further away than `reach`: an answer that stays
within it is that of all rows.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import issparse
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from likely.core.threads import thread_count

MAX_TREE_COLUMNS = 12
"""Columns up to which a tree looks at few of the rows."""
MIN_QUERIES, MIN_TREE_QUERIES = 8, 32
"""Rows that are looked for from which candidates pay, and from which building a tree does."""
MIN_ROWS = 1000
"""Rows from which candidates save time."""
POWERS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf}
"""The metrics that trees have, by their power."""


class Candidates(NamedTuple):
    """Some of the nearest rows of each row, and their distances."""

    index: Int[np.ndarray, "m c"]
    D: Float[np.ndarray, "m c"]
    reach: Float[np.ndarray, " m"]
    """All other rows are further away than this."""


class Search:
    """The search for candidates among rows; `find` is None where it would not pay.

    Args:
        rows: of the fit.
        metric: of the distances.
        count: the number of candidates.
        queries: the number of rows that are looked for.
    """

    def __init__(self, rows: Any, metric: str, count: int, queries: int):
        self.rows, self.metric, self.count = rows, metric, count
        n, d = rows.shape
        few = n < MIN_ROWS or count > n // 4 or issparse(rows)
        tree = (
            metric in POWERS and d <= MAX_TREE_COLUMNS and queries >= MIN_TREE_QUERIES
        )
        product = metric == "euclidean" and queries >= MIN_QUERIES
        self.pays = not few and (tree or product)
        self._tree = None
        if self.pays and tree:
            self._tree = KDTree(rows, balanced_tree=False, compact_nodes=False)
        elif self.pays:
            self._centre = rows.mean(0)
            self._rows = rows - self._centre
            self._squares = np.einsum("ij,ij->i", self._rows, self._rows)

    def find(self, X: Any) -> Candidates | None:
        """The candidates of rows."""
        if not self.pays:
            return None
        if self._tree is not None:
            power = POWERS[self.metric]
            workers = thread_count(None) if len(X) > 10 * MIN_TREE_QUERIES else 1
            found = self._tree.query(X, self.count, p=power, workers=workers)
            far, index = map(np.asarray, found)
            reach = far[:, -1] * (1 - 1e-12)
        else:
            index, reach = self._by_products(X)
        if not np.isfinite(reach).all():
            return None
        return Candidates(index, _distances(X, self.rows, index, self.metric), reach)

    def _by_products(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest by squares that are expanded, and how far they surely reach."""
        X = X - self._centre
        own = np.einsum("ij,ij->i", X, X)
        S = X @ self._rows.T
        S *= -2.0
        S += self._squares
        index = np.argpartition(S, self.count, axis=1)[:, : self.count]
        last = np.take_along_axis(S, index, 1).max(1) + own
        size = (np.sqrt(own) + np.sqrt(self._squares.max())) ** 2
        error = 4 * (X.shape[1] + 4) * np.finfo(float).eps * size
        return index, np.sqrt(np.maximum(last - error, 0.0))


def _distances(
    X: Float[np.ndarray, "m d"], rows: np.ndarray, index: np.ndarray, metric: str
) -> Float[np.ndarray, "m c"]:
    """Distances of candidates, to the last bit what those of all rows would be."""
    name: Any = {"manhattan": "cityblock"}.get(metric, metric)
    found = np.empty(index.shape)
    for i, own in enumerate(index):
        found[i] = cdist(X[i : i + 1], rows[own], name)[0]
    return found


def sparse_distances(X: Any, rows: Any, metric: str) -> Float[np.ndarray, "m n"]:
    """Distances where the rows of the fit or those looked for are sparse.

    Args:
        X: (m, d) rows, dense or sparse.
        rows: (n, d) rows of the fit.
        metric: "euclidean" or "cosine".
    """
    S = rows @ X.T
    S = (S.toarray() if issparse(S) else np.asarray(S)).T
    own, squares = _row_squares(X)[:, None], _row_squares(rows)[None]
    if metric == "cosine":
        length = np.sqrt(own * squares)
        with np.errstate(invalid="ignore", divide="ignore"):
            return 1 - S / length
    return np.sqrt(np.maximum(own + squares - 2 * S, 0.0))


def _row_squares(rows: Any) -> np.ndarray:
    if issparse(rows):
        return np.asarray(rows.multiply(rows).sum(1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)
