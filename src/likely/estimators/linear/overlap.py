r"""A proof that no plane separates the classes, from a fit that is close to its minimum.

Suppose a direction V could be followed for ever: its margins $m_{ic} = a_i(V_{y_i} - V_c)$ are
never below 0. With the gradient g and the information H of the fit,

$$-g·V = \sum_i w_i \sum_c p_{ic} m_{ic}, \qquad
  V^\top H V \le \sum_i w_i \sum_c p_{ic} m_{ic}^2 \le -(g·V) \max_{ic} m_{ic},$$

and since $-g·V \le \sqrt{g^\top H^{-1} g}\,\lVert V\rVert_H$ and no margin is larger than
$L\,\lVert V\rVert_H$, with L the largest length $\sqrt{a^\top H^{-1} a}$ of a row,

$$1 \le L \sqrt{g^\top H^{-1} g}.$$

Where that product is below 1 there is no such V: the likelihood has a maximum, and it is
close by. The information of some rows is never larger than H, so it may take its place; and
$a^\top H^{-1} a \le \lVert a\rVert^2/λ_1$ bounds L. Where these shorter ways prove nothing, all
rows are summed, at the cost of about two steps of Newton's method.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit, softmax

from likely.core.threads import threads_for
from likely.estimators.linear.fitting.host_newton import weighted_gram

MAX_COEFFICIENTS = 2000
"""Coefficients up to which the information is computed and factorised."""
MIN_PIVOT = 1e-5
"""The least pivot of the information, of unit diagonal, that is no rounding."""
MAX_PRODUCT = 0.5
"""The largest product that counts as a proof: 1, less a margin for rounding."""
BLOCK_ROWS = 2048
SAMPLE, SAMPLE_ROWS = 1000, 64
"""Rows that are looked at first, and rows for each coefficient that are summed first."""


def overlap_is_certain(
    X: Float[np.ndarray, "n d"],
    codes: Shaped[np.ndarray, " n"],
    w: Float[np.ndarray, " n"],
    eta: Float[np.ndarray, "n k"],
    *,
    intercept: bool,
) -> bool:
    """Whether the fit proves that no plane separates the classes.

    Args:
        X: the columns of rows that count.
        codes: the class of each row.
        w: weights, all above 0.
        eta: log-odds of two classes, or one column a class, at the fit.
        intercept: whether there is one.
    """
    free = 1 if eta.shape[1] == 1 else eta.shape[1] - 1
    p = X.shape[1] + intercept
    if p * free > MAX_COEFFICIENTS or not np.isfinite(eta).all():
        return False
    some = np.linspace(0, len(X) - 1, min(len(X), SAMPLE)).astype(int)
    first = X[some[0]]
    varies = (X[some] != first).any(0) if intercept else (X[some] != 0).any(0)
    varies[~varies] = (X[:, ~varies] != first[~varies] * intercept).any(0)
    A = X if varies.all() else X[:, varies]
    centre = A[some].mean(0) if intercept else np.zeros(A.shape[1])
    probs = expit(eta) if free == 1 else softmax(eta, axis=1)[:, 1:]
    own = (
        (codes == 1)[:, None] if free == 1 else np.eye(free + 1)[codes.astype(int), 1:]
    )
    R = w[:, None] * (probs - own)
    g = R.T @ A - np.outer(R.sum(0), centre)
    g = (np.column_stack([g, R.sum(0)]) if intercept else g).ravel()
    design = _Design(A, centre, intercept)
    sizes = [SAMPLE_ROWS * p, len(X)] if len(X) > 2 * SAMPLE_ROWS * p else [len(X)]
    with threads_for(p * free):
        return any(_proves(design, w, probs, g, size) for size in sizes)


class _Design(NamedTuple):
    """The columns about a centre, with one of ones."""

    X: np.ndarray
    centre: np.ndarray
    intercept: bool

    def rows(self, which: Any) -> np.ndarray:
        """Some rows of the design."""
        Z = self.X[which] - self.centre
        return np.column_stack([Z, np.ones(len(Z))]) if self.intercept else Z


def _proves(
    design: _Design, w: np.ndarray, probs: np.ndarray, g: np.ndarray, size: int
) -> bool:
    """Whether so many rows prove that no plane separates the classes."""
    n, free = len(w), probs.shape[1]
    some = np.arange(n) if size >= n else np.linspace(0, n - 1, size).astype(int)
    H = _information(design.rows(some), w[some], probs[some])
    unit = np.sqrt(np.diagonal(H))
    if not (np.isfinite(unit).all() and (unit > 0).all()):
        return False
    try:
        L, _ = cho_factor(H / np.outer(unit, unit), lower=True)
    except np.linalg.LinAlgError:
        return False
    if np.diagonal(L).min() < MIN_PIVOT:
        return False
    distance = np.sqrt(max(g / unit @ cho_solve((L, True), g / unit), 0.0))
    inverse = solve_triangular(L, np.eye(len(L)), lower=True) / unit
    bound = _longest_row(design, inverse, free, exact=False)
    if not bound * distance < MAX_PRODUCT:
        bound = _longest_row(design, inverse, free, exact=True)
    return bool(bound * distance < MAX_PRODUCT)


def _information(A: np.ndarray, w: np.ndarray, probs: np.ndarray) -> np.ndarray:
    """H, class after class: blocks AᵀDA with D = w(p_c [c = b] − p_c p_b)."""
    p, k = A.shape[1], probs.shape[1]
    H = np.empty((k, p, k, p))
    for c in range(k):
        H[c, :, c] = weighted_gram(A, w * probs[:, c] * (1 - probs[:, c]))
        for b in range(c):
            block = -weighted_gram(A, w * probs[:, c] * probs[:, b])
            H[c, :, b], H[b, :, c] = block, block
    return H.reshape(k * p, k * p)


def _norm_bound(M: np.ndarray) -> float:
    """A bound on the largest singular value, without a decomposition."""
    size = np.abs(M)
    by_sums = np.sqrt(size.sum(0).max() * size.sum(1).max())
    return float(min(by_sums, np.sqrt((M**2).sum())))


def _longest_row(
    design: _Design, inverse: np.ndarray, free: int, *, exact: bool
) -> float:
    """A bound on √(aᵀH⁻¹a) over rows and pairs of classes, from L⁻¹.

    Args:
        design: the rows.
        inverse: L⁻¹.
        free: classes that have coefficients.
        exact: whether each row is looked at, or the lengths of rows alone.
    """
    n, p, longest = len(design.X), design.X.shape[1] + design.intercept, 0.0
    parts = [inverse[:, c * p : (c + 1) * p] for c in range(free)]
    unit = 1 / np.sqrt(np.max([(part**2).sum(0) for part in parts], axis=0))
    stretch = 0.0
    if not exact:
        stretch = max(_norm_bound(part * unit) for part in parts)
    for start in range(0, n, BLOCK_ROWS):
        A = design.rows(slice(start, start + BLOCK_ROWS))
        if exact:
            squares = max(float(((A @ part.T) ** 2).sum(1).max()) for part in parts)
        else:
            A /= unit
            squares = float(np.einsum("ij,ij->i", A, A).max()) * stretch**2
        longest = max(longest, squares)
    return float(np.sqrt(longest)) * (1 if free == 1 else 2)
