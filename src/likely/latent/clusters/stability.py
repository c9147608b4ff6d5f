"""Whether clusters are found again in rows drawn with replacement."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from likely.base.settings import at_least
from likely.core.checks import check_weights
from likely.core.random import seed_of


class ClusterStability(NamedTuple):
    """How well clusters are found again.

    Attributes:
        similarities: (m, k) for each refit and cluster the largest Jaccard similarity, rows
            in common over rows in either, with a cluster of the refit.
        clusters: (k,) their means: above 0.75 a cluster is stable, below 0.5 it dissolves.
        rand: (m,) the adjusted Rand index of the labels of each refit: 1 is the same
            clusters, 0 what chance gives.
        labels: (k,) the labels of the clusters.
    """

    similarities: np.ndarray
    clusters: np.ndarray
    rand: np.ndarray
    labels: np.ndarray


def cluster_stability(
    clusterer: Any,
    X: Any,
    *,
    n_bootstraps: int = 50,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> ClusterStability:
    """Fit a clusterer again to rows drawn with replacement, and compare the clusters.

    Clusters are compared on all rows where the clusterer can `predict`, and else on the
    rows that were drawn.

    Args:
        clusterer: such as `KMeans(3)`; it is copied, not changed.
        X: (n, d) rows.
        n_bootstraps: the number m of refits.
        sample_weight: how often each row counts.
        random_state: of the draws.
    """
    X = np.asarray(X, np.float64)
    m = at_least("n_bootstraps", n_bootstraps, 1, whole=True)
    w = check_weights(sample_weight, len(X))
    X, w = X[w > 0], w[w > 0]
    rng = np.random.default_rng(seed_of(random_state))
    copy: Any = clone
    first = _labels(copy(clusterer).fit(X, sample_weight=w), X)
    names = np.unique(first)
    cumulative = np.cumsum(w)
    count = max(1, round(cumulative[-1]))
    similarities, rand = np.empty((m, len(names))), np.empty(m)
    for i in range(m):
        places = rng.random(count) * cumulative[-1]
        rows = np.minimum(np.searchsorted(cumulative, places, side="right"), len(X) - 1)
        drawn = np.bincount(rows, minlength=len(X)).astype(np.float64)
        refit = copy(clusterer).fit(X, sample_weight=drawn)
        weights = w if hasattr(refit, "predict") else drawn
        table = _table(first, _labels(refit, X), weights, names)
        both = table.sum(1, keepdims=True) + table.sum(0) - table
        jaccard = table / np.where(both > 0, both, 1.0)
        similarities[i] = jaccard.max(1)
        rand[i] = adjusted_rand(table)
    return ClusterStability(similarities, similarities.mean(0), rand, names)


def adjusted_rand(table: np.ndarray) -> float:
    """The adjusted Rand index of two clusterings, from the weights they have in common."""
    n = table.sum()
    pairs = [
        float((a * (a - 1)).sum() / 2) for a in (table, table.sum(0), table.sum(1))
    ]
    together, columns, rows = pairs
    chance = columns * rows / max(n * (n - 1) / 2, 1e-300)
    most = 0.5 * (columns + rows)
    return 1.0 if most == chance else float((together - chance) / (most - chance))


def _labels(fitted: Any, X: np.ndarray) -> np.ndarray:
    return fitted.predict(X) if hasattr(fitted, "predict") else fitted.labels_


def _table(
    a: np.ndarray, b: np.ndarray, w: np.ndarray, names: np.ndarray
) -> np.ndarray:
    """(k, l) the weight of the rows that are in a cluster of either."""
    left = a[:, None] == names
    right = b[:, None] == np.unique(b[w > 0])
    return (w[:, None] * left).T @ right
