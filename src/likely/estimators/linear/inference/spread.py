r"""What the rows of a fit leave open about the parameters of a linear model.

With Z the columns less their means, D the information of each row about its η (in units of
the dispersion) and P the penalty, the slopes have the covariance $(Z^\top D Z + P)^{-1}$ times the
dispersion: of maximum likelihood without a penalty, of the posterior with one. A new row has

$$v(x) = \frac{1}{\sum D} + z^\top (Z^\top D Z + P)^{-1} z, \qquad
  \mathrm{df} = \sum w - \operatorname{tr} H, \qquad H = A\,(A^\top D A + P)^{-1} A^\top D.$$

Along directions in which the rows do not vary, and which no penalty holds, v is infinite.

The residuals of a fit are too small by what the coefficients took from them, so the
dispersion for predictions is that of the fit times a power of Σw/df. For squared loss, where
$s^2 = \mathrm{RSS}/\mathrm{df}$, the variance $s^2(1 + v)$ is on average that of generalised
cross-validation. For Huber's and the absolute loss the powers are those of the limit of many
rows and columns (El Karoui and others, 2013), in which the error of η is normal with about
the variance that least squares would have, and a little more where p is close to n: all
within a few per cent up to p = 0.7 n.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse

from likely.core.linalg import weighted_gram
from likely.estimators.linear.inference.effective import (
    active_columns,
    effective_slopes,
    is_large,
)
from likely.families import (
    AbstractFamily,
    AsymmetricLaplace,
    Gamma,
    Huber,
    Laplace,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Tweedie,
)
from likely.solvers.least_squares.moments import second_moments

POWERS = {Normal: 1 / 2, Huber: 0.57, Laplace: 0.7, AsymmetricLaplace: 0.7}
"""s for predictions is s of the fit times this power of Σw/df."""
EXTRA_VARIANCE = 0.6
"""The variance of η beyond that of least squares, in units of (p/n)²."""
NEWTON_STEPS = 20
MIN_DF = 1e-6
"""Degrees of freedom below which the scale is unknown."""
MIN_ROW = 1e-6
"""The part of a row, of its length, that counts as lying outside of all directions."""
SAFE_EIGENVALUE = 1e-7
"""The least eigenvalue of a Gram matrix that does not ask for a decomposition of rows."""
MAX_DECOMPOSED = 50_000_000
"""The most numbers in rows that are decomposed."""
BLOCK_NUMBERS = 4_000_000
"""Numbers of a sparse matrix, with its zeros, that are looked at together."""
MAX_STORED = 2_000_000
"""The most numbers that are kept to give each row a variance of its own."""


def namespace(a: Any) -> Any:
    """NumPy for its arrays and sparse matrices, JAX's for those inside of programs."""
    return np if isinstance(a, np.ndarray) or issparse(a) else jnp


class Spread(eqx.Module):
    """The uncertainty of a fit, as far as predictions need it.

    Args:
        centre: (d,) where intercept and slopes are uncorrelated.
        scale: (d,) the unit of each column.
        directions: (d, r) orthonormal, of the columns in their units.
        variances: (r,) of the slope along each of them.
        rest: the variance along all other directions, infinite without a penalty.
        floor: the variance at the centre.
        df: the residual degrees of freedom; 0 where nothing is left.
        shared: the logarithm of the dispersion for predictions.
        error: its standard error; of 1/r for a negative binomial.
    """

    centre: Any
    scale: Any
    directions: Any
    variances: Any
    rest: Any
    floor: Any
    df: Any
    shared: Any
    error: Any

    def leverage(self, X: Any) -> Float[Any, " n"]:
        """The variance v(x) of η of each row, in units of the dispersion."""
        xp = namespace(X)
        if not self.directions.shape[1]:
            return xp.zeros(X.shape[0], X.dtype) + self.floor
        if issparse(X):
            size = max(1, BLOCK_NUMBERS // X.shape[1])
            parts = [X[i : i + size].toarray() for i in range(0, X.shape[0], size)]
            return np.concatenate([self.leverage(part) for part in parts])
        Z = (X - self.centre[None]) / self.scale[None]
        q = (Z @ self.directions) ** 2
        length = xp.sum(Z**2, axis=1)
        outside = length - xp.sum(q, axis=1)
        is_outside = outside > MIN_ROW**2 * length
        beyond = xp.where(is_outside, outside, 1.0) * self.rest
        return self.floor + q @ self.variances + xp.where(is_outside, beyond, 0.0)


def spread(  # noqa: PLR0917
    family: AbstractFamily,
    X: Any,
    y: Float[Any, "n ..."],
    w: Float[Any, " n"],
    eta: Float[Any, "n k"],
    penalty: Any,
    active: Any = None,
    *,
    intercept: bool,
    known: tuple[Any, Any] | None = None,
    again: bool = False,
) -> list[Spread]:
    """The uncertainty of each output, from rows of positive weight (in programs: of all).

    Args:
        family: p(y | η).
        X: the columns.
        y: targets.
        w: weights.
        eta: at the estimate.
        penalty: P, a number.
        active: (d, m) coefficients that are not 0, where the fit selects columns.
        intercept: whether there is one.
        known: ZᵀWZ/Σw and the means, if they are at hand.
        again: whether η has the dispersion for predictions already.
    """
    xp = namespace(X)
    penalty = float(penalty) if xp is np else penalty
    outputs = family.n_outputs if family.multivariate else 1
    total, D = xp.sum(w), w * row_information(family, eta)
    G, centre, where, share = None, np.zeros(X.shape[1]), None, None
    large = xp is np and is_large(X)
    if not large and xp is np and active is None and X.shape[1] > len(X):
        centre = _centre(X, D, intercept)  # the rows themselves are decomposed
    elif not large:
        G, centre = _moments(X, D, intercept, known)
    if large and active is None:
        slopes = effective_slopes(X, D, penalty, intercept=intercept)
        edf = [np.asarray(intercept + slopes)] * outputs
    elif large and active is not None:
        edf = [_selected_rows(X, D, column, penalty, intercept) for column in active.T]
    elif active is None:
        where = _directions(X, centre, D, G, penalty)
        values = where.values + penalty
        share = xp.where(values > 0, 1 / xp.where(values > 0, values, 1.0), 0.0)
        edf = [intercept + where.values @ share] * outputs
    else:
        edf = [intercept + _selected(G, column, penalty) for column in active.T]
    found = []
    for j in range(outputs):
        df = total - edf[j]
        df = xp.where(df > MIN_DF, df, 0.0)
        shared, error = _dispersion(family, y, w, eta, df, j)
        if where is not None and share is not None and where.V.size <= MAX_STORED:
            k = 1.0
            if isinstance(family, Huber | Laplace | AsymmetricLaplace):
                k = 1 + EXTRA_VARIANCE * (edf[j] / total) ** 2
            floor = k / xp.sum(D) if intercept else xp.asarray(0.0)
            own = (where.scale, where.V, k * share, k * where.rest, floor)
        else:  # every row has the mean
            nothing = xp.zeros((X.shape[1], 0))
            mean = edf[j] / xp.where(df > 0, df, 1.0)
            own = (xp.ones(X.shape[1]), nothing, nothing[0], xp.asarray(0.0), mean)
        found.append(Spread(centre, *own, df, shared, error))
    if isinstance(family, NegativeBinomial) and not again:  # the rows say less then
        u = xp.zeros_like(eta[:, 0]) + found[0].shared
        eta = xp.stack([eta[:, 0], u], 1)
        return spread(
            family, X, y, w, eta, penalty, active, intercept=intercept, again=True
        )
    return jax.tree.map(np.asarray, found) if xp is np else found


def row_information(family: AbstractFamily, eta: Float[Any, "n k"]) -> Any:
    """The Fisher information of each row about η, in units of 1/dispersion."""
    xp = namespace(eta)
    if isinstance(family, Poisson):
        return xp.exp(eta[:, 0])
    if isinstance(family, NegativeBinomial):
        return 1 / (xp.exp(-eta[:, 0]) + xp.exp(-eta[:, 1]))
    if isinstance(family, Tweedie):
        return xp.exp((2 - family.power) * eta[:, 0])
    return xp.ones_like(eta[:, 0])


def _centre(X, D, intercept: bool) -> Any:
    """The means, or zero without an intercept."""
    xp = namespace(X)
    return D @ X / D.sum() if intercept else xp.zeros(X.shape[1], X.dtype)


def _moments(X, D, intercept: bool, known) -> tuple[Any, Any]:
    """ZᵀDZ and the means."""
    if known is not None:
        return known[0] * D.sum(), known[1]
    if namespace(X) is np:
        (m,) = second_moments(X, np.zeros(len(X)), D[None], centre=intercept)
        return m.G * D.sum(), m.mean_x
    centre = _centre(X, D, intercept)
    return weighted_gram(X - centre[None], D), centre


class _Directions(NamedTuple):
    """Orthonormal directions of the columns, and what is known along them."""

    V: Any
    values: Any
    """Sums of squares along each."""
    scale: Any
    """The units of the columns: their lengths, where there is no penalty."""
    rest: Any
    """The variance along all other directions."""


def _directions(X, centre, D, G, penalty) -> _Directions:
    """The directions in which the rows vary by more than rounding.

    In programs those that are left out are zero. Outside of them, where the Gram matrix
    is close to singular or there are fewer rows than columns, the rows themselves are
    decomposed, which keeps all digits.
    """
    xp = namespace(X)
    n, d = X.shape
    free = penalty == 0
    squares = D @ (X - centre[None]) ** 2 if G is None else xp.diagonal(G)
    scale = xp.sqrt(squares)
    scale = xp.where(free & (scale > 0), scale, 1.0)
    rest = xp.where(free, xp.inf, 1 / xp.where(free, 1.0, penalty))
    eps, wide = np.finfo(np.float64).eps, G is None
    least = 10 * d * eps
    values, V = xp.zeros(1), xp.zeros((d, 1))
    if not wide:
        values, V = xp.linalg.eigh(G / (scale[:, None] * scale[None]))
    careful = xp is np and free and X.size <= MAX_DECOMPOSED
    if wide or (careful and values[0] < SAFE_EIGENVALUE):
        rows = np.sqrt(D)[:, None] * ((X - centre) / scale)
        rows = np.linalg.qr(rows, mode="r") if n > d else rows
        _, s, Vt = np.linalg.svd(rows, full_matrices=False)
        values, V, least = s**2, Vt.T, (max(n, d) * eps) ** 2
    kept = values > least * xp.max(values, initial=0.0)
    if xp is np:
        return _Directions(V[:, kept], values[kept], scale, rest)
    V, values = xp.where(kept[None], V, 0.0), xp.where(kept, values, 0.0)
    return _Directions(V, values, scale, rest)


def _selected(G, active, penalty) -> Any:
    """tr H of the active columns: their number, less what a ridge part takes away."""
    xp = namespace(G)
    both = active[:, None] & active[None]
    eye = xp.eye(len(G), dtype=G.dtype)
    size = xp.sqrt(xp.where(active, xp.diagonal(G) + penalty, 1.0))
    unit = xp.where(both, G / (size[:, None] * size[None]), 0.0)
    shrunk = xp.where(active, penalty / size**2, 1.0 + 0 * penalty)
    inverse = xp.linalg.inv(unit + xp.diag(shrunk) + 1e-12 * eye)
    held = xp.sum(xp.where(active, xp.diagonal(inverse) * shrunk, 0.0))
    return xp.sum(active) - held


def _selected_rows(X, D, active, penalty, intercept: bool) -> Any:
    """tr H of the active columns, of many that are not."""
    part = active_columns(X, active)
    if part.shape[1] > len(part):
        return np.asarray(float(len(part)))
    G = _moments(part, D, intercept, None)[0]
    return intercept + _selected(G, np.ones(part.shape[1], bool), penalty)


def _extra_variance(y, mean, w, df) -> Any:
    """a with Σ w (y − μ)²/(μ + aμ²) = df, by Newton's method; 0 where there is none."""
    xp = namespace(mean)
    a = xp.zeros_like(df)
    for _ in range(NEWTON_STEPS):  # from the left: the sum is convex and falls
        ratio = 1 / (mean * (1 + a * mean))
        over = w @ ((y - mean) ** 2 * ratio) - df
        slope = w @ ((y - mean) ** 2 * (mean * ratio) ** 2)
        step = xp.maximum(over, 0.0) / xp.maximum(slope, 1e-300)
        a = a + step
        if xp is np and not step > 1e-15 * a:
            break
    return xp.where(df > 0, a, 0.0)


def _dispersion(family, y, w, eta, df, j: int) -> tuple[Any, Any]:  # noqa: PLR0917
    """The logarithm of the dispersion for predictions, and its standard error."""
    xp = namespace(eta)
    left, total = xp.where(df > 0, df, 1.0), xp.sum(w)
    if isinstance(family, Normal | MultivariateNormal):
        y = y[:, j] if family.multivariate else y
        rss = w @ (y - eta[:, j]) ** 2
        digits = np.finfo(np.float64).eps * xp.max(xp.where(w > 0, abs(y), 0.0))
        variance = xp.maximum(rss, total * digits**2 + 1e-300) / left
        return xp.where(df > 0, 0.5 * xp.log(variance), xp.inf), xp.sqrt(0.5 / left)
    if isinstance(family, Poisson):
        return xp.asarray(0.0), xp.asarray(0.0)
    u = eta[0, 1]
    if isinstance(family, NegativeBinomial):
        mean = xp.exp(eta[:, 0])
        a = xp.maximum(xp.exp(-u), _extra_variance(y, mean, w, df))
        return -xp.log(a), xp.sqrt(2 / (w @ (mean / (1 + mean * a)) ** 2))
    if isinstance(family, Gamma):
        return u - xp.log(total / xp.maximum(df, 1e-3)), xp.sqrt(0.5 / left)
    if isinstance(family, Tweedie):
        return u + xp.log(total / xp.maximum(df, 1e-3)), xp.sqrt(2 / left)
    return (
        xp.where(df > 0, u + POWERS[type(family)] * xp.log(total / left), xp.inf),
        xp.sqrt(1 / left),
    )
