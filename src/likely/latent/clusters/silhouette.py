r"""The silhouette: whether rows are nearer to their own cluster than to the next one.

$$s_i = \frac{b_i - a_i}{\max(a_i, b_i)}$$

with the mean distance $a_i$ to the other rows of the own cluster and the smallest mean distance
$b_i$ to the rows of another: 1 is well inside, 0 is between two clusters, below 0 nearer to
another. A row that is alone in its cluster has 0.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from likely.core.checks import InputError, check_finite, check_weights

BLOCK_NUMBERS = 2**22
"""Distances that are kept at once."""


class Silhouette(NamedTuple):
    """Silhouettes of rows.

    Attributes:
        values: (n,) of each row; NaN for rows of weight 0.
        mean: the weighted mean.
        labels: (n,) the cluster of each row, as given.
        of_clusters: the weighted mean of each cluster, by its label.
    """

    values: np.ndarray
    mean: float
    labels: np.ndarray
    of_clusters: dict[Any, float]


def silhouette(X: Any, labels: Any, *, sample_weight: Any = None) -> Silhouette:
    """The silhouette of each row, from the distances of all pairs of rows.

    A row of weight 2 counts as two rows at the same place.

    Args:
        X: (n, d) rows.
        labels: (n,) the cluster of each row.
        sample_weight: how often each row counts.

    Examples:
        >>> X = np.array([[0.0], [0.2], [5.0], [5.2]])
        >>> round(lk.silhouette(X, np.array([0, 0, 1, 1])).mean, 2)
        0.96
    """
    X, labels = np.asarray(X, np.float64), np.asarray(labels)
    if X.ndim != 2 or labels.shape != X.shape[:1]:
        raise InputError(
            f"X has shape {X.shape} and labels {labels.shape}; give rows and columns, and a "
            "label for each row."
        )
    w = check_weights(sample_weight, len(X))
    check_finite("X", X, w)
    here = np.flatnonzero(w > 0)
    names, own = np.unique(labels[here], return_inverse=True)
    if len(names) < 2:
        raise InputError(
            "labels has a single cluster; silhouettes compare at least two."
        )
    rows, weights = X[here] - X[here].mean(0), w[here]
    member = weights[:, None] * (own[:, None] == np.arange(len(names)))
    total = member.sum(0)
    found = np.empty(len(rows))
    size = max(1, BLOCK_NUMBERS // len(rows))
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        sums = cdist(rows[part], rows) @ member
        label = own[part]
        inside = np.arange(len(label)), label
        others = total[label] - 1.0
        a = sums[inside] / np.where(others > 0, others, 1.0)
        means = sums / total
        means[inside] = np.inf
        b = means.min(1)
        larger = np.maximum(a, b)
        value = (b - a) / np.where(larger > 0, larger, 1.0)
        found[part] = np.where(others > 0, value, 0.0)
    values = np.full(len(X), np.nan)
    values[here] = found
    of_clusters = (member.T @ found) / total
    return Silhouette(
        values,
        float(weights @ found / weights.sum()),
        labels,
        dict(zip(names.tolist(), of_clusters.tolist(), strict=True)),
    )
