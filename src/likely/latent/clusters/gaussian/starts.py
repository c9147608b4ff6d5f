"""Where EM for normal mixtures begins: the clusters of k-means, or what is given."""

from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.latent.clusters.gaussian.components import Components, Moments, maximize
from likely.latent.clusters.lloyd import all_starts, nearest, tiled
from likely.latent.clusters.rows import start_numbers

STEPS, TOL = 20, 1e-3
"""Steps of k-means of a start, and the share of the variance at which it ends."""


def starts_of(
    X: np.ndarray,
    w: np.ndarray,
    k: int,
    *,
    starts: int,
    kind: str,
    floor: float,
    seed: int,
) -> Components:
    """Components of the clusters of k-means; small clusters are drawn to the average.

    Args:
        X: (n, d) rows of columns with mean 0; missing values count as 0.
        w: (n,) their weights.
        k: the number of components, at most that of different rows.
        starts: how many.
        kind: of the covariances.
        floor: the smallest variance in any direction.
        seed: of k-means++.
    """
    X = np.nan_to_num(X, nan=0.0)
    d = X.shape[1]
    numbers = start_numbers(seed, starts, k)
    found = all_starts(tiled(X, w, np.float32), numbers, TOL, STEPS)
    N, means = np.zeros((starts, k)), np.zeros((starts, k, d))
    S = np.zeros((starts, k, d, d) if kind in ("full", "tied") else (starts, k, d))
    for r, clustering in enumerate(found):
        labels = nearest(X, clustering.centres[:, :d])
        order = np.argsort(labels, kind="stable")
        ends = np.searchsorted(labels[order], np.arange(k + 1))
        for c in range(k):
            rows = order[ends[c] : ends[c + 1]]
            N[r, c] = w[rows].sum()
            share = w[rows] / max(N[r, c], 1e-300)
            means[r, c] = share @ X[rows] if len(rows) else clustering.centres[c, :d]
            gaps = X[rows] - means[r, c]
            wide = S.ndim == 4
            S[r, c] = (share[:, None] * gaps).T @ gaps if wide else share @ gaps**2
    shape = (*N.shape, *(1,) * (S.ndim - 2))
    shares = (N / N.sum(1, keepdims=True)).reshape(shape)
    pooled = (shares * S).sum(1, keepdims=True)
    own = (N / (N + d + 1)).reshape(shape)
    moments = Moments(np.zeros(starts), N, means, own * S + (1 - own) * pooled)
    return maximize(moments, kind, floor)


def given_start(
    X: np.ndarray,
    w: np.ndarray,
    k: int,
    *,
    kind: str,
    given: dict[str, Any],
    middle: np.ndarray,
    scale: np.ndarray,
) -> Components:
    """Components that a user gave; what is not given is that of all rows.

    Args:
        X: (n, d) rows as they are given to EM.
        w: (n,) their weights.
        k: the number of components.
        kind: of the covariances.
        given: `means_init`, and `weights_init` and `precisions_init` or None.
        middle: (d,) what was subtracted from the rows.
        scale: (d,) what they were divided by.
    """
    d = X.shape[1]
    means = _shaped("means_init", given["means_init"], (k, d))
    means = (means - middle) / scale
    weights = given["weights_init"]
    weights = (
        np.full(k, 1 / k) if weights is None else _shaped("weights_init", weights, (k,))
    )
    wide = kind in ("full", "tied")
    precisions = given["precisions_init"]
    if precisions is None:
        X = np.nan_to_num(X, nan=0.0)
        share = w / w.sum()
        S = (share[:, None] * X).T @ X if wide else share @ X**2
        S = np.broadcast_to(S, (k, *S.shape))
    else:
        shape = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
        P = _shaped("precisions_init", precisions, shape[kind])
        if wide:
            S = np.broadcast_to(np.linalg.inv(P) / np.outer(scale, scale), (k, d, d))
        else:
            S = np.broadcast_to((1 / P).reshape(k, -1), (k, d)) / scale**2
    parts = weights / weights.sum(), means, S, np.zeros(k, bool)
    return Components(*(np.array(part)[None] for part in parts))


def _shaped(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    value = np.asarray(value, np.float64)
    if value.shape != shape or not np.isfinite(value).all():
        raise InputError(
            f"{name} has shape {value.shape}; give finite numbers, {shape}."
        )
    return value
