r"""Means, variances and covariances of numbers that arrive one after another.

With $δ = x_n - μ_{n-1}$, a number of weight w is added by

$$W_n = W_{n-1} + w, \qquad μ_n = μ_{n-1} + \tfrac{w}{W_n} δ, \qquad
  S_n = S_{n-1} + w\,(x_n - μ_n)(x_n - μ_{n-1}),$$

which loses no digits where the mean is large beside the spread, unlike $\sum x^2 - nμ^2$. The same
step backwards removes a number, and two streams join by the difference of their means. The mean
is held as a sum of two numbers, so that a million steps do not wear it down.
"""

from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError, check_finite, check_weights


@dataclass(frozen=True)
class Stream:
    """The weight, the mean and the squared deviations of what has arrived so far.

    Nothing changes in place: `push`, `extend`, `remove` and `merge` return a new stream.
    """

    weight: float
    """The total weight W."""
    mean: Any
    """A number, or (d,)."""
    squares: Any
    """Σ w (x − mean)², or the matrix (d, d) of Σ w (x − mean)(x − mean)ᵀ."""
    rest: Any = 0.0
    """What the mean is short of by rounding."""

    @classmethod
    def empty(cls, d: int | None = None) -> "Stream":
        """Nothing yet: of numbers, or of vectors of length d."""
        if d is None:
            return cls(0.0, 0.0, 0.0, 0.0)
        return cls(0.0, np.zeros(d), np.zeros((d, d)), np.zeros(d))

    @classmethod
    def of(cls, X: Any, sample_weight: Any = None) -> "Stream":
        """The stream of all rows of an array (n,) or (n, d), in two passes."""
        X = np.asarray(X, np.float64)
        if X.ndim not in (1, 2):
            raise InputError(f"the rows have shape {X.shape}; give (n,) or (n, d).")
        d = None if X.ndim == 1 else X.shape[1]
        if not len(X):
            return cls.empty(d)
        w = check_weights(sample_weight, len(X))
        check_finite("the rows", X, w)
        X, w = X[w > 0], w[w > 0]
        total = float(w.sum())
        first = w @ X / total
        rest = w @ (X - first) / total
        D = (X - first) - rest
        error = w @ D
        mean, rest = _two_sum(first, rest)
        if d is None:
            squares = float(w @ D**2 - error**2 / total)
            return cls(total, float(mean), squares, float(rest))
        squares = (D * w[:, None]).T @ D - np.outer(error, error) / total
        return cls(total, mean, squares, rest)

    def push(self, x: Any, w: float | int = 1.0) -> "Stream":
        """One more number or vector, of weight w; a weight of 0 changes nothing."""
        w = _weight(w)
        if w == 0:
            return self
        x = self._row(x)
        weight = self.weight + w
        gap = (x - self.mean) - self.rest
        step = gap * (w / weight)
        mean, error = _two_sum(self.mean, step)
        squares = self.squares + w * _product(gap, gap - step)
        return Stream(weight, *_settled(mean, self.rest + error, squares))

    def extend(self, X: Any, sample_weight: Any = None) -> "Stream":
        """All rows of an array."""
        return self.merge(Stream.of(X, sample_weight))

    def remove(self, x: Any, w: float | int = 1.0) -> "Stream":
        """Without a number or vector that was added, of weight w."""
        w = _weight(w)
        if w == 0:
            return self
        x = self._row(x)
        weight = self.weight - w
        if weight < -1e-12 * self.weight:
            raise InputError(
                f"the weight is {w:g} and only {self.weight:g} has arrived; remove what was "
                "added."
            )
        if weight <= 1e-12 * self.weight:
            return Stream.empty(None if np.ndim(self.mean) == 0 else len(self.mean))
        gap = (x - self.mean) - self.rest  # from the mean that includes it
        step = gap * (w / weight)
        mean, error = _two_sum(self.mean, -step)
        squares = self.squares - w * _product(gap, gap + step)
        return Stream(weight, *_settled(mean, self.rest + error, squares))

    def merge(self, other: "Stream") -> "Stream":
        """The stream of both: what one would be if it had seen all rows."""
        if np.shape(self.mean) != np.shape(other.mean):
            raise InputError(
                f"one stream has means of shape {np.shape(self.mean)}, the other "
                f"{np.shape(other.mean)}; merge streams of the same columns."
            )
        if not self.weight or not other.weight:
            return self if self.weight else other
        weight = self.weight + other.weight
        gap = (other.mean - self.mean) + (other.rest - self.rest)
        step = gap * (other.weight / weight)
        mean, error = _two_sum(self.mean, step)
        between = self.weight * _product(gap, step)
        squares = self.squares + other.squares + between
        return Stream(weight, *_settled(mean, self.rest + error, squares))

    def variance(self, ddof: float | int = 0) -> Any:
        """S / (W − ddof), of each entry: 0 for maximum likelihood, 1 for the unbiased one."""
        squares = self.squares if np.ndim(self.mean) == 0 else np.diag(self.squares)
        return squares / self._divisor(ddof)

    def std(self, ddof: float | int = 0) -> Any:
        """The standard deviation."""
        return np.sqrt(self.variance(ddof))

    def covariance(self, ddof: float | int = 0) -> Float[np.ndarray, "d d"]:
        """The covariance matrix."""
        return np.atleast_2d(self.squares) / self._divisor(ddof)

    def _divisor(self, ddof: float | int) -> float:
        if self.weight <= ddof:
            raise InputError(
                f"a weight of {self.weight:g} has arrived, and a variance with ddof={ddof} "
                "needs more."
            )
        return self.weight - ddof

    def _row(self, x: Any) -> Any:
        x = np.asarray(x, np.float64)
        if x.shape != np.shape(self.mean):
            raise InputError(
                f"the row has shape {x.shape} and the stream is of {np.shape(self.mean)}; "
                "begin with Stream.empty(d) for vectors of length d."
            )
        if not np.isfinite(x).all():
            raise InputError(f"the row is {x}; give finite numbers, or weight 0.")
        return float(x) if x.ndim == 0 else x


class Welford(NamedTuple):
    """A stream after each of n numbers, and its sum of squares in two forms."""

    mean: np.ndarray
    """μ_n = μ_(n−1) + (x_n − μ_(n−1))/n."""
    squares: np.ndarray
    """S_n = S_(n−1) + (x_n − μ_n)(x_n − μ_(n−1))."""
    squares_by_steps: np.ndarray
    """S_n = S_(n−1) + n (n − 1) (μ_n − μ_(n−1))²."""
    gap_before: np.ndarray
    """x_n − μ_(n−1) − n (μ_n − μ_(n−1)): zero."""
    gap_after: np.ndarray
    """x_n − μ_n − (n − 1) (μ_n − μ_(n−1)): zero."""

    @property
    def variance(self) -> np.ndarray:
        """S_n / n after each number."""
        return self.squares / np.arange(1, len(self.squares) + 1)


def welford(x: Any) -> Welford:
    """The mean and both forms of the sum of squares after each number.

    Args:
        x: (n,) numbers.

    Examples:
        >>> lk.probability.welford(np.array([1.0, 2.0, 6.0])).mean
        array([1. , 1.5, 3. ])
    """
    x = np.asarray(x, np.float64)
    if x.ndim != 1 or not len(x):
        raise InputError(f"x has shape {x.shape}; give one or more numbers, (n,).")
    check_finite("x", x)
    steps = list(accumulate(x, Stream.push, initial=Stream.empty()))[1:]
    mean = np.array([stream.mean for stream in steps])
    squares = np.array([stream.squares for stream in steps])
    n = np.arange(1, len(x) + 1)
    before = np.append(mean[0], mean[:-1])
    step = mean - before
    by_steps = np.cumsum(n * (n - 1) * step**2)
    gap_before = np.where(n > 1, x - before - n * step, 0.0)
    gap_after = x - mean - (n - 1) * step
    return Welford(mean, squares, by_steps, gap_before, gap_after)


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum, and what rounding took from it."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _settled(mean: Any, rest: Any, squares: Any) -> tuple[Any, Any, Any]:
    """The mean, squares that are not negative, and the rest of the mean."""
    mean, rest = _two_sum(mean, rest)
    if np.ndim(squares) == 0:
        return mean, max(squares, 0.0), rest
    index = np.diag_indices(len(squares))
    squares[index] = np.maximum(squares[index], 0.0)
    return mean, squares, rest


def _product(a: Any, b: Any) -> Any:
    return a * b if np.ndim(a) == 0 else np.outer(a, b)


def _weight(w: Any) -> float:
    if not (np.isfinite(w) and w >= 0):
        raise InputError(f"the weight is {w}; give a finite number of at least 0.")
    return float(w)
