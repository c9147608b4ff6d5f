r"""The lasso and elastic net for a whole path of penalties.

$$\min_{b, b_0} \frac{1}{2\sum w}\sum_i w_i (y_i - x_i^\top b - b_0)^2
  + α\Bigl(ρ\lVert b\rVert_1 + \frac{1-ρ}{2}\lVert b\rVert^2\Bigr)$$

for a decreasing sequence of α, by coordinate descent on the second moments, each
solution the start of the next. The intercept is not penalised. Several weight vectors
(folds) are fitted in parallel threads. This is NumPy and numba code; inside a JAX
program `CoordinateDescent` solves the same problem.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import issparse

from likely.core.checks import InputError, check_finite, check_weights
from likely.core.threads import thread_map
from likely.solvers.least_squares.moments import SecondMoments, second_moments
from likely.solvers.penalised.screening import correlations, enlarged, first_guess
from likely.typing import GAP, STEP_LIMIT, Status


class LassoPath(NamedTuple):
    """The solutions for each α; with several weight vectors, for each of them and α."""

    alphas: Float[np.ndarray, " a"]
    coefs: Float[np.ndarray, "*m a d"]
    intercepts: Float[np.ndarray, "*m a"]
    gaps: Float[np.ndarray, "*m a"]
    """Duality gaps: no coefficients have an objective lower by more than this."""
    n_iter: Int[np.ndarray, "*m a"]
    """Numbers of sweeps."""
    status: Status


def lasso_path(
    X: Any,
    y: Float[np.ndarray, " n"],
    w: Float[np.ndarray, "*m n"] | None = None,
    *,
    alphas: int | Float[np.ndarray, " a"] = 100,
    l1_ratio: float = 1.0,
    fit_intercept: bool = True,
    eps: float = 1e-3,
    tolerance: float = 1e-7,
    max_sweeps: int = 10_000,
) -> LassoPath:
    """The lasso (or elastic net) for each alpha, in double precision.

    Args:
        X: (n, d) inputs, an array or a sparse matrix in rows.
        y: targets.
        w: weights, (n,) or (m, n) for m fits at once; None for ones.
        alphas: penalties; or their number, geometrically from the smallest that makes
            every coefficient zero (for all weight vectors) down to `eps` of it.
        l1_ratio: ρ above, in (0, 1]; 1 is the lasso.
        fit_intercept: whether b₀ is fitted or 0.
        eps: the smallest alpha as a part of the largest.
        tolerance: the largest duality gap, as a part of the objective at b = 0.
        max_sweeps: the limit on the number of sweeps for one alpha.

    Examples:
        >>> table = lk.data.diabetes()
        >>> lk.solvers.lasso_path(table.X, table.y, alphas=5).coefs.shape
        (5, 10)
    """
    X, y, W = _check(X, y, w, l1_ratio)
    with np.errstate(over="ignore", invalid="ignore"):
        C = correlations(X, np.broadcast_to(y, W.shape), W, centre=fit_intercept)
        alphas = _grid(alphas, eps, C, l1_ratio)
        stop = tolerance, int(max_sweeps)
        problem = _Problem(X, y, W, alphas, float(l1_ratio), fit_intercept, stop)
        columns = first_guess(C, len(alphas))
        found = problem.solve(columns)
        while not columns.all():
            more = enlarged(columns, *problem.gradients(found))
            if more.sum() == columns.sum():
                break
            columns, found = more, problem.solve(more)
    if w is None or np.ndim(w) == 1:
        found = [part[0] for part in found]
    coefs, intercepts, gaps, slopes, sweeps = found
    done = sweeps < max_sweeps
    reason = np.where(done, GAP, STEP_LIMIT)
    status = Status(reason, sweeps, np.where(done, gaps, slopes))
    return LassoPath(alphas, coefs, intercepts, gaps, sweeps, status)


class _Problem(NamedTuple):
    X: Any
    y: np.ndarray
    W: np.ndarray
    alphas: np.ndarray
    l1_ratio: float
    centre: bool
    stop: tuple[float, int]
    """Tolerance and limit on the number of sweeps."""

    def solve(self, columns: np.ndarray) -> list[np.ndarray]:
        """With these columns alone: coefficients, intercepts, gaps, subgradients, sweeps.

        One thread for each weight vector: the kernel releases the interpreter lock.
        """
        from likely.solvers.penalised.lasso_kernel import path  # slow to import

        X = self.X if columns.all() else self.X[:, np.flatnonzero(columns)]
        moments = second_moments(X, self.y, self.W, centre=self.centre)
        if not all(np.isfinite(m.G).all() and np.isfinite(m.yy) for m in moments):
            raise InputError(
                "the squares of X or y overflow; scale the columns to moderate size."
            )
        tolerance, max_sweeps = self.stop

        def one(m: SecondMoments) -> list[np.ndarray]:
            gap = tolerance * m.yy / 2
            G, c, alphas = map(np.ascontiguousarray, (m.G, m.c, self.alphas))
            B, *rest = path(G, c, m.yy, alphas, self.l1_ratio, gap, max_sweeps)
            coefs = np.zeros((len(B), len(columns)))
            coefs[:, columns] = B
            return [coefs, m.mean_y - B @ m.mean_x, *rest]

        found = thread_map(one, moments)
        return [np.stack(part) for part in zip(*found, strict=True)]

    def gradients(self, found: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """XᵀWr/Σw of all columns for each weight vector and alpha, and the thresholds."""
        coefs, intercepts = found[0].reshape(-1, self.X.shape[1]), found[1].reshape(-1)
        used = coefs.any(axis=0)
        fitted = np.asarray(self.X[:, np.flatnonzero(used)] @ coefs[:, used].T).T
        R = self.y - fitted - intercepts[:, None]
        W = np.repeat(self.W, len(self.alphas), axis=0)
        t = self.l1_ratio * np.tile(self.alphas, len(self.W))[:, None]
        return correlations(self.X, R, W, centre=self.centre), t


def _check(X, y, w, l1_ratio: float) -> tuple[Any, np.ndarray, np.ndarray]:
    """Arrays without the rows that have weight 0 everywhere; weights as (m, n)."""
    X, y = X if issparse(X) else np.asarray(X), np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise InputError(
            f"X has shape {X.shape} and y {y.shape}; give X as (n, d) and y as (n,)."
        )
    if not 0 < l1_ratio <= 1:
        raise InputError(
            f"l1_ratio is {l1_ratio}; give a number above 0 and up to 1 "
            "(0 would be ridge regression: `likely.solvers.least_squares.ridge`)."
        )
    W = np.ones((1, len(y))) if w is None else np.atleast_2d(w)
    W = np.stack([check_weights(row, len(y)) for row in W])
    present = np.asarray(W.any(axis=0))
    if issparse(X):
        check_finite("X", np.asarray(X.data))
    else:
        check_finite("X", X, present)
    check_finite("y", y, present)
    if not present.all():
        X, y, W = X[present], y[present], W[:, present]
    return X, y, W


def _grid(alphas, eps: float, C: np.ndarray, l1_ratio: float) -> np.ndarray:
    """The penalties in decreasing order."""
    if np.ndim(alphas) == 0:
        largest = np.max(np.abs(C), initial=np.finfo(np.float64).resolution) / l1_ratio
        largest *= 1 + 1e-13  # all coefficients are zero here in spite of rounding
        return np.geomspace(largest, largest * eps, int(alphas))
    alphas = np.sort(np.asarray(alphas, dtype=np.float64))[::-1]
    if not (alphas.size and alphas[-1] > 0 and np.isfinite(alphas[0])):
        raise InputError(
            "alphas must be finite and above 0 (0 would be least squares: "
            "`likely.solvers.LeastSquares`)."
        )
    return alphas
