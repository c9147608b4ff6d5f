"""Traces and Frobenius norms, each by the ways that are equal."""

from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError


class Traces(NamedTuple):
    """The result of `traces`: numbers that are equal, and gaps that are zero.

    Attributes:
        diagonal: Σ aᵢᵢ.
        eigenvalues: the sum of the eigenvalues.
        transpose: tr Aᵀ.
        cyclic_gap: tr(AB) − tr(BA).
        linear_gap: tr(2A + 3Aᵀ) − 5 tr A.
    """

    diagonal: float
    eigenvalues: float
    transpose: float
    cyclic_gap: float
    linear_gap: float


class Frobenius(NamedTuple):
    """The result of `frobenius`: three numbers that are equal.

    Attributes:
        entries: √Σ aᵢⱼ².
        trace: √tr(AᵀA).
        singular_values: √Σ σᵢ².
    """

    entries: float
    trace: float
    singular_values: float


def traces(A: Any, B: Any = None) -> Traces:
    """The trace of a square matrix by several ways.

    Args:
        A: (d, d).
        B: another matrix for tr(AB) = tr(BA); Aᵀ where None.
    """
    A = np.asarray(A, np.float64)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise InputError(f"A has shape {A.shape}; only a square matrix has a trace.")
    B = A.T if B is None else np.asarray(B, np.float64)
    if B.shape != A.shape:
        raise InputError(f"B has shape {B.shape} and A {A.shape}; give equal shapes.")
    plain = float(np.trace(A))
    return Traces(
        plain,
        float(np.linalg.eigvals(A).sum().real),
        float(np.trace(A.T)),
        float(np.trace(A @ B) - np.trace(B @ A)),
        float(np.trace(2 * A + 3 * A.T)) - 5 * plain,
    )


def frobenius(A: Any) -> Frobenius:
    """The Frobenius norm of a matrix by three ways; rotations do not change it.

    Args:
        A: (n, d).
    """
    A = np.asarray(A, np.float64)
    if A.ndim != 2:
        raise InputError(f"A has shape {A.shape}; give a matrix.")
    return Frobenius(
        float(np.sqrt((A**2).sum())),
        float(np.sqrt(np.trace(A.T @ A))),
        float(np.sqrt((np.linalg.svd(A, compute_uv=False) ** 2).sum())),
    )
