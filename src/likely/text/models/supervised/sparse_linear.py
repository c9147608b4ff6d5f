r"""Linear models of sparse rows with a Gaussian prior, without ever making the rows dense.

$$\min_{B, b} \; \sum_i w_i\, l(y_i, x_i B + b) + \tfrac{α}{2} \lVert B \rVert^2,$$

with l the negative log-likelihood of classes (softmax; logistic for two), or half the squared
error of numbers. A step costs two products with the sparse matrix. Classes are fitted by L-BFGS,
numbers by LSMR; α is chosen by held-out rows, along a path from strong to weak.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, lsmr
from scipy.special import log_expit, log_softmax

from likely.base.held_out import error_variance, fit_parts
from likely.text.vectors.bag_of_words import shape_of

ALPHAS = 10.0 ** np.arange(2.0, -1.75, -0.5)
"""Strengths of the prior that are tried, for rows of length 1."""
PATIENCE = 2
"""How many weaker ones may be worse in turn before the path ends."""
MAX_STEPS = 500
TOLERANCE, TOLERANCE_OF_CHOICE = 1e-6, 1e-4
"""How large the gradient per unit of weight may be at the end of a fit, and of one that is only
compared with others."""
MAX_ROWS_FOR_PARTS = 500
"""Rows up to which each of five parts is held out in turn; of more rows one part is."""


class SparseRows(NamedTuple):
    """Rows, targets (codes of classes, or numbers) and weights, all of them positive."""

    X: csr_array
    y: np.ndarray
    w: np.ndarray
    n_classes: int
    """0 for numbers."""

    def weighted(self, factor: np.ndarray) -> "SparseRows":
        """The rows whose weight times the factor is positive, with these weights."""
        w = self.w * factor
        here = np.flatnonzero(w > 0)
        return SparseRows(self.X[here], self.y[here], w[here], self.n_classes)


class LinearFit(NamedTuple):
    """Coefficients (p, k), intercepts (k,), and how they were found."""

    weight: np.ndarray
    bias: np.ndarray
    alpha: float
    scale: float
    """σ of numbers, by held-out rows; 1 for classes."""

    def eta(self, X: csr_array) -> np.ndarray:
        """(n, k) one number for each class; log-odds for two; the mean of a number."""
        return np.asarray(X @ self.weight) + self.bias


def fit_linear(rows: SparseRows, alpha: Any, parts: list[np.ndarray]) -> LinearFit:
    """The model with this strength of the prior, or with the one that held-out rows choose.

    Args:
        rows: to learn from.
        alpha: a number, or "auto".
        parts: (n,) shares of the rows, each of which is held out in turn.
    """
    alphas = ALPHAS if isinstance(alpha, str) else np.array([float(alpha)])
    best, errors = 0, np.zeros(0)
    if parts and (len(alphas) > 1 or not rows.n_classes):
        best, errors = _chosen(rows, parts, alphas)
    elif len(alphas) > 1:
        best = int(np.argmin(np.abs(np.log(alphas))))  # too few rows: α = 1
    found = _fitted(rows, alphas[best])
    if rows.n_classes:
        return found
    shares = np.concatenate([rows.w * part for part in parts] or [np.zeros(0)])
    variance = error_variance(errors, shares[shares > 0], rows.y, rows.w)
    return found._replace(scale=float(np.sqrt(variance)))


def losses(rows: SparseRows, eta: np.ndarray) -> np.ndarray:
    """(n,) the negative log-likelihood of classes, or half the squared error of numbers."""
    if not rows.n_classes:
        return 0.5 * (rows.y - eta[:, 0]) ** 2
    codes = rows.y.astype(int)
    if rows.n_classes == 2:
        return -log_expit(np.where(codes == 1, eta[:, 0], -eta[:, 0]))
    return -log_softmax(eta, axis=1)[np.arange(len(codes)), codes]


def parts_of(rows: SparseRows, groups: np.ndarray) -> list[np.ndarray]:
    """The shares that are held out in turn; a class always has a row to learn from.

    Args:
        rows: to learn from.
        groups: (n,) rows of equal number are held out together, unless they are many.
    """
    found = fit_parts(groups[:, None].astype(float), rows.y, rows.w, MAX_ROWS_FOR_PARTS)
    if not rows.n_classes:
        return found
    kept = (with_every_class(part, rows.y, rows.n_classes) for part in found)
    return [part for part in kept if part.any()]


def with_every_class(share: np.ndarray, codes: np.ndarray, c: int) -> np.ndarray:
    """The held-out shares, less the first row of each class that would be held out whole.

    Args:
        share: (n,) the share of each row that is held out.
        codes: (n,) classes.
        c: the number of classes.
    """
    left = np.bincount(codes.astype(int), 1 - share, c)
    first = [np.flatnonzero(codes == code)[:1] for code in np.flatnonzero(left <= 1e-9)]
    share = share.copy()
    share[np.concatenate([np.zeros(0, int), *first])] = 0.0
    return share


def _chosen(
    rows: SparseRows, parts: list[np.ndarray], alphas: np.ndarray
) -> tuple[int, np.ndarray]:
    """Which α has the lowest held-out loss, and the held-out errors there."""
    learn = [rows.weighted(1 - part) for part in parts]
    held = [rows.weighted(part) for part in parts]
    starts: list[Any] = [None] * len(parts)
    best, lowest, errors = 0, np.inf, np.zeros(0)
    for i, alpha in enumerate(alphas):
        pairs = zip(learn, starts, strict=True)
        starts = [
            _fitted(each, alpha, start, TOLERANCE_OF_CHOICE) for each, start in pairs
        ]
        etas = [fit.eta(each.X) for fit, each in zip(starts, held, strict=True)]
        found = [losses(*each) for each in zip(held, etas, strict=True)]
        total = sum(
            float(each.w @ loss) for each, loss in zip(held, found, strict=True)
        )
        if total < lowest:
            best, lowest = i, total
            pairs = zip(held, etas, strict=True)
            errors = np.concatenate([each.y - eta[:, 0] for each, eta in pairs])
        elif i - best >= PATIENCE:
            break
    return best, errors


def _fitted(
    rows: SparseRows,
    alpha: float,
    start: LinearFit | None = None,
    tolerance: float = TOLERANCE,
) -> LinearFit:
    """The optimum for one α; classes begin where another fit ended."""
    if rows.n_classes:
        return _softmax(rows, float(alpha), start, tolerance)
    return _least_squares(rows, float(alpha))


def _softmax(
    rows: SparseRows, alpha: float, start: LinearFit | None, tolerance: float
) -> LinearFit:
    X, codes, w = rows.X, rows.y.astype(int), rows.w / rows.w.sum()
    p, k = shape_of(X)[1], 1 if rows.n_classes == 2 else rows.n_classes
    ridge, transposed = alpha / rows.w.sum(), X.T.tocsr()
    happened = (codes[:, None] == (np.arange(k) + (k == 1))).astype(np.float64)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        B, b = flat[: p * k].reshape(p, k), flat[p * k :]
        eta = np.asarray(X @ B) + b
        if k == 1:
            probs, loss = np.exp(log_expit(eta)), losses(rows, eta)
        else:
            logs = log_softmax(eta, axis=1)
            probs, loss = np.exp(logs), -logs[np.arange(len(codes)), codes]
        gap = w[:, None] * (probs - happened)
        slopes = np.asarray(transposed @ gap) + ridge * B
        value = float(w @ loss) + 0.5 * ridge * float(np.vdot(B, B))
        return value, np.concatenate([slopes.ravel(), gap.sum(0)])

    first = np.zeros(p * k + k)
    if start is not None:
        first = np.concatenate([start.weight.ravel(), start.bias])
    else:
        shares = w @ happened
        shares = np.maximum(shares, 1e-9)
        first[p * k :] = np.log(shares / (1 - shares)) if k == 1 else np.log(shares)
    found = minimize(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_STEPS, "gtol": tolerance, "ftol": 1e-12},
    ).x
    return LinearFit(found[: p * k].reshape(p, k), found[p * k :], alpha, 1.0)


def _least_squares(rows: SparseRows, alpha: float) -> LinearFit:
    X, y, w = rows.X, rows.y, rows.w
    root, total = np.sqrt(w), w.sum()
    center, mean = np.asarray(X.T @ w) / total, float(w @ y) / total
    transposed = X.T.tocsr()

    def forward(v: np.ndarray) -> np.ndarray:
        return root * (X @ v - center @ v)

    def backward(u: np.ndarray) -> np.ndarray:
        return transposed @ (root * u) - center * (root @ u)

    if not shape_of(X)[1]:
        return LinearFit(np.zeros((0, 1)), np.array([mean]), alpha, 1.0)
    make: Any = LinearOperator
    operator = make(X.shape, forward, backward, dtype=np.float64)
    b = lsmr(
        operator,
        root * (y - mean),
        damp=np.sqrt(alpha),
        atol=1e-10,
        btol=1e-10,
        maxiter=MAX_STEPS,
    )[0]
    return LinearFit(b[:, None], np.array([mean - center @ b]), alpha, 1.0)
