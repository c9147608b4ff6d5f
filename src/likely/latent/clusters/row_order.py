"""Rows in an order of their own, equal ones merged, so that a fit depends on no order.

What draws rows at random or adds them up depends on the order in which rows come. Here rows
are sorted by a projection of their values and equal rows become one row with the sum of
their weights. A fit to what comes out is a function of the set of rows: to the bit, a row of
weight 2 is the row twice, and another order of rows changes nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.latent.clusters.kernels.projection import project


class OrderedRows(NamedTuple):
    """Different rows in the order of their projection, and their weights."""

    X: np.ndarray
    w: np.ndarray


def ordered_rows(X: Any, w: Any) -> OrderedRows:
    """The different rows of positive weight in an order of their own.

    Args:
        X: (n, d) rows; values may be NaN.
        w: (n,) weights above 0.
    """
    X = np.ascontiguousarray(X, np.float64)
    known = np.where(np.isnan(X), np.inf, X) if np.isnan(X).any() else X
    low = 0.5 * known.min(0)
    high = 0.5 * np.where(np.isinf(known), -np.inf, known).max(0)
    low, high = (np.where(np.isfinite(a), a, 0.0) for a in (low, high))
    spread = np.where(high > low, high - low, 1.0)
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    order = np.argsort(project(X, low, spread, direction), kind="stable")
    X, w = X[order], np.asarray(w, np.float64)[order]
    same = X[1:] == X[:-1]
    if not np.isfinite(X).all():
        same |= np.isnan(X[1:]) & np.isnan(X[:-1])
    first = np.flatnonzero(np.r_[True, ~same.all(1)])
    if len(first) == len(X):
        return OrderedRows(X, w)
    return OrderedRows(X[first], np.add.reduceat(w, first))
