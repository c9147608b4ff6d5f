"""The made-up tables of the comparisons, the same on both sides."""

from typing import NamedTuple

import numpy as np


class Table(NamedTuple):
    """Rows to fit, and rows to judge by."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray


def _split(X: np.ndarray, y: np.ndarray, n: int) -> Table:
    return Table(X[:n], y[:n], X[n:], y[n:])


def _inputs(n: int, d: int, size: float) -> tuple[np.random.Generator, np.ndarray, int]:
    """A generator, rows of normal inputs, and how many of them are there to fit."""
    rng = np.random.default_rng(0)
    n = max(60, round(size * n))
    return rng, rng.normal(size=(n + max(200, n // 5), d)), n


def numbers(n: int, d: int, size: float) -> Table:
    """A linear function of the columns, with normal noise."""
    rng, X, n = _inputs(n, d, size)
    return _split(X, X @ rng.normal(size=d) + rng.normal(size=len(X)), n)


def classes(n: int, d: int, size: float) -> Table:
    """Two classes whose log odds are linear."""
    rng, X, n = _inputs(n, d, size)
    p = 1 / (1 + np.exp(-X @ rng.normal(size=d) / np.sqrt(d)))
    return _split(X, (rng.random(len(X)) < p).astype(int), n)


def counts(n: int, d: int, size: float) -> Table:
    """Poisson counts whose log mean is linear."""
    rng, X, n = _inputs(n, d, size)
    mean = np.exp(0.5 + X @ rng.normal(size=d) / (2 * np.sqrt(d)))
    return _split(X, rng.poisson(mean).astype(float), n)


def curves(n: int, d: int, size: float) -> Table:
    """A function with bends and an interaction, with normal noise."""
    rng, X, n = _inputs(n, d, size)
    f = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]
    return _split(X, f + rng.normal(size=len(X)), n)


def digits(size: float) -> Table:
    """Scikit-learn's 8 x 8 digits, with standardised columns."""
    from sklearn.datasets import load_digits

    X, y = map(np.asarray, load_digits(return_X_y=True))
    rows = np.random.default_rng(0).permutation(len(y))
    X, y = X[rows], y[rows]
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    n = max(100, round(size * 1437))
    return Table(X[:n], y[:n], X[1437:], y[1437:])
