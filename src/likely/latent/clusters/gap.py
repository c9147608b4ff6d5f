r"""The gap statistic: with how many clusters rows are closer than rows without clusters are.

$$\operatorname{gap}(k) = \operatorname{E}^* [\log W^*_k] - \log W_k$$

compares the sum of squared distances $W_k$ of k-means with that of rows drawn uniformly from the
box around the data along its principal axes. The number of clusters is the smallest k with
$\operatorname{gap}(k) \ge \operatorname{gap}(k + 1) - s_{k+1}$ (Tibshirani, Walther and Hastie).
"""

from typing import Any, NamedTuple

import numpy as np

from likely.base.settings import at_least
from likely.core.checks import InputError, check_finite, check_weights
from likely.core.random import seed_of
from likely.latent.clusters.lloyd import all_starts, tiled
from likely.latent.clusters.row_order import ordered_rows
from likely.latent.clusters.rows import centred, start_numbers

MAX_ROWS = 2000
"""Of more rows, as many are drawn."""
STARTS, STEPS, TOL = 4, 50, 1e-4


class GapStatistic(NamedTuple):
    """The number of clusters that was found, and what it was found from.

    Attributes:
        n_clusters: the number of clusters.
        gaps: (m,) the gap of 1 to m clusters, in nats.
        errors: (m,) their standard errors, s.
        log_inertia: (m,) log W of the rows.
        reference: (m,) the mean of log W of rows without clusters.
    """

    n_clusters: int
    gaps: np.ndarray
    errors: np.ndarray
    log_inertia: np.ndarray
    reference: np.ndarray


def gap_statistic(
    X: Any,
    max_clusters: int = 10,
    *,
    n_references: int = 20,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> GapStatistic:
    """Find the number of clusters of k-means by the gap statistic.

    Args:
        X: (n, d) rows; of more than 2,000 different ones as many are drawn.
        max_clusters: the largest number of clusters to try.
        n_references: how many sets of rows without clusters to compare with.
        sample_weight: how often each row counts.
        random_state: of the draws and the starts.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> X = np.r_[rng.normal(0, 1, (40, 2)), rng.normal(9, 1, (40, 2))]
        >>> lk.gap_statistic(X, 4, n_references=5).n_clusters
        2
    """
    most = at_least("max_clusters", max_clusters, 1, whole=True)
    count = at_least("n_references", n_references, 2, whole=True)
    X = np.asarray(X, np.float64)
    if X.ndim != 2:
        raise InputError(f"X has shape {X.shape}; give rows and columns.")
    w = check_weights(sample_weight, len(X))
    check_finite("X", X, w)
    seed = seed_of(random_state)
    rng = np.random.default_rng(seed)
    X, w = ordered_rows(X[w > 0], w[w > 0])
    if len(X) > MAX_ROWS:
        places = rng.random(MAX_ROWS) * w.sum()
        drawn = np.searchsorted(np.cumsum(w), places, side="right")
        X, w = ordered_rows(X[np.minimum(drawn, len(X) - 1)], np.ones(MAX_ROWS))
    Z, _, _ = centred(X, w)
    ks = range(1, min(most, len(X)) + 1)
    own = _log_inertias(Z, w, ks, seed)
    axes = np.linalg.svd(np.sqrt(w)[:, None] * Z, full_matrices=False)[2]
    scores = Z @ axes.T
    low, high = scores.min(0), scores.max(0)
    others = np.stack(
        [
            _log_inertias(rng.uniform(low, high, scores.shape) @ axes, w, ks, seed)
            for _ in range(count)
        ]
    )
    reference = others.mean(0)
    gaps = reference - own
    errors = others.std(0) * np.sqrt(1 + 1 / count)
    enough = gaps[:-1] >= gaps[1:] - errors[1:]
    k = int(np.argmax(enough)) + 1 if enough.any() else int(np.argmax(gaps)) + 1
    return GapStatistic(k, gaps, errors, own, reference)


def _log_inertias(Z: np.ndarray, w: np.ndarray, ks: range, seed: int) -> np.ndarray:
    """log W of each number of clusters; rows that are all in centres count as rounding."""
    rows = tiled(Z, w, np.float64)
    least = np.finfo(np.float64).eps * w.sum()
    found = [
        min(
            c.inertia
            for c in all_starts(rows, start_numbers(seed, STARTS, k), TOL, STEPS)
        )
        for k in ks
    ]
    return np.log(np.maximum(found, least))
