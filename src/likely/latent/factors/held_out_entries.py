r"""The number of components of a factorisation, by held-out entries.

A held-out row says little: its z is fitted to the row itself, and more components always fit it
better. So entries are held out instead, spread over all rows and columns: Z and B are fitted to
the others, and $\log p(x_{ij} \mid (ZB)_{ij})$ of the entries that are left counts.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from likely.latent.factors.held_out import FOLDS, PATIENCE, HeldOutNats, summarise
from likely.latent.factors.multiplicative_updates import TINY
from likely.latent.factors.nonnegative import start_factors
from likely.latent.factors.rows import distinct_rows

STEPS = 200
"""Multiplicative updates of each fit."""


def log_density(
    X: np.ndarray, mean: np.ndarray, beta: float, variance: float
) -> np.ndarray:
    """log p(x) of each entry: normal for β = 2, Poisson for β = 1, exponential for β = 0."""
    if beta == 2:
        return -0.5 * (np.log(2 * np.pi * variance) + (X - mean) ** 2 / variance)
    mean = np.maximum(mean, TINY)
    if beta == 1:
        return X * np.log(mean) - mean - gammaln(X + 1)
    return -np.log(mean) - X / mean


def compare_entries(
    X: Float[np.ndarray, "n d"], w: Float[np.ndarray, " n"], beta: float, *, seed: int
) -> HeldOutNats:
    """Factorisations with 1, 2, 3, ... components, until more of them are no better.

    Args:
        X: rows.
        w: their weights.
        beta: of the loss: 2, 1 or 0.
        seed: of the entries that are held out together, and of the starts.
    """
    X, w = distinct_rows(X, w)
    rng = np.random.default_rng(seed)
    n, d = X.shape
    fold = (rng.permutation(n * d) % FOLDS).reshape(n, d)
    found: list[np.ndarray] = []
    means: list[float] = []
    for k in range(1, max(min(n, d), 2)):
        row = np.zeros(n)
        for j in range(FOLDS):
            there = (fold != j).astype(float)
            Z, B = _fit(X, w, k, there, beta=beta, seed=seed)
            mean = Z @ B
            left = w @ (there * (X - mean) ** 2).sum(1)
            variance = max(float(left / (w @ there.sum(1))), 1e-12)
            row += ((1 - there) * log_density(X, mean, beta, variance)).sum(1)
        found.append(row)
        means.append(float(w @ row))
        if k - 1 - int(np.argmax(means)) >= PATIENCE:
            break
    return summarise(range(1, len(found) + 1), np.array(found), w)


def _fit(
    X: np.ndarray, w: np.ndarray, k: int, there: np.ndarray, *, beta: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Z and B of the entries that are there, by multiplicative updates."""
    columns = (w @ (there * X)) / np.maximum(w @ there, TINY)
    filled = np.where(there > 0, X, columns)
    Z, B = start_factors(filled, w, k, None, seed)
    Z = Z.T.copy()
    power = 0.5 if beta == 0 else 1.0
    for _ in range(STEPS):
        for side in ("rows", "columns"):
            L = np.maximum(Z @ B, TINY)
            above = there * X * L ** (beta - 2)
            below = there * L ** (beta - 1)
            if side == "rows":
                Z *= (above @ B.T / np.maximum(below @ B.T, TINY)) ** power
            else:
                V = (Z * w[:, None]).T
                B = B * (V @ above / np.maximum(V @ below, TINY)) ** power
    return Z, B
