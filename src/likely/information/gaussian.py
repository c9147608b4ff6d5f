r"""Entropy, divergence and mutual information of Gaussians, from means and covariances."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from likely.core.checks import InputError
from likely.information.probabilities import Axes, axes_of, in_unit

SYMMETRY_TOLERANCE = 1e-8


def gaussian_entropy(covariance: Any, *, unit: str = "nats") -> float:
    r"""The entropy $\tfrac12 \log\det(2πe\,S)$ of N(m, S), whatever the mean.

    Args:
        covariance: (d, d) the covariance S, or a variance where d = 1.
        unit: "nats" or "bits".

    Examples:
        >>> round(float(lk.information.gaussian_entropy(np.eye(2))), 3)
        2.838
    """
    L = _cholesky(covariance, "covariance")
    nats = 0.5 * len(L) * (1 + np.log(2 * np.pi)) + np.log(np.diagonal(L)).sum()
    return in_unit(float(nats), unit)


def gaussian_kl(
    mean: Any,
    covariance: Any,
    other_mean: Any = None,
    other_covariance: Any = None,
    *,
    unit: str = "nats",
) -> float:
    r"""The divergence $KL(N(m_0, S_0), N(m_1, S_1))$.

    $$\tfrac12 \left(\operatorname{tr}(S_1^{-1} S_0) + (m_1 - m_0)^\top S_1^{-1} (m_1 - m_0) - d
      + \log \frac{\det S_1}{\det S_0}\right)$$

    To the standard normal it is $\tfrac12 (\operatorname{tr} S + m^\top m - d - \log\det S)$,
    and for d = 1 it is
    $\log(s_1/s_0) - \tfrac12 + (s_0^2 + (m_1 - m_0)^2) / (2 s_1^2)$.

    Args:
        mean: (d,) the mean m₀, or a number where d = 1.
        covariance: (d, d) the covariance S₀, or a variance where d = 1.
        other_mean: m₁; zero where None.
        other_covariance: S₁; the identity where None.
        unit: "nats" or "bits".

    Examples:
        >>> round(float(lk.information.gaussian_kl(np.ones(2), np.eye(2))), 3)
        1.0
    """
    L0 = _cholesky(covariance, "covariance")
    d = len(L0)
    S1 = np.eye(d) if other_covariance is None else other_covariance
    L1 = _cholesky(S1, "other_covariance")
    m0 = np.atleast_1d(np.asarray(mean, float))
    m1 = (
        np.zeros(d)
        if other_mean is None
        else np.atleast_1d(np.asarray(other_mean, float))
    )
    if not m0.shape == m1.shape == (len(L1),) == (d,):
        raise InputError(
            f"the means have shapes {m0.shape} and {m1.shape}, the covariances {(d, d)} and "
            f"{L1.shape}; give all of one dimension."
        )
    ratio = solve_triangular(L1, L0, lower=True)
    gap = solve_triangular(L1, m1 - m0, lower=True)
    logs = np.log(np.diagonal(ratio)).sum()
    nats = 0.5 * (float((ratio**2).sum()) + float(gap @ gap) - d) - float(logs)
    return in_unit(max(nats, 0.0), unit)


def gaussian_mutual_information(
    covariance: Any, a: Axes = 0, b: Axes = 1, *, given: Axes = (), unit: str = "nats"
) -> float:
    r"""The information of parts of a Gaussian vector about each other.

    $$I(A; B \mid C) = \tfrac12 \log
      \frac{\det S_{AC} \det S_{BC}}{\det S_{ABC} \det S_C}$$

    For two numbers with correlation ρ it is $-\tfrac12 \log(1 - ρ^2)$.

    Args:
        covariance: (d, d) the covariance of all variables.
        a: the number of a variable, or of several.
        b: the other one, or ones.
        given: those that are known.
        unit: "nats" or "bits".

    Examples:
        >>> S = np.array([[1.0, 0.8], [0.8, 1.0]])
        >>> round(float(lk.information.gaussian_mutual_information(S)), 3)
        0.511
    """
    S = np.atleast_2d(np.asarray(covariance, float))
    A, B, C = (axes_of(None, which, len(S)) for which in (a, b, given))
    if {*A} & {*B} or {*C} & {*A, *B}:
        raise InputError("a, b and given share a variable; name each variable once.")
    _cholesky(S, "covariance")

    def half_log_det(*parts: int) -> float:
        L = np.linalg.cholesky(S[np.ix_(parts, parts)])
        return float(np.log(np.diagonal(L)).sum())

    nats = half_log_det(*A, *C) + half_log_det(*B, *C) - half_log_det(*A, *B, *C)
    return in_unit(max(nats - (half_log_det(*C) if C else 0.0), 0.0), unit)


def _cholesky(covariance: Any, name: str) -> np.ndarray:
    """The lower factor of a covariance; a sentence where it is none."""
    S = np.atleast_2d(np.asarray(covariance, float))
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.isfinite(S).all():
        raise InputError(f"{name} has shape {S.shape}; give a finite square matrix.")
    if np.abs(S - S.T).max() > SYMMETRY_TOLERANCE * np.abs(S).max():
        raise InputError(f"{name} is not symmetric; average it with its transpose.")
    try:
        return np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        lowest = np.linalg.eigvalsh(S)[0]
        raise InputError(
            f"{name} is not positive definite: its lowest eigenvalue is {lowest:.3g}. "
            "Drop variables that are combinations of others, or add a small ridge."
        ) from None
