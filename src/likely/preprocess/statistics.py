r"""The pure core of the numeric transformers: weighted statistics of columns.

All are functions of arrays alone, NumPy's or JAX's, so they also run inside a compiled
program, `vmap`ped over the weights of folds. A missing cell is NaN and does not count in
the statistics of its column. Rows of weight 0 have to be made harmless first: in a
program by `core.fill_absent`, with NumPy by leaving them out.

$$m_j = \frac{\sum_i c_{ij} x_{ij}}{\sum_i c_{ij}}, \qquad
  v_j = \frac{\sum_i c_{ij} (x_{ij} - m_j)^2}{\sum_i c_{ij}}, \qquad
  c_{ij} = w_i\,[x_{ij} \text{ is present}].$$
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


class ColumnMoments(NamedTuple):
    """The total weight, the mean and the standard deviation √v of each column.

    Unlike in `core.moments`, every column has a weight of its own, since cells may be
    missing, and deviations are kept instead of squares, which could overflow.
    """

    total: Row
    mean: Row
    std: Row

    def merge(self, other: "ColumnMoments") -> "ColumnMoments":
        """The moments of both sets of rows together."""
        xp = self.mean.__array_namespace__()
        total = self.total + other.total
        share = other.total / _positive_or_one(total)
        gap = other.mean - self.mean
        largest = xp.maximum(xp.maximum(self.std, other.std), xp.abs(gap))
        unit = _positive_or_one(largest)
        spread = (1 - share) * (self.std / unit) ** 2 + share * (other.std / unit) ** 2
        spread = spread + share * (1 - share) * (gap / unit) ** 2
        return ColumnMoments(total, self.mean + share * gap, unit * xp.sqrt(spread))


def cells(X: Rows, w: Weights) -> tuple[Rows, Rows]:
    """X with 0 for missing cells, and c, the weight of each cell."""
    xp = X.__array_namespace__()
    present = ~xp.isnan(X)
    return xp.where(present, X, 0.0), xp.where(present, w[:, None], 0.0)


def column_moments(X: Rows, w: Weights) -> ColumnMoments:
    """The total weight Σc, the mean m and the standard deviation √v of each column.

    Squares are computed in units of the largest value, so that none overflows. A column
    without weight has mean and deviation 0.
    """
    xp = X.__array_namespace__()
    X, c = cells(X, w)
    total = c.sum(axis=0)
    share = c / _positive_or_one(total)[None]
    unit = _positive_or_one(xp.where(c > 0, xp.abs(X), 0.0).max(axis=0))
    Z = X / unit[None]
    mean = (share * Z).sum(axis=0)
    var = (share * (Z - mean[None]) ** 2).sum(axis=0)
    return ColumnMoments(total, unit * mean, unit * xp.sqrt(var))


def _positive_or_one(values: Row) -> Row:
    """The values, with 1 in place of those that are not positive."""
    return values.__array_namespace__().where(values > 0, values, 1.0)


def quantiles(X: Rows, w: Weights, levels: Float[Any, " q"]) -> Float[Any, "q d"]:
    r"""Weighted quantiles, where w = 2 is exactly "this value twice".

    Let v(t) be the sorted values laid end to end, each as long as its weight, W long
    in all. The quantile at level q is the mean of v over a window of one unit,

    $$Q(q) = \frac{1}{u} \int_h^{h+u} v(t)\,dt, \qquad h = q\,(W - u),$$

    where u is 1, or the largest weight where that is less. With unit weights this is
    the usual interpolated quantile (NumPy's default), with whole weights that of the
    repeated values, and it moves continuously with the weights.

    The quantiles of a column without weight are 0.
    """
    xp = X.__array_namespace__()
    X, c = cells(X, w)
    order = xp.argsort(X, axis=0)
    X = xp.take_along_axis(X, order, axis=0)
    c = xp.take_along_axis(c, order, axis=0)
    upper = xp.cumsum(c, axis=0)
    lower = xp.concatenate([xp.zeros_like(upper[:1]), upper[:-1]])
    unit = _positive_or_one(xp.minimum(c.max(axis=0), 1.0))
    start = levels[:, None] * (upper[-1] - unit)[None]
    start = xp.maximum(start, 0.0)[:, None]  # (q, 1, d)
    end = start + unit[None, None]
    inside = xp.clip(upper[None], start, end) - xp.clip(lower[None], start, end)
    return (inside * X[None]).sum(axis=1) / unit[None]


def extremes(X: Rows, w: Weights) -> tuple[Row, Row]:
    """The smallest and the largest value of each column; 0 and 0 without weight."""
    xp = X.__array_namespace__()
    X, c = cells(X, w)
    smallest = xp.where(c > 0, X, xp.inf).min(axis=0)
    largest = xp.where(c > 0, X, -xp.inf).max(axis=0)
    present = smallest <= largest
    return xp.where(present, smallest, 0.0), xp.where(present, largest, 0.0)


def standard(X: Rows, w: Weights) -> Affine:
    """Scaling to mean 0 and variance 1; columns that do not vary are only centred."""
    moments = column_moments(X, w)
    return Affine(moments.mean, deviation(moments))


def deviation(moments: ColumnMoments) -> Row:
    """The standard deviations √v, with 1 where v is nothing but rounding."""
    xp = moments.std.__array_namespace__()
    rounding = xp.finfo(moments.std.dtype).eps * moments.total * xp.abs(moments.mean)
    return xp.where(moments.std > rounding, moments.std, 1.0)


def robust(X: Rows, w: Weights, levels: Float[Any, " 3"]) -> Affine:
    """Scaling that takes the middle one of three quantiles to 0, the others one apart."""
    low, middle, high = quantiles(X, w, levels)
    return Affine(middle, _large_or_one(high - low))


def minmax(X: Rows, w: Weights, low: float = 0.0, high: float = 1.0) -> Affine:
    """Scaling that takes the smallest value to `low` and the largest to `high`."""
    smallest, largest = extremes(X, w)
    scale = _large_or_one(largest - smallest) / (high - low)
    return Affine(smallest - low * scale, scale)


def _large_or_one(scale: Row) -> Row:
    """The scales, with 1 in place of those that are nothing but rounding."""
    xp = scale.__array_namespace__()
    tiny = 10 * xp.finfo(scale.dtype).eps
    return xp.where(scale > tiny, scale, 1.0)


def fill(X: Rows, values: Row) -> Rows:
    """X with a value of each column in place of missing cells."""
    xp = X.__array_namespace__()
    return xp.where(xp.isnan(X), values[None], X)
