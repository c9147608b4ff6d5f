r"""Synthetic regression: $y = f(x) + ε$ with f and the noise known.

Each function returns a `Dataset` whose `truth` holds what made the data: numbers, and
functions of X (`mean`, and `std` or `rate`) that can be compared with a fit.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.data.dataset import Dataset, Numbers, column_names, generator


def linear(
    n: int = 200,
    d: int = 3,
    *,
    noise: float = 1.0,
    coefficients: Numbers | None = None,
    intercept: float = 1.0,
    random_state: Any = None,
) -> Dataset:
    r"""A linear function with noise, $y = x·β + b + σε$, x and ε standard normal.

    Args:
        n: rows.
        d: columns, where `coefficients` are not given.
        noise: σ.
        coefficients: β; by default 1, −2, 3, ...
        intercept: b.
        random_state: seed or NumPy generator.

    Examples:
        >>> lk.data.linear(100, 3, random_state=0).X.shape
        (100, 3)
    """
    rng = generator(random_state)
    beta = _alternating(d) if coefficients is None else np.asarray(coefficients, float)

    def mean(X):
        return X @ beta + intercept

    X = rng.normal(size=(n, len(beta)))
    y = mean(X) + noise * rng.normal(size=n)
    truth = {"coefficients": beta, "intercept": intercept, "noise": noise, "mean": mean}
    about = "A linear function with noise"
    return Dataset(X, y, column_names(len(beta)), ("y",), about, truth)


def _alternating(d: int) -> np.ndarray:
    return np.arange(1.0, d + 1) * (-1.0) ** np.arange(d)


def _sine(x: np.ndarray) -> np.ndarray:
    """The sine curve sin 2πx."""
    return np.sin(2 * np.pi * x)


def curve(
    n: int = 100,
    function: Callable[[np.ndarray], np.ndarray] = _sine,
    *,
    noise: float | Callable[[np.ndarray], np.ndarray] = 0.2,
    interval: tuple[float, float] = (0.0, 1.0),
    random_state: Any = None,
) -> Dataset:
    r"""A function with noise, $y = f(x) + σ(x)\,ε$, of one x, uniform on an interval.

    Args:
        n: rows.
        function: f, of an array.
        noise: σ, a number or a function of x.
        interval: where x lies.
        random_state: seed or NumPy generator.

    Examples:
        >>> lk.data.curve(50, random_state=0).X.shape
        (50, 1)
    """
    rng = generator(random_state)

    def mean(X):
        return function(np.asarray(X)[:, 0])

    def std(X):
        x = np.asarray(X)[:, 0]
        return noise(x) if callable(noise) else np.full(len(x), float(noise))

    X = rng.uniform(*interval, size=(n, 1))
    y = mean(X) + std(X) * rng.normal(size=n)
    truth = {"mean": mean, "std": std}
    return Dataset(X, y, ("x",), ("y",), "A curve with noise", truth)


def polynomial(
    n: int = 50,
    coefficients: Numbers = (0.0, 1.0, -2.0, 3.0),
    *,
    noise: float = 0.2,
    interval: tuple[float, float] = (-1.0, 1.0),
    random_state: Any = None,
) -> Dataset:
    r"""A polynomial with noise, $y = \sum_j β_j x^j + σε$, lowest power first.

    Examples:
        >>> lk.data.polynomial(50, random_state=0).X.shape
        (50, 1)
    """
    beta = np.asarray(coefficients, float)
    made = curve(
        n,
        lambda x: np.polynomial.polynomial.polyval(x, beta),
        noise=noise,
        interval=interval,
        random_state=random_state,
    )
    truth = {**made.truth, "coefficients": beta, "noise": noise}
    about = f"A polynomial of degree {len(beta) - 1} with noise"
    return dataclasses.replace(made, description=about, truth=truth)


def heteroscedastic(
    n: int = 200, *, low: float = 0.05, high: float = 0.5, random_state: Any = None
) -> Dataset:
    """A sine curve, sin 2πx, with noise whose standard deviation grows from `low` to `high`.

    Examples:
        >>> lk.data.heteroscedastic(100, random_state=0).X.shape
        (100, 1)
    """
    made = curve(n, noise=lambda x: low + (high - low) * x, random_state=random_state)
    return dataclasses.replace(made, description="A curve whose noise grows")


def counts(
    n: int = 200,
    coefficients: Numbers = (0.8, -0.5),
    *,
    intercept: float = 1.0,
    random_state: Any = None,
) -> Dataset:
    r"""Poisson counts with $\log λ = x·β + b$ and standard normal x.

    Examples:
        >>> bool((lk.data.counts(100, random_state=0).y >= 0).all())
        True
    """
    rng = generator(random_state)
    beta = np.asarray(coefficients, float)

    def rate(X):
        return np.exp(X @ beta + intercept)

    X = rng.normal(size=(n, len(beta)))
    y = rng.poisson(rate(X)).astype(np.float64)
    truth = {"coefficients": beta, "intercept": intercept, "rate": rate, "mean": rate}
    return Dataset(X, y, column_names(len(beta)), ("count",), "Poisson counts", truth)


def correlated(
    n: int = 100,
    d: int = 10,
    *,
    rho: float = 0.9,
    nonzero: int = 3,
    noise: float = 1.0,
    random_state: Any = None,
) -> Dataset:
    r"""A linear function of correlated columns, of which few matter.

    $\operatorname{cov}(x_i, x_j) = ρ^{|i-j|}$; the first `nonzero` coefficients are
    1, −2, 3, ..., the others 0.

    Examples:
        >>> lk.data.correlated(100, 10, random_state=0).X.shape
        (100, 10)
    """
    if not -1 < rho < 1:
        raise InputError(f"rho is {rho}; a correlation lies between -1 and 1.")
    rng = generator(random_state)
    beta = np.where(np.arange(d) < nonzero, _alternating(d), 0.0)
    covariance = rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))

    def mean(X):
        return X @ beta

    X = rng.normal(size=(n, d)) @ np.linalg.cholesky(covariance).T
    y = mean(X) + noise * rng.normal(size=n)
    truth = {"coefficients": beta, "covariance": covariance, "noise": noise}
    about = "A linear function of correlated columns"
    return Dataset(X, y, column_names(d), ("y",), about, {**truth, "mean": mean})
