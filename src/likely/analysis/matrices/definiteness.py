r"""Definiteness of symmetric matrices: by eigenvalues, Cholesky's factor and minors.

$x^\top A x > 0$ for all x ≠ 0 where all eigenvalues, or all *leading* principal minors, are
positive (Sylvester). Semi-definiteness needs *all* principal minors to be at least 0:
diag(0, −1) has leading minors 0 and 0.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.analysis.verdict import NO, YES, Verdict
from likely.core.checks import InputError, check_choice

MAX_SIZE_OF_MINORS = 16
"""A matrix of d rows has 2^d − 1 principal minors."""
KINDS = (
    "positive definite",
    "positive semi-definite",
    "negative definite",
    "negative semi-definite",
    "indefinite",
)
WAYS = ("eigenvalues", "cholesky", "minors")


class Definiteness(NamedTuple):
    """The result of `definiteness`.

    Attributes:
        kind: "positive definite", "positive semi-definite", "negative definite",
            "negative semi-definite" or "indefinite"; zero is positive semi-definite.
        eigenvalues: from the lowest to the highest.
        eigenvectors: one column each.
        reason: the sentence that says why.
    """

    kind: str
    eigenvalues: Float[np.ndarray, " d"]
    eigenvectors: Float[np.ndarray, "d d"]
    reason: str


def definiteness(A: Any) -> Definiteness:
    """The definiteness of a symmetric matrix, from its eigenvalues.

    Eigenvalues below d·eps of the largest are zero: rounding cannot tell their sign.

    Args:
        A: (d, d) symmetric.

    Examples:
        >>> lk.analysis.definiteness(np.array([[2.0, 0.0], [0.0, 1.0]])).kind
        'positive definite'
    """
    A = symmetric(A)
    values, vectors = np.linalg.eigh(A)
    signs = np.where(np.abs(values) <= _rounding(A), 0, np.sign(values))
    names = {(-1,): 2, (-1, 0): 3, (0,): 1, (0, 1): 1, (1,): 0}
    kind = KINDS[names.get(tuple(int(s) for s in np.unique(signs)), 4)]
    reason = f"The eigenvalues go from {values[0]:.4g} to {values[-1]:.4g}."
    return Definiteness(kind, values, vectors, reason)


def positive_definite(
    A: Any, *, semi: bool = False, by: str = "eigenvalues"
) -> Verdict:
    """Whether a symmetric matrix is positive definite, or semi-definite, with a witness.

    Args:
        A: (d, d) symmetric.
        semi: whether xᵀAx = 0 is allowed.
        by: "eigenvalues", "cholesky" (A = LLᵀ; a tiny shift for semi-definite ones), or
            "minors": the leading ones, or all principal minors where `semi`.

    Returns:
        "yes", with the eigenvalues, the factor L or the minors; or "no", with a vector x for
        which xᵀAx is too low.
    """
    check_choice("by", by, WAYS)
    A = symmetric(A)
    holds, reason, proof = {
        "eigenvalues": _by_eigenvalues,
        "cholesky": _by_cholesky,
        "minors": _by_minors,
    }[by](A, semi)
    claim = f"positive {'semi-' if semi else ''}definite"
    if holds:
        return Verdict(claim, YES, reason, proof)
    x = np.linalg.eigh(A)[1][:, 0]
    witness = {**proof, "x": x, "form": float(x @ A @ x)}
    return Verdict(claim, NO, f"{reason} xᵀAx = {witness['form']:.4g} for x.", witness)


def leading_minors(A: Any) -> Float[np.ndarray, " d"]:
    """The determinants of the upper left corners of a matrix, of 1, 2, ... d rows."""
    A = symmetric(A)
    return np.array([_minor(A, range(k + 1)) for k in range(len(A))])


def principal_minors(A: Any) -> dict[tuple[int, ...], float]:
    """The determinants of all parts of a matrix with the same rows and columns.

    Args:
        A: (d, d) symmetric, d at most 16.
    """
    A = symmetric(A)
    if len(A) > MAX_SIZE_OF_MINORS:
        raise InputError(
            f"a matrix of {len(A)} rows has 2^{len(A)} − 1 principal minors; use eigenvalues."
        )
    sizes = range(1, len(A) + 1)
    chosen = [rows for k in sizes for rows in combinations(range(len(A)), k)]
    return {rows: _minor(A, rows) for rows in chosen}


def symmetric(A: Any) -> Float[np.ndarray, "d d"]:
    """A checked symmetric matrix."""
    A = np.atleast_2d(np.asarray(A, np.float64))
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.isfinite(A).all():
        raise InputError(f"A has shape {A.shape}; give a finite square matrix.")
    gap = float(np.abs(A - A.T).max())
    if gap > 1e-10 * float(np.abs(A).max()):
        raise InputError(
            f"A is not symmetric: entries differ by {gap:.3g} from their mirror images. xᵀAx only "
            "depends on (A + Aᵀ)/2; give that."
        )
    return 0.5 * (A + A.T)


def _rounding(A: np.ndarray) -> float:
    return 4 * len(A) * np.finfo(float).eps * float(np.abs(A).max(initial=0.0))


def _minor(A: np.ndarray, rows: Any) -> float:
    return float(np.linalg.det(A[np.ix_(list(rows), list(rows))]))


def _by_eigenvalues(A: np.ndarray, semi: bool) -> tuple[bool, str, dict]:
    values = np.linalg.eigvalsh(A)
    low = float(values[0])
    holds = low >= -_rounding(A) if semi else low > _rounding(A)
    return bool(holds), f"The lowest eigenvalue is {low:.4g}.", {"eigenvalues": values}


def _by_cholesky(A: np.ndarray, semi: bool) -> tuple[bool, str, dict]:
    shift = max(2 * len(A) * _rounding(A), 1e-300) if semi else 0.0
    try:
        L = np.linalg.cholesky(A + shift * np.eye(len(A)))
    except np.linalg.LinAlgError:
        return False, "There is no Cholesky factor.", {}
    if not semi and (np.diagonal(L) ** 2).min() <= _rounding(A):
        return False, "A pivot of the Cholesky factor is zero.", {}
    return True, "A = LLᵀ.", {"L": L}


def _by_minors(A: np.ndarray, semi: bool) -> tuple[bool, str, dict]:
    scale = float(np.abs(A).max(initial=0.0)) or 1.0
    if semi:
        minors = principal_minors(A / scale)
        rows = min(minors, key=minors.__getitem__)
        low, words = minors[rows], f"The lowest principal minor, of rows {rows}, is"
        holds = low >= -64 * len(A) * np.finfo(float).eps
        return (
            bool(holds),
            f"{words} {low * scale ** len(rows):.4g}.",
            {"minors": minors},
        )
    leading = leading_minors(A / scale)
    k = int(np.argmin(leading)) + 1
    low = float(leading[k - 1])
    holds = low > 64 * len(A) * np.finfo(float).eps ** 1.5
    words = f"The leading minor of {k} rows is {low * scale**k:.4g}."
    return bool(holds), words, {"minors": leading}
