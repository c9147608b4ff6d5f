r"""Rows in two groups: a mixture of two distributions with independent columns, by EM.

Numbers are normal in each group, categories have shares; a missing value says nothing. With
features φ(x) = (x, x², one column for each level, 1 where a value is there), log p of a group is
linear in them, so that a step of EM is two products of matrices.
"""

from typing import NamedTuple

import numpy as np

from likely.preprocess.codec.column_code import ColumnCode

MAX_STEPS = 60
TOLERANCE = 1e-5
"""Nats per unit of weight by which a step has to get better."""
LEAST_VARIANCE = 1e-4


class RowSplit(NamedTuple):
    """Two groups of rows."""

    second: np.ndarray
    """(n,) whether each row belongs to the second group."""
    gain: float
    """The log-likelihood of the mixture above that of one group, in nats."""
    n_numbers: int
    """How many free numbers the mixture has more."""


class _Features(NamedTuple):
    """The features of rows: numbers with their squares, and levels."""

    X: np.ndarray
    there: np.ndarray
    hot: np.ndarray
    levels: list[slice]

    @classmethod
    def of(
        cls, V: np.ndarray, codes: tuple[ColumnCode, ...], w: np.ndarray
    ) -> "_Features":
        numeric = [j for j, code in enumerate(codes) if code.kind != "category"]
        X = V[:, numeric].copy()
        for k, j in enumerate(numeric):  # counts in units in which they are less skewed
            if codes[j].kind == "count":
                X[:, k] = np.sqrt(X[:, k])
        there = ~np.isnan(X)
        X = np.where(there, X, 0.0)
        total = np.maximum(w @ there, 1e-300)
        middle = w @ X / total
        spread = np.sqrt(w @ np.where(there, (X - middle) ** 2, 0.0) / total)
        X = np.where(there, (X - middle) / np.where(spread > 0, spread, 1.0), 0.0)
        parts, slices, at = [], [], 0
        for j, code in enumerate(codes):
            if code.kind == "category":
                parts.append((V[:, j, None] == np.arange(code.n_levels)).astype(float))
                slices.append(slice(at, at + code.n_levels))
                at += code.n_levels
        hot = np.hstack(parts) if parts else np.zeros((len(V), 0))
        return cls(X, there.astype(float), hot, slices)

    def log_joint(self, R: np.ndarray, w: np.ndarray) -> np.ndarray:
        """(n, k) log π + log p of the groups that responsibilities R make."""
        G = R * w[:, None]
        size = G.sum(0)
        found = np.log((size + 1e-12) / size.sum())[None] + np.zeros((len(R), 1))
        if self.X.shape[1]:
            n = G.T @ self.there + 1.0  # one imaginary row of mean 0, variance 1
            mean = G.T @ self.X / n
            square = (G.T @ self.X**2 + 1.0) / n
            variance = np.maximum(square - mean**2, LEAST_VARIANCE)
            found = found - 0.5 * (self.X**2 @ (1 / variance).T)
            found = found + self.X @ (mean / variance).T
            constant = mean**2 / variance + np.log(2 * np.pi * variance)
            found = found - 0.5 * (self.there @ constant.T)
        if self.hot.shape[1]:
            counts = G.T @ self.hot
            logs = np.empty_like(counts)
            for own in self.levels:
                part = counts[:, own] + 1.0 / (own.stop - own.start)
                logs[:, own] = np.log(part / part.sum(1, keepdims=True))
            found = found + self.hot @ logs.T
        return found

    def n_numbers(self) -> int:
        """How many free numbers one group has."""
        levels = sum(own.stop - own.start - 1 for own in self.levels)
        return 2 * self.X.shape[1] + levels


def split_rows(V: np.ndarray, w: np.ndarray, codes: tuple[ColumnCode, ...]) -> RowSplit:
    """The best two groups that EM finds from the halves along the main direction.

    Args:
        V: (n, q) values, NaN where missing.
        w: (n,) weights.
        codes: of the columns.
    """
    features = _Features.of(V, codes, w)
    alone = _log_sum(features.log_joint(np.ones((len(V), 1)), w)) @ w
    best = None
    for start in _starts(features, w):
        R = np.stack([1 - start, start], axis=1)
        now = before = -np.inf
        for _ in range(MAX_STEPS):
            logs = features.log_joint(R, w)
            total = _log_sum(logs)
            now = float(total @ w)
            R = np.exp(logs - total[:, None])
            if now - before < TOLERANCE * w.sum():
                break
            before = now
        if best is None or now > best[0]:
            best = now, R[:, 1] > 0.5
    assert best is not None
    return RowSplit(best[1], best[0] - float(alone), features.n_numbers() + 1)


def _starts(features: _Features, w: np.ndarray) -> list[np.ndarray]:
    """Halves of the rows along the direction of largest variance, and its far end."""
    Z = np.hstack([features.X, features.hot])
    Z = Z - w @ Z / w.sum()
    _, directions = np.linalg.eigh((Z * w[:, None]).T @ Z)
    direction = directions[:, -1]
    direction = direction * np.sign(direction[np.abs(direction).argmax()])
    along = Z @ direction
    order = np.argsort(along, kind="stable")
    share = np.cumsum(w[order]) / w.sum()
    found = []
    for cut in (0.5, 0.85):
        start = np.zeros(len(w))
        start[order] = np.where(share > cut, 0.9, 0.1)
        found.append(start)
    return found


def _log_sum(logs: np.ndarray) -> np.ndarray:
    top = logs.max(1)
    return top + np.log(np.exp(logs - top[:, None]).sum(1))
