"""Standard errors of explained variances, by the bootstrap."""

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigvalsh

from likely.inference.bootstrap import resampled_weights
from likely.latent.factors.rows import distinct_rows


def bootstrap_variances(
    X: Float[np.ndarray, "n d"],
    w: Float[np.ndarray, " n"],
    k: int,
    *,
    members: int,
    seed: int,
) -> tuple[Float[np.ndarray, "m k"], Float[np.ndarray, " m"]]:
    """The k largest variances and the total one, of rows drawn with replacement.

    Equal rows are merged first, so that a row of weight 2 is the row twice.

    Args:
        X: rows.
        w: their weights.
        k: how many variances.
        members: m, the number of resamples.
        seed: of the resamples.
    """
    X, w = distinct_rows(X, w)
    X = X - w @ X / w.sum()
    variances, totals = np.zeros((members, k)), np.zeros(members)
    rng = np.random.default_rng(seed)
    for i in range(members):
        drawn = resampled_weights(w, 1, rng)[0]
        own = drawn > 0
        rows, often = X[own], drawn[own]
        weight = often.sum()
        rows = (rows - often @ rows / weight) * np.sqrt(often)[:, None]
        S = rows.T @ rows if len(rows) > rows.shape[1] else rows @ rows.T
        found = eigvalsh(S)[::-1][:k] / max(weight - 1, 1)
        variances[i, : len(found)] = np.maximum(found, 0.0)
        totals[i] = np.trace(S) / max(weight - 1, 1)
    return variances, totals
