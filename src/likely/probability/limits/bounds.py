r"""Inequalities with both sides computed: Chebyshev, Jensen, and Stirling's formula."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from likely.core.checks import InputError
from likely.core.numerics import STIRLING
from likely.probability.variables.make import random_variable


class Chebyshev(NamedTuple):
    """Both sides of P(|X − μ| ≥ ε) ≤ σ²/ε²."""

    probability: float
    """The left side, from the law itself."""
    bound: float
    """The right side, at most 1."""


class Jensen(NamedTuple):
    """Both sides of f(E X) ≤ E f(X) for convex f; the signs are reversed for concave f."""

    f_of_mean: float
    mean_of_f: float

    @property
    def gap(self) -> float:
        """E f(X) − f(E X): not negative for convex f, not positive for concave f."""
        return self.mean_of_f - self.f_of_mean


class Stirling(NamedTuple):
    """n! and √(2πn) (n/e)^n, as logarithms."""

    log_factorial: Any
    log_approximation: Any
    remainder: Any
    """The difference of the two: between 1/(12n + 1) and 1/(12n)."""

    @property
    def relative_error(self) -> Any:
        """1 − approximation / n!, about 1/(12n)."""
        return -np.expm1(-self.remainder)


def chebyshev(law: Any, eps: float | int, **theta: Any) -> Chebyshev:
    """How probable a deviation of at least eps is, and what Chebyshev's inequality allows.

    Args:
        law: what `random_variable` takes.
        eps: the deviation from the mean, above 0.
        **theta: parameters of a family.

    Examples:
        >>> found = lk.probability.chebyshev(lk.families.Normal(), 2.0, loc=0.0, scale=1.0)
        >>> round(float(found.probability), 3), round(float(found.bound), 3)
        (0.046, 0.25)
    """
    variable = random_variable(law, **theta)
    if not eps > 0:
        raise InputError(f"eps is {eps}; give a number above 0.")
    variance, mean = float(variable.variance), float(variable.mean)
    if not np.isfinite(variance):
        raise InputError("the variance is not finite, so the inequality says nothing.")
    least = eps * (1 - 1e-12)
    if getattr(variable, "discrete", False):
        found = variable.expectation(lambda x: np.abs(x - mean) >= least)
    else:
        ends = variable.cdf(np.array([mean - eps, mean + eps]))
        found = float(ends[0] + 1 - ends[1])
    return Chebyshev(min(found, 1.0), min(1.0, variance / float(eps) ** 2))


def jensen(
    f: Callable[[np.ndarray], Any], law: Any, *, sample_weight: Any = None, **theta: Any
) -> Jensen:
    """f of the mean, the mean of f, and the gap between them.

    Args:
        f: a convex or concave function, called with an array.
        law: what `random_variable` takes: for the finite form, the points.
        sample_weight: the weights λ of the points.
        **theta: parameters of a family.

    Examples:
        >>> found = lk.probability.jensen(np.exp, np.array([0.0, 1.0]))
        >>> bool(found.f_of_mean <= found.mean_of_f)
        True
    """
    variable = random_variable(law, sample_weight=sample_weight, **theta)
    at_mean = float(np.asarray(f(np.asarray([variable.mean])))[0])
    return Jensen(at_mean, variable.expectation(f))


def stirling(n: Any) -> Stirling:
    """log n! and Stirling's approximation, for n ≥ 1.

    Examples:
        >>> found = lk.probability.stirling(10)
        >>> round(float(np.exp(found.log_approximation)), 0)
        3598696.0
    """
    n = np.asarray(n, np.float64)
    if not (n >= 1).all():
        raise InputError(f"n is {n}; give numbers of at least 1.")
    approximation = 0.5 * np.log(2 * np.pi * n) + n * (np.log(n) - 1)
    series = sum(c / n ** (2 * k + 1) for k, c in enumerate(STIRLING))
    exact = gammaln(n + 1)
    return Stirling(
        exact, approximation, np.where(n < 16, exact - approximation, series)
    )
