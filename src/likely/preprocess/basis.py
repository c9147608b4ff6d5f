r"""Basis functions: new columns with which a linear model is non-linear in x.

$η = \sum_k w_k φ_k(x)$ is linear in w whatever the functions φ are. Each basis is a
transformer for scikit-learn's pipelines, and can be given to a linear model as `basis=`.
Knots and ranges are computed from the rows that have weight.
"""

from abc import abstractmethod
from itertools import combinations, combinations_with_replacement
from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError, check_finite
from likely.preprocess.statistics import extremes, quantiles
from likely.preprocess.transformer import AbstractTransformer
from likely.preprocess.validation import new_rows, training_rows


class AbstractBasis(AbstractTransformer):
    """A basis: write `_learn`, `_columns` and `_names_out`, get the transformer."""

    @abstractmethod
    def _learn(self, X: np.ndarray, w: np.ndarray) -> None:
        """Choose terms, knots and periods from the rows and their weights."""

    @abstractmethod
    def _columns(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """The values of the basis functions."""

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, w = training_rows(self, X, sample_weight)
        check_finite("X", X, w, names=getattr(self, "feature_names_in_", None))
        self._learn(X, w)

    def _transform(self, X: Any) -> np.ndarray:
        X = new_rows(self, X)
        check_finite("X", X, names=getattr(self, "feature_names_in_", None))
        return self._columns(X)


class PolynomialBasis(AbstractBasis):
    """Powers and products of columns up to a degree, without the constant.

    Args:
        degree: the highest total degree.
        interactions: whether columns are multiplied with each other.

    Examples:
        >>> lk.preprocess.PolynomialBasis(2).fit_transform(np.array([[2.0, 3.0]]))
        array([[2., 3., 4., 6., 9.]])
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, degree: int = 2, *, interactions: bool = True):
        self.degree, self.interactions = degree, interactions

    def _learn(self, X: np.ndarray, w: np.ndarray) -> None:
        if not self.degree >= 1:
            raise InputError(f"degree is {self.degree}; give a whole number above 0.")
        columns = range(X.shape[1])
        self.powers_ = [
            list(term)
            for size in range(1, int(self.degree) + 1)
            for term in combinations_with_replacement(columns, size)
            if self.interactions or len(set(term)) == 1
        ]

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return np.stack([X[:, term].prod(1) for term in self.powers_], axis=1)

    def _names_out(self, names: list[str]) -> list[str]:
        return [_product_name([names[j] for j in term]) for term in self.powers_]


class Interactions(AbstractBasis):
    """The columns, and the products of pairs of them.

    With one coefficient for each column, its effect does not depend on the others; a
    product lets the effect of one column depend on another.

    Args:
        pairs: which pairs to multiply, by number; all by default.

    Examples:
        >>> lk.preprocess.Interactions().fit_transform(np.array([[2.0, 3.0]]))
        array([[2., 3., 6.]])
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, pairs: Any = None):
        self.pairs = pairs

    def _learn(self, X: np.ndarray, w: np.ndarray) -> None:
        d = X.shape[1]
        pairs = combinations(range(d), 2) if self.pairs is None else self.pairs
        self.pairs_ = [[int(i), int(j)] for i, j in pairs]
        for pair in self.pairs_:
            if not all(0 <= j < d for j in pair):
                raise InputError(f"pairs has {tuple(pair)}, but X has {d} columns.")

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([X, *[X[:, i] * X[:, j] for i, j in self.pairs_]])

    def _names_out(self, names: list[str]) -> list[str]:
        return names + [f"{names[i]}·{names[j]}" for i, j in self.pairs_]


class FourierBasis(AbstractBasis):
    r"""Sines and cosines of each column: $\sin 2πkx/T, \cos 2πkx/T$ for k = 1 ... order.

    Args:
        order: the highest frequency.
        period: T; by default the range of each column over the rows that have weight.

    Examples:
        >>> basis = lk.preprocess.FourierBasis(1, period=4.0)
        >>> basis.fit_transform(np.array([[0.0], [1.0]])).round(2)
        array([[0., 1.],
               [1., 0.]])
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, order: int = 3, *, period: float | None = None):
        self.order, self.period = order, period

    def _learn(self, X: np.ndarray, w: np.ndarray) -> None:
        if not self.order >= 1:
            raise InputError(f"order is {self.order}; give a whole number above 0.")
        if self.period is not None and not self.period > 0:
            raise InputError(f"period is {self.period}; give a number above 0.")
        low, high = extremes(X, w)
        span = np.where(high > low, high - low, 1.0)
        d = X.shape[1]
        self.period_ = span if self.period is None else np.full(d, float(self.period))

    def _columns(self, X: np.ndarray) -> np.ndarray:
        k = np.arange(1, int(self.order) + 1)
        angle = 2 * np.pi * (X / self.period_)[:, :, None] * k
        waves = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
        return waves.reshape(len(X), -1)

    def _names_out(self, names: list[str]) -> list[str]:
        orders = range(1, int(self.order) + 1)
        return [f"{f}{k}({n})" for n in names for k in orders for f in ("sin", "cos")]


class NaturalSpline(AbstractBasis):
    r"""Natural cubic splines: smooth, cubic between knots, linear beyond the outer knots.

    With knots $ξ_1 < ... < ξ_K$ the columns are x and, for k = 1 ... K−2,

    $$d_k(x) - d_{K-1}(x), \qquad
      d_k(x) = \frac{(x-ξ_k)_+^3 - (x-ξ_K)_+^3}{ξ_K - ξ_k},$$

    in units of the range of the column. Knots lie at quantiles of the rows that have
    weight; a column with few different values has fewer knots.

    Args:
        n_knots: K, the number of knots for each column.

    Examples:
        >>> lk.preprocess.NaturalSpline(4).fit_transform(np.arange(10.0)[:, None]).shape
        (10, 3)
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, n_knots: int = 5):
        self.n_knots = n_knots

    def _learn(self, X: np.ndarray, w: np.ndarray) -> None:
        if not self.n_knots >= 3:
            raise InputError(f"n_knots is {self.n_knots}; give at least 3.")
        levels = np.linspace(0, 1, int(self.n_knots))
        self.knots_ = [knots_at(x, w, levels) for x in X.T]

    def _columns(self, X: np.ndarray) -> np.ndarray:
        parts = [natural_spline(X[:, j], k) for j, k in enumerate(self.knots_)]
        return np.concatenate(parts, axis=1)

    def _names_out(self, names: list[str]) -> list[str]:
        return [
            name if k == 0 else f"spline{k}({name})"
            for name, knots in zip(names, self.knots_, strict=True)
            for k in range(max(len(knots) - 1, 1))
        ]


def knots_at(
    x: Float[np.ndarray, " n"], w: Float[np.ndarray, " n"], levels: np.ndarray
) -> Float[np.ndarray, " K"]:
    """The different quantiles, at these levels, of the values that have weight."""
    values, index = np.unique(x[w > 0], return_inverse=True)
    weights = np.bincount(index, w[w > 0])
    knots = np.unique(quantiles(values[:, None], weights, levels)[:, 0])
    distinct = np.diff(knots) > 1e-9 * (knots[-1] - knots[0])
    return knots[np.r_[True, distinct]]


def natural_spline(
    x: Float[np.ndarray, " n"], knots: Float[np.ndarray, " K"]
) -> Float[np.ndarray, "n k"]:
    """x and K − 2 non-linear columns, in units of the range of the knots."""
    if len(knots) < 3:
        return x[:, None]
    unit = knots[-1] - knots[0]
    t, scaled = (x - knots[0]) / unit, (knots - knots[0]) / unit
    cubes = np.maximum(t[:, None] - scaled, 0.0) ** 3
    d = (cubes[:, :-1] - cubes[:, -1:]) / (scaled[-1] - scaled[:-1])
    return np.column_stack([x, d[:, :-1] - d[:, -1:]])


def _product_name(factors: list[str]) -> str:
    """The name of a product of columns, such as x^2 or x·y."""
    powers = []
    for name in dict.fromkeys(factors):
        power = factors.count(name)
        powers.append(name if power == 1 else f"{name}^{power}")
    return "·".join(powers)
