r"""Linear models of many columns, or of a sparse matrix as it is, in NumPy.

Everything is products of X with vectors: Newton's method with conjugate gradients
(`newton_cg`) for classes, counts and gamma targets, conjugate gradients alone for the
normal model under a ridge, and LSMR, which gives the solution of least norm, without one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, lsmr
from scipy.special import expit, logsumexp, softmax

from likely.estimators.linear.fitting.host_newton import GAMMA, MAX_LOG, POISSON, Losses
from likely.families import Bernoulli, Categorical, Gamma, NegativeBinomial, Poisson
from likely.models import Linear, Offset
from likely.solvers.second_order.newton_cg import (
    Columns,
    Minimum,
    RowLosses,
    Slopes,
    conjugate_gradients,
    newton_cg,
)
from likely.typing import GRADIENT, STEP_LIMIT, Batch, Solution, Status, Trace

FAMILIES = (Bernoulli, Categorical, Poisson, Gamma, NegativeBinomial)
"""The families whose losses are below."""
MAX_ROUNDS = 100
CG_RESIDUAL = 1e-10
"""Of a linear system, as a part of its right side."""
LSMR_TOLERANCE = 1e-12


class SparseRows(NamedTuple):
    """Present rows of a batch, their shares of the weight, and an offset."""

    X: Any
    y: np.ndarray
    share: Float[np.ndarray, " n"]
    total: float
    offset: Any
    is_pair: bool

    @classmethod
    def of(cls, batch: Batch) -> "SparseRows":
        """The rows of positive weight."""
        pair = isinstance(batch.x, tuple)
        X = batch.x[0] if pair else batch.x
        offset = np.asarray(batch.x[1])[:, None] if pair else 0.0
        here = batch.w > 0
        y, w = np.asarray(batch.y), batch.w
        if not here.all():
            X, y, w = X[np.flatnonzero(here)], y[here], w[here]
            offset = np.asarray(offset)[here] if pair else offset
        total = float(w.sum())
        return cls(X, y, w / total, total, offset, pair)


def is_sparse(x: Any) -> bool:
    """Whether the columns, maybe with offsets, are a sparse matrix."""
    return issparse(x[0] if isinstance(x, tuple) else x)


# Losses -------------------------------------------------------------------------------


class _Lines(NamedTuple):
    """Losses of one entry of η, with a parameter u."""

    losses: Losses
    y: np.ndarray
    share: np.ndarray
    u: float = 0.0

    def value(self, eta: np.ndarray) -> float:
        if not np.abs(eta).max() < MAX_LOG:
            return np.inf
        return float(self.share @ self.losses.value(eta[:, 0], self.u, self.y))

    def slopes(self, eta: np.ndarray) -> Slopes:
        first, second = self.losses.slopes(eta[:, 0], self.u, self.y)
        bend = (self.share * second)[:, None]
        return Slopes((self.share * first)[:, None], lambda V: bend * V, bend)


class _TwoClasses(NamedTuple):
    """−log p of two classes, η the log-odds of the second."""

    y: np.ndarray
    share: np.ndarray

    def value(self, eta: np.ndarray) -> float:
        signed = np.where(self.y == 1, -eta[:, 0], eta[:, 0])
        return float(self.share @ np.logaddexp(0.0, signed))

    def slopes(self, eta: np.ndarray) -> Slopes:
        p = expit(eta[:, 0])
        bend = (self.share * p * (1 - p))[:, None]
        first = (self.share * (p - (self.y == 1)))[:, None]
        return Slopes(first, lambda V: bend * V, bend)


class _SeveralClasses(NamedTuple):
    """−log p of several classes under a softmax."""

    codes: np.ndarray
    share: np.ndarray

    def value(self, eta: np.ndarray) -> float:
        own = np.take_along_axis(eta, self.codes[:, None], 1)[:, 0]
        return float(self.share @ (logsumexp(eta, axis=1) - own))

    def slopes(self, eta: np.ndarray) -> Slopes:
        P, share = softmax(eta, axis=1), self.share[:, None]
        first = share * P
        np.put_along_axis(
            first,
            self.codes[:, None],
            np.take_along_axis(first, self.codes[:, None], 1) - share,
            1,
        )

        def product(V: np.ndarray) -> np.ndarray:
            return share * P * (V - (P * V).sum(1, keepdims=True))

        return Slopes(first, product, share * P * (1 - P))


def _separates(codes: np.ndarray) -> Callable[[np.ndarray], bool]:
    """Whether η gets every row right: a proof that the likelihood has no maximum."""
    rows = np.arange(len(codes))

    def separates(eta: np.ndarray) -> bool:
        if eta.shape[1] == 1:
            return bool((np.where(codes == 1, eta[:, 0], -eta[:, 0]) > 0).all())
        others = eta.copy()
        others[rows, codes] = -np.inf
        return bool((eta[rows, codes] > others.max(1)).all())

    return separates


# Fits ---------------------------------------------------------------------------------


def fit_matrix_free(
    family: Any,
    batch: Batch,
    *,
    alpha: float,
    intercept: bool,
    start: Float[np.ndarray, " k"],
    rules: Any,
    losses: Losses | None = None,
    turn: Callable[[Any, np.ndarray, float], float] | None = None,
) -> tuple[Solution, float, np.ndarray, SparseRows]:
    """The solution, the dispersion u, η and the rows.

    Args:
        family: one of `FAMILIES`.
        batch: rows, their columns maybe sparse.
        alpha: the strength of the penalty, in nats for each unit of weight.
        intercept: whether there is one.
        start: η of the null model.
        rules: the step limit and the tolerance.
        losses: of counts with a dispersion u.
        turn: the next u from the rows, η and u, where it is learned too.
    """
    rows = SparseRows.of(batch)
    columns = Columns.of(rows.X, rows.share, intercept)
    p, k = rows.X.shape[1] + intercept, len(start)
    B, ridge = np.zeros((p, k)), np.full((p, 1), alpha)
    if intercept:
        B[-1], ridge[-1] = start - np.mean(rows.offset), 0.0
    options: dict[str, Any] = {
        "ridge": ridge,
        "offset": rows.offset,
        "tolerance": float(rules.tolerance),
        "max_steps": int(rules.max_steps),
    }
    if isinstance(family, Bernoulli | Categorical) and not alpha:
        options["enough"] = _separates(rows.y.astype(int))
    found = newton_cg(columns, _losses(family, rows, losses, 0.0), B, **options)
    u = 0.0
    for _ in range(MAX_ROUNDS if turn else 0):
        new = turn(rows, found.eta[:, 0], u) if turn else u
        if abs(new - u) <= 1e-10 * (1 + abs(u)):
            break
        u, steps = new, found.steps
        found = newton_cg(columns, _losses(family, rows, losses, u), found.B, **options)
        found = found._replace(steps=max(steps, found.steps))
    model = _line(columns, found.B, isinstance(family, Categorical))
    solution = _solution(Offset(model) if rows.is_pair else model, found, rules)
    return solution, u, found.eta, rows


def _losses(
    family: Any, rows: SparseRows, losses: Losses | None, u: float
) -> RowLosses:
    if isinstance(family, Bernoulli):
        return _TwoClasses(rows.y, rows.share)
    if isinstance(family, Categorical):
        return _SeveralClasses(rows.y.astype(int), rows.share)
    known = losses or (POISSON if isinstance(family, Poisson) else GAMMA)
    return _Lines(known, rows.y.astype(float), rows.share, u)


def _line(columns: Columns, B: np.ndarray, centred: bool) -> Linear:
    """The line of B, about the means of the columns."""
    B = B - B.mean(1, keepdims=True) if centred else B
    if columns.centre is None:
        return Linear(jnp.asarray(B), None)
    W, bias = B[:-1], B[-1] - columns.centre @ B[:-1]
    return Linear(jnp.asarray(W), jnp.asarray(bias))


def _solution(model: Any, found: Minimum, rules: Any) -> Solution:
    nothing = np.full(rules.capacity, np.nan)
    losses = nothing.copy()
    losses[0] = found.loss
    reason = GRADIENT if found.converged else STEP_LIMIT
    status = Status(
        np.asarray(reason), np.asarray(found.steps), np.asarray(found.gradient)
    )
    trace = Trace(losses, nothing, nothing)
    return Solution(model, None, np.asarray(found.loss), trace, status)


def normal_line(batch: Batch, alpha: float, *, intercept: bool) -> tuple[Linear, float]:
    """The line of least squares, and the mean squared residual.

    Args:
        batch: rows, their columns maybe sparse; one output.
        alpha: the strength of a ridge in units of the summed squares; where it is 0 the
            solution is the one of least norm.
        intercept: whether there is one.
    """
    rows = SparseRows.of(batch)
    columns = Columns.of(rows.X, rows.share, intercept)
    mean = float(rows.share @ rows.y) if intercept else 0.0
    z = rows.y - mean
    root = np.sqrt(rows.share)
    slopes = columns._replace(centre=None)
    c = columns.centre
    c = np.zeros(rows.X.shape[1]) if c is None else c

    def forward(b: np.ndarray) -> np.ndarray:
        return root * (slopes.X @ b - c @ b)

    def back(r: np.ndarray) -> np.ndarray:
        r = root * r
        return slopes.transposed @ r - c * r.sum()

    if alpha:
        ridge = alpha / rows.total
        squares = columns.diagonal(rows.share[:, None])[: len(c), 0] + ridge
        b, first = np.zeros(len(c)), 0.0
        for _ in range(2):  # again where rounding has left more than it seemed
            g = ridge * b - back(root * z - forward(b))
            size = float(np.sqrt((g**2 / squares).sum()))
            first = first or size
            if not size > CG_RESIDUAL * first:
                break
            b = b + conjugate_gradients(
                lambda v: back(forward(v)) + ridge * v,
                g,
                squares,
                CG_RESIDUAL * first / size,
            )
    else:
        make: Any = LinearOperator
        A = make(rows.X.shape, matvec=forward, rmatvec=back, dtype=float)
        limit, tol = 10 * max(rows.X.shape), LSMR_TOLERANCE
        b = lsmr(A, root * z, atol=tol, btol=tol, conlim=1e14, maxiter=limit)[0]
    bias = mean - c @ b
    r = rows.y - rows.X @ b - bias
    weight = jnp.asarray(b[:, None])
    model = Linear(weight, jnp.asarray([bias]) if intercept else None)
    return model, float(rows.share @ r**2)
