"""Retrieval: the stored items that are nearest to a query."""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely.base.rows import check_inputs
from likely.base.settings import at_least, one_of, store
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.files import save
from likely.latent.manifolds.rows import check_map_rows
from likely.models.neighbors import neighbors_among, neighbors_and_index, recall

METHODS = ("auto", "exact", "approximate")
MAX_EXACT_ITEMS = 30_000
"""Items up to which queries are compared with all of them by default."""
MIN_APPROXIMATE_ITEMS = 100
GRAPH_NEIGHBORS = 20
MAX_TESTED_ITEMS = 500
"""How many items are looked up to measure the recall."""


class Retrieval(BaseEstimator):
    """Stored items, of which the nearest to a query are looked up.

    Items are rows of numbers: vectors of words, outputs of a network, places on a map. A
    query is compared with all of them, or, if they are many, with those that a walk along
    the graph of neighbours meets. How many of the nearest such a walk finds is measured on
    items of the fit.

    There are no weights: an item is stored or it is not.

    Args:
        n_neighbors: how many items a query gets, unless it asks for another number.
        metric: "euclidean", or "cosine": one minus the cosine of the angle.
        method: "exact", "approximate", or "auto": exact up to 30,000 items.
        random_state: of the random numbers of the approximation.
        n_jobs: the number of threads; as many as there are processors where None.

    Attributes:
        items_: (n, d) what is stored.
        recall_: the share of the nearest items that is found: 1 where every item is compared,
            else measured on up to 500 items, each looked up among the others and itself.
        approximate_: whether queries are answered approximately.

    Examples:
        >>> items = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]])
        >>> distances, rows = lk.Retrieval(1).fit(items).kneighbors(np.array([[4.0, 4.0]]))
        >>> print(rows)
        [[2]]
    """

    n_neighbors: Any
    metric: Any
    method: Any
    random_state: Any
    n_jobs: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        metric: str = "euclidean",
        method: str = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> "Retrieval":
        """Store items, and make what it takes to look them up.

        Args:
            X: (n, d) items.
            y: not used.
        """
        X = check_map_rows(self, X, least=1)
        at_least("n_neighbors", self.n_neighbors, 1, whole=True)
        one_of("method", self.method, METHODS)
        n = len(X)
        self.items_, self.index_, self.recall_ = X, None, 1.0
        self.approximate_ = n >= MIN_APPROXIMATE_ITEMS and (
            self.method == "approximate"
            or (self.method == "auto" and n > MAX_EXACT_ITEMS)
        )
        if self.approximate_:
            seed = seed_of(self.random_state)
            *_, self.index_ = neighbors_and_index(
                X, GRAPH_NEIGHBORS, metric=self.metric, method="approximate",
                seed=seed, n_jobs=self.n_jobs,
            )  # fmt: skip
            rng = np.random.default_rng(seed)
            some = X[np.sort(rng.choice(n, min(n, MAX_TESTED_ITEMS), replace=False))]
            self.recall_ = recall(self.kneighbors(some)[1], self._exact(some)[1])
        else:
            self._exact(X[:1])  # what cannot be measured is refused here
        return self

    def kneighbors(
        self, X: Any, n_neighbors: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(m, k) the distances of the nearest items, the nearest first, and which they are.

        Args:
            X: (m, d) queries.
            n_neighbors: k; as in the settings where None.
        """
        check_is_fitted(self)
        X = check_inputs(self, X)
        k = self._count(n_neighbors)
        return neighbors_among(
            self.items_, X, k, metric=self.metric, index=self.index_, n_jobs=self.n_jobs
        )

    def save(self, path: Any, *, card: Any = None) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def _count(self, n_neighbors: int | None) -> int:
        asked = self.n_neighbors if n_neighbors is None else n_neighbors
        k = at_least("n_neighbors", asked, 1, whole=True)
        if n_neighbors is not None and k > len(self.items_):
            raise InputError(
                f"{k} items were asked for, but {len(self.items_)} are stored; ask for fewer."
            )
        return min(k, len(self.items_))

    def _exact(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k = self._count(None)
        return neighbors_among(
            self.items_, X, k, metric=self.metric, n_jobs=self.n_jobs
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
