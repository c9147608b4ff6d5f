r"""The pure core of the numeric transformers: weighted statistics, and their use.

Functions of arrays alone, NumPy's or JAX's: they run on the host as they are, and
inside a compiled program, `vmap`ped over the weights of folds. A missing cell is NaN
and is absent from the statistics of its column; in a program, rows of weight 0 are made
harmless first (`core.fill_absent`), on the host they are left out.

$$m_j = \frac{\sum_i c_{ij} x_{ij}}{\sum_i c_{ij}}, \qquad
  v_j = \frac{\sum_i c_{ij} (x_{ij} - m_j)^2}{\sum_i c_{ij}}, \qquad
  c_{ij} = w_i\,[x_{ij} \text{ is there}].$$
"""

from typing import Any, NamedTuple

from jaxtyping import Float

Rows = Float[Any, "n d"]
Row = Float[Any, " d"]
Weights = Float[Any, " n"]


class Affine(NamedTuple):
    """x ↦ (x − center) / scale, column by column."""

    center: Row
    scale: Row

    def apply(self, X: Rows) -> Rows:
        """(X − center) / scale."""
        return (X - self.center[None]) / self.scale[None]

    def invert(self, X: Rows) -> Rows:
        """X · scale + center."""
        return X * self.scale[None] + self.center[None]


class Moments(NamedTuple):
    """How much weight each column has, its mean, and its standard deviation √v.

    Unlike `core.moments`, every column has a weight of its own: cells may be missing.
    """

    total: Row
    mean: Row
    std: Row

    def merge(self, other: "Moments") -> "Moments":
        """The moments of both sets of rows together."""
        xp = self.mean.__array_namespace__()
        total = self.total + other.total
        share = other.total / _or(total, 1.0)
        gap = other.mean - self.mean
        unit = _or(xp.maximum(xp.maximum(self.std, other.std), xp.abs(gap)), 1.0)
        spread = (1 - share) * (self.std / unit) ** 2 + share * (other.std / unit) ** 2
        spread = spread + share * (1 - share) * (gap / unit) ** 2
        return Moments(total, self.mean + share * gap, unit * xp.sqrt(spread))


def cells(X: Rows, w: Weights) -> tuple[Rows, Rows]:
    """X with 0 for what is missing, and c: the weight of each cell."""
    xp = X.__array_namespace__()
    here = ~xp.isnan(X)
    return xp.where(here, X, 0.0), xp.where(here, w[:, None], 0.0)


def moments(X: Rows, w: Weights) -> Moments:
    """Σc, m and √v, in units of the largest value, so that no square overflows.

    A column without weight has mean and deviation 0.
    """
    xp = X.__array_namespace__()
    X, c = cells(X, w)
    total = c.sum(axis=0)
    share = c / _or(total, 1.0)[None]
    unit = _or(xp.where(c > 0, xp.abs(X), 0.0).max(axis=0), 1.0)
    Z = X / unit[None]
    mean = (share * Z).sum(axis=0)
    var = (share * (Z - mean[None]) ** 2).sum(axis=0)
    return Moments(total, unit * mean, unit * xp.sqrt(var))


def _or(values: Row, other: float) -> Row:
    """The values, or another one where they are not positive."""
    return values.__array_namespace__().where(values > 0, values, other)


def quantiles(X: Rows, w: Weights, levels: Float[Any, " q"]) -> Float[Any, "q d"]:
    r"""Weighted quantiles, with w = 2 exactly "this value twice".

    Let v(t) be the sorted values laid end to end, each as long as its weight, W long
    in all. The quantile at level q is the mean of v over a window of one unit,

    $$Q(q) = \frac{1}{u} \int_h^{h+u} v(t)\,dt, \qquad h = q\,(W - u),$$

    where u is 1, or the largest weight where that is less. With unit weights this is
    the usual interpolated quantile (NumPy's default), with whole weights that of the
    repeated values, and it moves continuously with the weights.

    A column without weight has quantiles 0.
    """
    xp = X.__array_namespace__()
    X, c = cells(X, w)
    order = xp.argsort(X, axis=0)
    X = xp.take_along_axis(X, order, axis=0)
    c = xp.take_along_axis(c, order, axis=0)
    upper = xp.cumsum(c, axis=0)
    lower = xp.concatenate([xp.zeros_like(upper[:1]), upper[:-1]])
    unit = _or(xp.minimum(c.max(axis=0), 1.0), 1.0)
    start = levels[:, None] * (upper[-1] - unit)[None]
    start = xp.maximum(start, 0.0)[:, None]  # (q, 1, d)
    end = start + unit[None, None]
    inside = xp.clip(upper[None], start, end) - xp.clip(lower[None], start, end)
    return (inside * X[None]).sum(axis=1) / unit[None]


def extremes(X: Rows, w: Weights) -> tuple[Row, Row]:
    """The least and the largest value of each column; 0 and 0 without weight."""
    xp = X.__array_namespace__()
    X, c = cells(X, w)
    least = xp.where(c > 0, X, xp.inf).min(axis=0)
    largest = xp.where(c > 0, X, -xp.inf).max(axis=0)
    seen = least <= largest
    return xp.where(seen, least, 0.0), xp.where(seen, largest, 0.0)


def standard(X: Rows, w: Weights) -> Affine:
    """Mean 0 and variance 1; columns that do not vary are only centred."""
    found = moments(X, w)
    return Affine(found.mean, deviation(found))


def deviation(found: Moments) -> Row:
    """√v, or 1 where v is nothing but rounding."""
    xp = found.std.__array_namespace__()
    rounding = xp.finfo(found.std.dtype).eps * found.total * xp.abs(found.mean)
    return xp.where(found.std > rounding, found.std, 1.0)


def robust(X: Rows, w: Weights, levels: Float[Any, " 3"]) -> Affine:
    """The middle one of three quantiles 0, and the others one apart."""
    low, middle, high = quantiles(X, w, levels)
    return Affine(middle, _or_one(high - low))


def minmax(X: Rows, w: Weights, low: float = 0.0, high: float = 1.0) -> Affine:
    """The least value at `low`, the largest at `high`."""
    least, largest = extremes(X, w)
    scale = _or_one(largest - least) / (high - low)
    return Affine(least - low * scale, scale)


def _or_one(scale: Row) -> Row:
    xp = scale.__array_namespace__()
    tiny = 10 * xp.finfo(scale.dtype).eps
    return xp.where(scale > tiny, scale, 1.0)


def fill(X: Rows, values: Row) -> Rows:
    """X with a value for what is missing in each column."""
    xp = X.__array_namespace__()
    return xp.where(xp.isnan(X), values[None], X)
