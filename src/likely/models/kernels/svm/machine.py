r"""Support vector machines: functions f(x) = Σ_s β_s K(x_s, x) + b, several at once.

`Dual` fits them with the solver of `smo`. The hard margin (C = ∞) is solved to the last
digits: by steps down to a small gap, then by the linear equations of the support vectors,
$K_{SS}β_S + b = y_S$, $\sum β = 0$.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from sklearn.exceptions import ConvergenceWarning

from likely.core.checks import InputError
from likely.models.kernels.functions import Kernel
from likely.models.kernels.svm.rows import LINEAR, POLYNOMIAL, PRECOMPUTED, RBF, SIGMOID
from likely.models.kernels.svm.smo import STEP_LIMIT, UNBOUNDED, Problem, Solved, solve

KINDS = {"linear": LINEAR, "poly": POLYNOMIAL, "rbf": RBF, "sigmoid": SIGMOID}
HARD_MARGIN_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Machines:
    """m support vector machines that share their support vectors.

    Attributes:
        kernel: K.
        vectors: (s, d) support vectors; with a precomputed kernel their indices, (s, 1).
        coef: (s, m) coefficients β.
        intercept: (m,) intercepts b.
    """

    kernel: Kernel
    vectors: Float[np.ndarray, "s d"]
    coef: Float[np.ndarray, "s m"]
    intercept: Float[np.ndarray, " m"]

    def __call__(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        """The decision values f of each row."""
        if self.kernel.name == "precomputed":
            return X[:, self.vectors[:, 0].astype(int)] @ self.coef + self.intercept
        if self.kernel.name == "linear":
            return X @ (self.vectors.T @ self.coef) + self.intercept
        return self.kernel.weigh(X, self.vectors, self.coef) + self.intercept


@dataclass(frozen=True)
class Found:
    """One fitted machine, by its training rows.

    Attributes:
        b: (n,) signed dual variables β.
        f: (n,) decision values of the training rows.
        intercept: the intercept b.
        norm: ‖w‖ in the feature space; the margin is 1/‖w‖.
        objective: the dual objective, which is minimised.
        gap: the violation of the optimality conditions.
        steps: the number of steps taken.
    """

    b: Float[np.ndarray, " n"]
    f: Float[np.ndarray, " n"]
    intercept: float
    norm: float
    objective: float
    gap: float
    steps: int


@dataclass(frozen=True)
class Dual:
    """The dual solver with its settings."""

    kernel: Kernel
    tol: float = 1e-3
    cache_size: float = 200.0
    max_iter: int = -1
    shrinking: bool = True

    def classify(
        self,
        X: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        C: Float[np.ndarray, " n"],
    ) -> Found:
        """Fit a classifier: y = ±1, β = yα with 0 ≤ α ≤ C."""
        lo, hi = np.where(y < 0, -C, 0.0), np.where(y > 0, C, 0.0)
        return self._solve(X, y, lo, hi, 0.0)

    def regress(
        self,
        X: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        C: Float[np.ndarray, " n"],
        epsilon: float,
    ) -> Found:
        """Fit a regression: |β| ≤ C, with a tube of half-width ε."""
        return self._solve(X, y, -C, C, epsilon)

    def _solve(self, X, c, lo, hi, eps) -> Found:
        hard = bool(np.isinf(hi - lo).any())
        limit = self.max_iter if self.max_iter > 0 else max(10_000_000, 100 * len(c))
        problem = self._problem(X, c, lo, hi, float(eps))
        solved = solve(
            problem,
            tol=min(self.tol, HARD_MARGIN_TOLERANCE) if hard else self.tol,
            cache_bytes=1e6 * self.cache_size,
            max_steps=limit,
            shrink=self.shrinking and not hard,
        )
        _report(solved, hard)
        if hard and eps == 0.0:
            solved = self._refine(X, problem, solved)
        f = solved.g + c
        square = float(solved.b @ f)
        objective = 0.5 * square - float(c @ solved.b) + eps * np.abs(solved.b).sum()
        return Found(
            solved.b,
            f + solved.intercept,
            solved.intercept,
            float(np.sqrt(max(square, 0.0))),
            float(objective),
            solved.gap,
            solved.steps,
        )

    def _problem(self, X, c, lo, hi, eps: float) -> Problem:
        k, norms = self.kernel, np.zeros(len(c))
        if k.name in KINDS:
            kind, Z, diagonal = KINDS[str(k.name)], X, k.diagonal(X)
        else:
            kind, Z = PRECOMPUTED, k(X, X).T
            diagonal = np.diagonal(Z).copy()
        if k.name == "rbf":
            Z = (X - X.mean(0)) * np.sqrt(2 * k.gamma)
            norms = 0.5 * np.einsum("nd,nd->n", Z, Z)
        numbers = (kind, float(k.gamma), float(k.coef0), float(k.degree))
        XT = np.ascontiguousarray(Z.T)
        return Problem(numbers, XT, norms, diagonal, c, lo, hi, eps)

    def _refine(self, X, p: Problem, s: Solved) -> Solved:
        """β of the support vectors from their equations, where that is feasible."""
        rows = np.flatnonzero(np.abs(s.b) > 1e-8 * np.abs(s.b).max())
        K = p.XT if p.kernel[0] == PRECOMPUTED else self.kernel(X, X[rows]).T
        K = K[rows] if p.kernel[0] == PRECOMPUTED else K
        m = len(rows)
        border = np.zeros((m + 1, m + 1))
        border[:m, :m], border[m, :m], border[:m, m] = K[:, rows], 1.0, 1.0
        answer = np.linalg.lstsq(border, np.r_[p.c[rows], 0.0], rcond=1e-13)[0]
        b, intercept = np.zeros(len(p.c)), float(answer[m])
        b[rows] = answer[:m]
        g = answer[:m] @ K - p.c
        violation = float((1 - p.c * (g + p.c + intercept)).max())
        if (b * p.c).min() < 0 or violation > 1e-6:
            return s
        return Solved(b, g, intercept, max(violation, 0.0), s.steps, s.status)


def _report(solved: Solved, hard: bool) -> None:
    """Raise an error or warn where the solver did not converge."""
    if solved.status == UNBOUNDED:
        raise InputError(
            "C is infinite, but no surface of this kernel separates the classes (their "
            "convex hulls intersect in the feature space), so a hard margin does not "
            "exist; give a finite C, or a richer kernel."
        )
    if solved.status == STEP_LIMIT:
        what = "The data may not be separable. " if hard else ""
        warnings.warn(
            f"stopped at the step limit after {solved.steps} steps; the optimality "
            f"conditions are still violated by {solved.gap:.3g}. {what}Scale the columns, "
            "or raise max_iter.",
            ConvergenceWarning,
            stacklevel=6,
        )


def pack_machines(
    kernel: Kernel,
    X: Float[np.ndarray, "n d"],
    B: Float[np.ndarray, "n m"],
    intercepts: Float[np.ndarray, " m"],
    given: Int[np.ndarray, " n"] | None = None,
) -> tuple[Machines, Int[np.ndarray, " s"]]:
    """The machines of the columns of B, and the indices of their support vectors.

    Args:
        kernel: K.
        X: (n, d) the training rows.
        B: (n, m) signed dual variables of each machine.
        intercepts: (m,) intercepts.
        given: (n,) the indices of the rows among those given to `fit`, where some of
            those had no weight.
    """
    support = np.flatnonzero((B != 0).any(1))
    vectors = X[support]
    if kernel.name == "precomputed":
        indices = support if given is None else given[support]
        vectors = indices[:, None].astype(np.float64)
    return Machines(kernel, vectors, B[support], intercepts), support
