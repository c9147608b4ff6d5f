r"""Skip-gram without approximation, for small vocabularies.

With the counts C of pairs of words near each other, the mean surprise of a neighbour is

$$-\frac{1}{\sum C} \sum_{w, v} C_{wv} \log P(v \mid w), \qquad
  P(v \mid w) = \frac{e^{z_v \cdot x_w}}{\sum_u e^{z_u \cdot x_w}}.$$

Its gradient over all pairs costs V² d operations, however long the texts are.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import logsumexp

PRIOR = 1e-5
"""The precision of the Gaussian prior of vectors, in nats per pair: pairs that never occur would
like vectors without end."""


def softmax_loss(
    counts: csr_array, X: np.ndarray, Z: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """The mean surprise of a neighbour, in nats, and its gradients in X and Z.

    Args:
        counts: (V, V) how often the word of a row has the word of a column near it.
        X: (V, d) the vectors of words.
        Z: (V, d) their vectors as neighbours.
    """
    total, by_row = counts.sum(), counts.sum(1)
    scores = X @ Z.T  # (given, predicted)
    norms = np.asarray(logsumexp(scores, axis=1))
    seen = float(counts.multiply(scores).sum())
    loss = (by_row @ norms - seen) / total
    slopes = np.exp(scores - norms[:, None]) * (by_row / total)[:, None]
    slopes -= counts.toarray() / total
    return float(loss), slopes @ Z, slopes.T @ X


def fit_softmax(
    counts: csr_array, size: int, *, max_iter: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """(V, d) the vectors of words and of neighbours with the smallest mean surprise.

    Args:
        counts: (V, V) a co-occurrence matrix.
        size: d.
        max_iter: steps of L-BFGS, at most.
        seed: of the first vectors.
    """
    V = len(counts.indptr) - 1
    start = np.random.default_rng(seed).normal(size=(2, V, size)) / np.sqrt(size)

    def objective(flat: np.ndarray) -> tuple[Any, Any]:
        X, Z = both = flat.reshape(2, V, size)
        loss, *slopes = softmax_loss(counts, X, Z)
        prior = 0.5 * PRIOR * float(flat @ flat)
        return loss + prior, np.ravel(slopes + PRIOR * both)

    options = {"maxiter": max_iter, "maxcor": 10}
    found = minimize(
        objective, start.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    X, Z = found.x.reshape(2, V, size)
    return X, Z
