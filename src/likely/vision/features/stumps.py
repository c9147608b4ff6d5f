"""Boosted stumps: questions of one feature each, added up to log-odds."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from likely.families import Bernoulli
from likely.models.trees import Trees
from likely.typing import Batch

MIN_LEAF_WEIGHT = 5.0


class Stumps(NamedTuple):
    """η = bias + Σ (below where x[feature] ≤ threshold, else above)."""

    features: Int[np.ndarray, " t"]
    thresholds: Float[np.ndarray, " t"]
    values: Float[np.ndarray, "t 2"]
    """Below and above the threshold."""
    bias: float

    def eta(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Log-odds of rows."""
        above = (X[:, self.features] > self.thresholds).astype(np.int64)
        return self.bias + self.values[np.arange(len(self.values)), above].sum(1)


def boosted_stumps(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    w: Float[np.ndarray, " n"],
    rounds: int,
    rate: float,
) -> Stumps:
    """Stumps for the log-odds of y = 1, by gradient boosting of the Bernoulli likelihood.

    Args:
        X: inputs.
        y: 0 or 1.
        w: how often each row counts, all positive.
        rounds: how many stumps.
        rate: learning rate.
    """
    from likely.models.trees.bins import Bins
    from likely.models.trees.boosted import Limits
    from likely.models.trees.boosting import Settings, boost

    d = X.shape[1]
    bins = Bins.of(X, w, np.zeros(d, bool))
    leaf = min(MIN_LEAF_WEIGHT, float(w.sum()) / 20)
    limits = Limits(max_leaves=2, max_depth=1, min_leaf=leaf, min_gain=0.0, l2=1.0)
    settings = Settings(
        rounds=rounds,
        rate=rate,
        limits=limits,
        subsample=1.0,
        colsample=1.0,
        patience=rounds,
        signs=np.zeros(d, np.int64),
        seed=0,
        n_jobs=None,
    )
    codes = bins.encode(X, None)
    return _read(boost(Bernoulli(), bins, codes, Batch(X, y, w), settings).trees)


def _read(trees: Trees) -> Stumps:
    """The stumps of trees with one question each; a tree without one is added to the bias."""
    bias, rows = float(trees.start[0]), []
    left, feature, cut = trees.left, trees.feature, trees.cut
    for root in trees.roots[:-1]:
        child = int(left[root])
        if child < 0:
            bias += float(trees.value[root, 0])
            continue
        j = int(feature[root])
        edge = trees.bins.of_feature(j)[cut[root] - 1]
        rows.append((j, edge, *trees.value[child : child + 2, 0]))
    table = np.array(rows, np.float64).reshape(-1, 4)
    return Stumps(table[:, 0].astype(int), table[:, 1], table[:, 2:], bias)
