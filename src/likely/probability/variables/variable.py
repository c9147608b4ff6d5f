r"""What every random variable has: moments, generating functions, arithmetic.

Variables that are different objects are independent; an object is always the same variable,
so `X + X` is `2 * X`, and `X + X.copy()` is the sum of two independent ones.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import comb

from likely.core.checks import InputError
from likely.probability.variables.generating import (
    Generating,
    derivatives,
    evaluate,
    mixed_derivative,
)

MAX_ORDER = 12
"""The largest order of a moment."""


class AbstractVariable(ABC):
    """A random number, or a random vector."""

    __array_ufunc__ = None  # NumPy leaves A @ X to this class

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """The length of a vector, or None for a number."""

    @property
    @abstractmethod
    def mean(self) -> Any:
        """E[X]."""

    @property
    @abstractmethod
    def covariance(self) -> Any:
        """E[(X − m)(X − m)ᵀ], positive semi-definite; for a number, its variance."""

    @abstractmethod
    def expectation(self, g: Callable[[np.ndarray], Any]) -> float:
        """E[g(X)]; g is called with an array of values."""

    @abstractmethod
    def cdf(self, t: Any) -> Any:
        """P(X ≤ t)."""

    @abstractmethod
    def pdf(self, t: Any) -> Any:
        """The density at t: the derivative of the cdf."""

    @abstractmethod
    def quantile(self, q: Any) -> Any:
        """The smallest t with P(X ≤ t) ≥ q."""

    @abstractmethod
    def sample(self, n: int, *, random_state: Any = None) -> np.ndarray:
        """(n,) or (n, d) independent draws."""

    @abstractmethod
    def generating(self) -> Generating:
        """The cumulant generating function log E[exp(tX)], and where it is finite."""

    # moments ---------------------------------------------------------------------------

    @property
    def variance(self) -> Any:
        """Var X = E[(X − EX)²], of each entry of a vector."""
        return self.covariance if self.dimension is None else np.diag(self.covariance)

    @property
    def std(self) -> Any:
        """The standard deviation."""
        return np.sqrt(self.variance)

    @property
    def median(self) -> float:
        """The smallest number with at least half of the probability at or below it."""
        self._check_number("a median")
        return float(self.quantile(0.5))

    @property
    def mean_absolute_deviation(self) -> float:
        """E|X − median|: a spread that single large values hardly change."""
        middle = self.median
        return self.expectation(lambda x: np.abs(x - middle))

    def moment(self, k: int) -> float:
        """E[X^k]."""
        return self.expectation(lambda x: x ** _order(k))

    @abstractmethod
    def central_moment(self, k: int) -> float:
        """E[(X − EX)^k]; for k = 3 it adds up over independent variables, like the variance."""

    def absolute_moment(self, k: int) -> float:
        """E[|X − EX|^k]; for k = 3 it does not add up over independent variables."""
        self._check_number("an absolute moment")
        centre = self.mean
        return self.expectation(lambda x: np.abs(x - centre) ** _order(k))

    # generating functions --------------------------------------------------------------

    def cgf(self, t: Any) -> Any:
        """The cumulant generating function log E[exp(tᵀX)] at t: a number, or (..., d)."""
        K, low, high = self.generating()
        t = np.asarray(t, np.float64)
        d = self.dimension
        if d is not None and t.shape[-1:] != (d,):
            raise InputError(f"t has shape {t.shape}; give (..., {d}) for this vector.")
        rows = t.reshape(-1) if d is None else t.reshape(-1, d)
        inside = (rows > low) & (rows < high) if d is None else np.ones(len(rows), bool)
        safe = np.where(inside, rows, 0.0) if d is None else rows
        found = np.where(inside, evaluate(K, safe), np.inf)
        return found.reshape(t.shape if d is None else t.shape[:-1])

    def mgf(self, t: Any) -> Any:
        """The moment generating function E[exp(tᵀX)]; infinite where it does not exist."""
        return np.exp(self.cgf(t))

    def moments_from_mgf(self, order: int = 4) -> Float[np.ndarray, " order"]:
        """E[X], E[X²], ...: the derivatives of the moment generating function at 0."""
        return self._derivatives(order, logarithm=False)

    def cumulants(self, order: int = 4) -> Float[np.ndarray, " order"]:
        """Derivatives of log M at 0: mean, variance, third central moment, ...; they add up."""
        return self._derivatives(order, logarithm=True)

    def mixed_moment(self, *powers: int) -> float:
        """E[X₁^k₁ ⋯ X_d^k_d], a mixed derivative of the moment generating function at 0."""
        if self.dimension is None or len(powers) != self.dimension:
            raise InputError(
                f"{len(powers)} powers are given; give one for each of the "
                f"{self.dimension or 1} entries, and moments_from_mgf for a number."
            )
        if sum(powers) > MAX_ORDER or min(powers) < 0:
            raise InputError(f"the powers are {powers}; give 0 to {MAX_ORDER} in all.")
        return mixed_derivative(self.generating().K, tuple(map(int, powers)))

    def _derivatives(self, order: int, *, logarithm: bool) -> np.ndarray:
        self._check_number("a list of moments")
        found = self.generating()
        if not found.low < 0 < found.high:
            raise InputError(
                "E[exp(tX)] is infinite on one side of 0, so it has no derivatives there; "
                "use moment and central_moment, which integrate."
            )
        return derivatives(found.K, _order(order), logarithm=logarithm)

    # arithmetic ------------------------------------------------------------------------

    def copy(self) -> "AbstractVariable":
        """An independent variable of the same distribution."""
        return copy.copy(self)

    def affine(self, A: Any, b: Any = 0.0) -> "AbstractVariable":
        """A X + b: a number times a number, or a matrix times a vector."""
        from likely.probability.variables.combination import affine

        return affine(self, A, b)

    def __add__(self, other: Any) -> "AbstractVariable":
        from likely.probability.variables.combination import add

        if isinstance(other, AbstractVariable):
            return add(self, other)
        return self.affine(_one(self.dimension), other)

    def __radd__(self, other: Any) -> "AbstractVariable":
        return self + other

    def __mul__(self, a: Any) -> "AbstractVariable":
        if isinstance(a, AbstractVariable):
            raise InputError(
                "products of random variables have no law here; draw samples."
            )
        a = float(a)
        return self.affine(a * np.asarray(_one(self.dimension)))

    def __rmul__(self, a: Any) -> "AbstractVariable":
        return self * a

    def __neg__(self) -> "AbstractVariable":
        return self * -1.0

    def __sub__(self, other: Any) -> "AbstractVariable":
        return self + (-other)

    def __rsub__(self, other: Any) -> "AbstractVariable":
        return (-self) + other

    def __rmatmul__(self, A: Any) -> "AbstractVariable":
        return self.affine(A)

    def _integrated_central_moment(self, k: int) -> float:
        """E[(X − EX)^k] by way of `expectation`."""
        self._check_number("a central moment")
        centre = self.mean
        return self.expectation(lambda x: (x - centre) ** _order(k))

    def _check_number(self, what: str) -> None:
        if self.dimension is not None:
            raise InputError(f"{what} is one of a number, and this is a vector.")


def central_from_cumulants(cumulants: np.ndarray) -> np.ndarray:
    """The central moments of orders 1, 2, ... from the cumulants of the same orders."""
    central = np.zeros(len(cumulants) + 1)
    central[0] = 1.0
    for k in range(2, len(central)):
        terms = [
            comb(k - 1, j - 1) * cumulants[j - 1] * central[k - j]
            for j in range(2, k + 1)
        ]
        central[k] = sum(terms)
    return central[1:]


def _order(k: int) -> int:
    if not (isinstance(k, int | np.integer) and 1 <= k <= MAX_ORDER):
        raise InputError(
            f"the order is {k}; give a whole number from 1 to {MAX_ORDER}."
        )
    return int(k)


def _one(dimension: int | None) -> Any:
    return 1.0 if dimension is None else np.eye(dimension)
