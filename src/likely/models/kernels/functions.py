r"""Kernels: inner products K(x, z) = ⟨φ(x), φ(z)⟩ of implicit features φ.

| name | K(x, z) | |
|---|---|---|
| linear | $x·z$ | |
| poly | $(γ\,x·z + c_0)^{p}$ | |
| rbf | $e^{-γ\lVert x-z\rVert^2}$ | |
| sigmoid | $\tanh(γ\,x·z + c_0)$ | not positive definite in general |
| precomputed | the matrix itself | |
| a function | f(X, Z) → (n, m) | |

A symmetric function is a kernel if and only if every Gram matrix is positive
semi-definite; `definiteness` checks that. `polynomial_features` and `disc_feature` are
explicit feature maps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError

NAMES = ("linear", "poly", "rbf", "sigmoid", "precomputed")
BLOCK_BYTES = 32_000_000


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters; call it with two sets of rows."""

    name: str | Callable[..., Any]
    gamma: float = 1.0
    coef0: float = 0.0
    degree: float = 3.0

    def __call__(
        self, X: Float[np.ndarray, "n d"], Z: Float[np.ndarray, "m d"]
    ) -> Float[np.ndarray, "n m"]:
        """The kernel matrix K(xᵢ, zⱼ) of all pairs."""
        if callable(self.name):
            return _called(self.name, X, Z)
        if self.name == "precomputed":
            return X
        if self.name == "rbf":
            return _rbf(X, Z, self.gamma)
        return self._of_products(X @ Z.T)

    def diagonal(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The diagonal K(xᵢ, xᵢ)."""
        if callable(self.name) or self.name == "precomputed":
            return np.diagonal(self(X, X)).copy()
        if self.name == "rbf":
            return np.ones(len(X))
        return self._of_products(np.einsum("nd,nd->n", X, X))

    def _of_products(self, K: np.ndarray) -> np.ndarray:
        """The linear, polynomial or sigmoid kernel from the products x·z, in their memory."""
        if self.name == "linear":
            return K
        K *= self.gamma
        K += self.coef0
        return K**self.degree if self.name == "poly" else np.tanh(K, out=K)

    def weigh(
        self,
        X: Float[np.ndarray, "n d"],
        Z: Float[np.ndarray, "s d"],
        B: Float[np.ndarray, "s m"],
    ) -> Float[np.ndarray, "n m"]:
        """The product K(X, Z) B, computed in blocks of rows."""
        size = max(1, BLOCK_BYTES // (8 * max(1, len(Z))))
        parts = [self(X[i : i + size], Z) @ B for i in range(0, len(X), size)]
        return np.concatenate(parts) if parts else np.empty((0, B.shape[1]))


def kernel_of(
    name: str | Callable[..., Any],
    X: Float[np.ndarray, "n d"],
    w: Float[np.ndarray, " n"] | None = None,
    **settings: Any,
) -> Kernel:
    """A kernel with checked settings; gamma "scale" is 1 / (d · variance of X), "auto" 1 / d."""
    if not callable(name) and name not in NAMES:
        raise InputError(
            f"kernel is {name!r}; give one of {list(NAMES)} or a function."
        )
    gamma = settings.get("gamma", "scale")
    coef0, degree = float(settings.get("coef0", 0.0)), settings.get("degree", 3)
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            raise InputError(f'gamma is {gamma!r}; give "scale", "auto" or a number.')
        gamma = 1.0 / X.shape[1] if gamma == "auto" else _scale(X, w)
    if not (np.isfinite(gamma) and gamma > 0):
        raise InputError(f"gamma is {gamma}; give a number above 0.")
    if not degree >= 0:
        raise InputError(f"degree is {degree}; give a number of at least 0.")
    return Kernel(name, float(gamma), coef0, float(degree))


def gram(
    X: Any, Z: Any = None, *, kernel: str | Callable[..., Any] = "rbf", **settings: Any
) -> Float[np.ndarray, "n m"]:
    """The Gram matrix K(xᵢ, zⱼ), of X with itself if Z is not given.

    Args:
        X: (n, d) rows.
        Z: (m, d) rows.
        kernel: a name of the table above, or a function of two sets of rows.
        settings: gamma (a number, "scale" or "auto"), coef0, degree.
    """
    X = np.asarray(X, np.float64)
    found = kernel_of(kernel, X, **settings)
    if Z is not None:
        return found(X, np.asarray(Z, np.float64))
    K = found(X, X)
    return 0.5 * (K + K.T)


@dataclass(frozen=True)
class Definiteness:
    """Whether a Gram matrix can come from a kernel.

    Attributes:
        smallest, largest: eigenvalues.
        vector: v with vᵀKv = smallest, the proof where that is negative.
        semidefinite: smallest ≥ −tolerance · largest.
    """

    smallest: float
    largest: float
    vector: Float[np.ndarray, " n"]
    semidefinite: bool

    def __bool__(self) -> bool:
        return self.semidefinite


def definiteness(K: Any, *, tolerance: float = 1e-10) -> Definiteness:
    """Check whether a symmetric K is positive semi-definite, up to rounding."""
    K = np.asarray(K, np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InputError(f"K has shape {K.shape}; a Gram matrix is square.")
    off = float(np.abs(K - K.T).max())
    if off > 1e-8 * max(float(np.abs(K).max()), 1e-300):
        raise InputError(f"K is not symmetric (by {off:.3g}), so it is no Gram matrix.")
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    low, high = float(values[0]), float(values[-1])
    fine = low >= -tolerance * max(high, -low)
    return Definiteness(low, high, vectors[:, 0], bool(fine))


def polynomial_features(
    X: Any, degree: int = 2, *, gamma: float | int = 1.0, coef0: float | int = 1.0
) -> Float[np.ndarray, "n p"]:
    r"""The features φ with φ(x)·φ(z) = (γ x·z + c₀)ᵖ: scaled monomials up to degree p.

    By the multinomial theorem, with x₀ = √(c₀/γ) added, each monomial of degree p has
    the factor $\sqrt{γ^p\, p! / \prod_k m_k!}$.
    """
    X = np.asarray(X, np.float64)
    if coef0 < 0 or gamma <= 0:
        raise InputError(
            "gamma must be above 0 and coef0 at least 0, or there are no such features."
        )
    wide = np.c_[np.full(len(X), np.sqrt(coef0 / gamma)), X]
    columns = []
    for chosen in combinations_with_replacement(range(wide.shape[1]), degree):
        counts = [chosen.count(k) for k in set(chosen)]
        orders = factorial(degree) / prod(factorial(m) for m in counts)
        columns.append(np.sqrt(gamma**degree * orders) * wide[:, chosen].prod(1))
    return np.stack(columns, axis=1)


def disc_feature(X: Any) -> Float[np.ndarray, "n 1"]:
    """The feature φ(x) = max(0, 1 − ‖x‖²), positive inside the unit disc only."""
    X = np.asarray(X, np.float64)
    return np.maximum(0.0, 1 - (X**2).sum(1))[:, None]


def structural_risk(
    empirical: float | int, n: int, h: float | int, *, eta: float = 0.05
) -> float:
    r"""Vapnik's bound on the risk, true with probability 1 − η.

    $$R \le R_{emp} + \sqrt{\frac{h(\log(2n/h) + 1) - \log(η/4)}{n}}$$

    for a class of VC dimension h. Lines in d dimensions have h = d + 1. Structural risk
    minimisation chooses the class with the smallest bound.
    """
    if not (n > 0 and h > 0 and 0 < eta < 1):
        raise InputError("give n > 0 rows, h > 0 and eta between 0 and 1.")
    capacity = (h * (np.log(2 * n / h) + 1) - np.log(eta / 4)) / n
    return float(empirical + np.sqrt(max(capacity, 0.0)))


def _rbf(X: np.ndarray, Z: np.ndarray, gamma: float) -> np.ndarray:
    """The RBF kernel e^(−γ‖x − z‖²); rows are centred first, to avoid cancellation."""
    centre = Z.mean(0) if len(Z) else 0.0
    X, Z = X - centre, Z - centre
    K = X @ Z.T
    K *= 2.0
    K -= np.einsum("nd,nd->n", X, X)[:, None]
    K -= np.einsum("nd,nd->n", Z, Z)[None]
    np.minimum(K, 0.0, out=K)
    K *= gamma
    return np.exp(K, out=K)


def _scale(X: np.ndarray, w: np.ndarray | None) -> float:
    """scikit-learn's gamma="scale", 1 / (d · variance of all entries), with weights."""
    w = np.ones(len(X)) if w is None else w
    mean = np.average(X.mean(1), weights=w)
    variance = float(np.average(((X - mean) ** 2).mean(1), weights=w))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _called(function: Callable[..., Any], X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """The matrix of a kernel that is a function, with its shape checked."""
    K = np.asarray(function(X, Z), np.float64)
    if K.shape != (len(X), len(Z)):
        raise InputError(
            f"the kernel returned shape {K.shape} for {len(X)} and {len(Z)} rows; "
            f"it has to return ({len(X)}, {len(Z)})."
        )
    return K
