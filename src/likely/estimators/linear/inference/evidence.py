r"""From a fitted linear model and its rows to an `Estimate`, kind by kind.

The design has the intercept first. `Evidence` is what all kinds share: rows, weights, η
and the family with its dispersion fixed, so that the same lines give model-based and
robust errors. Only present rows take part.

Sums over rows are taken in coordinates that suit the columns (`standardised`). With
$b = Mb_z$ for the coefficients in these, the covariance is $M C_z M^\top$.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import stats
from scipy.linalg import block_diag, solve_triangular
from scipy.special import polygamma

from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.linalg import regression
from likely.core.precision import float64, to_numpy
from likely.core.rows import pad
from likely.estimators.linear.fitting.host_newton import weighted_gram
from likely.estimators.linear.standardised import (
    Standardisation,
    is_rounding,
    present_moments,
    standardisation,
)
from likely.families import (
    AbstractFamily,
    Gamma,
    NegativeBinomial,
    Poisson,
    negative_binomial_slopes,
)
from likely.inference import (
    curvature,
    information,
    inverse,
    joint_information,
    sandwich,
    scores,
)
from likely.solvers.least_squares.moments import second_moments
from likely.typing import Batch

MAX_REFINED_SIZE = 2e7
"""Rows times squared columns up to which the covariance is refined to the last digit."""
MIN_EIGENVALUE = 1e-3
"""The least eigenvalue of a correlation matrix whose inverse keeps thirteen digits."""


class Evidence(eqx.Module):
    """What the rows say about coefficients that were fitted to them.

    Args:
        family: with any dispersion fixed at its estimate.
        X: the columns.
        first: 1 where there is an intercept, which comes first in the design.
        eta: (n, k) at the estimate.
        y: encoded targets.
        w: weights, all above 0.
        known: second moments of X about its means, and these, if at hand.
    """

    family: AbstractFamily
    X: Float[np.ndarray, "n d"]
    first: int = eqx.field(static=True)
    eta: Float[np.ndarray, "n k"]
    y: Float[np.ndarray, " n"]
    w: Float[np.ndarray, " n"]
    known: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def A(self) -> Float[np.ndarray, "n p"]:
        """The design."""
        if not self.first:
            return self.X
        return np.column_stack([np.ones(len(self.X)), self.X])

    @property
    def p(self) -> int:
        """Columns of the design."""
        return self.X.shape[1] + self.first

    @property
    def total(self) -> float:
        """Σw."""
        return float(self.w.sum())

    @property
    def df_residual(self) -> float:
        """Σw − p, p coefficients for each entry of η that is free."""
        return self.total - self.p * self.free

    def refuse_saturated(self, extra: int = 0) -> None:
        """Refuse errors that come from residuals where the fit leaves none.

        Args:
            extra: parameters beside the coefficients that errors have to be left for.
        """
        if not self.df_residual > extra:
            raise InputError(
                f"there are {self.p * self.free + extra} parameters and {self.total:g} "
                "observations, so nothing is left to estimate errors from; use fewer "
                "columns or more rows."
            )

    def refuse_wide(self) -> None:
        """Refuse errors of more coefficients than rows: no rows determine them all."""
        if self.p > len(self.w):
            raise InputError(
                f"there are {self.p} coefficients and {len(self.w)} rows, which do not "
                "determine them all, so there are no standard errors; use fewer columns "
                'or more rows, or ask for summary(errors="none").'
            )

    @property
    def free(self) -> int:
        """Entries of η that have coefficients of their own: one less for a softmax."""
        k = self.eta.shape[1]
        return k - 1 if k > 1 else k

    def coordinates(self, *, transforms: bool = True) -> "_Coordinates":
        """Coordinates that suit the columns, shifted only or also combined."""
        first = bool(self.first)
        found = standardisation(
            self.X, self.w, intercept=first, transforms=transforms, thorough=True
        )
        return _Coordinates(self, found)

    def unscaled(self) -> np.ndarray:
        """I⁻¹ where the dispersion is 1."""
        at = self.coordinates()
        found = _unscaled_on_host(at)
        if found is not None:
            return at.restored(found)
        with float64(work=0.0):
            return at.restored(np.asarray(_unscaled(at.padded())))

    def robust(self, kind: str, slopes: np.ndarray) -> tuple[np.ndarray, float | None]:
        """The sandwich C of this kind, and bᵀC⁻¹b of the slopes b (of one entry of η)."""
        at = self.coordinates()
        C = _sandwich_on_host(at, kind)
        if C is None:
            with float64(work=0.0):
                C = np.asarray(_sandwich(at.padded(), kind))
        wald = at.wald(C, slopes) if self.free == 1 else None
        return at.restored(C), wald

    def inflation(self, C: Float[np.ndarray, "p p"]) -> Float[np.ndarray, " d"]:
        """Variances of slopes, in units of those that columns alone would have."""
        if self.known is not None:
            G, mean = self.known
            spread = np.sqrt(np.diagonal(G))
        else:
            mean, spread = present_moments(self.X, self.w)
            spread = spread if self.first else np.hypot(mean, spread)
        found = np.diagonal(C)[self.first : self.p] * spread**2 * self.total
        return np.where(is_rounding(mean, spread), np.inf, found)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """XᵀWX/Σw about the means (about 0 without an intercept), and the means."""
        if self.known is not None:
            return self.known
        (m,) = second_moments(self.X, self.y, self.w[None], centre=bool(self.first))
        return m.G, m.mean_x

    def gram(self) -> Float[np.ndarray, "p p"]:
        """AᵀWA."""
        G, mean = self.moments()
        if not self.first:
            return G * self.total
        top = np.r_[1.0, mean][None]
        return self.total * np.block([[top], [mean[:, None], G + np.outer(mean, mean)]])

    def condition(self) -> float:
        """σ₁/σ_p of the design; from its Gram matrix where that is safe, or rows many."""
        values = np.linalg.eigvalsh(self.gram())
        safe = values[0] > 1e-9 * values[-1]
        if not safe and self.X.size * self.p <= MAX_REFINED_SIZE:
            R = np.linalg.qr(np.sqrt(self.w)[:, None] * self.A, mode="r")
            s = np.linalg.svd(R, compute_uv=False)
            return float(s[0] / s[-1]) if s[-1] > 0 else np.inf
        return float(np.sqrt(values[-1] / max(values[0], np.finfo(float).tiny)))


class _Coordinates(NamedTuple):
    """The evidence in coordinates that suit the columns."""

    evidence: Evidence
    found: Standardisation | None

    @property
    def A(self) -> Float[np.ndarray, "n p"]:
        """The design."""
        here = self.evidence
        Z = here.X if self.found is None else self.found.columns(here.X)
        return np.column_stack([np.ones(len(Z)), Z]) if here.first else Z

    def padded(self) -> "_Rows":
        """Absent rows up to a size class, so that a new n compiles nothing."""
        here = self.evidence
        rows = pad(Batch((self.A, here.eta), here.y, here.w))
        return _Rows(here.family, *map(jnp.asarray, (*rows.x, rows.y, rows.w)))

    def restored(self, C: np.ndarray, tail: int = 0) -> np.ndarray:
        """The covariance for the columns as they are: M C Mᵀ for each entry of η.

        Args:
            C: in these coordinates.
            tail: the number of parameters at the end that are no coefficients.
        """
        if self.found is None:
            return C
        first, p = self.evidence.first, self.evidence.p
        M = np.eye(p)
        M[first:, first:] = self.found.weights(M[first:, first:])
        if self.found.centre is not None:
            M[0, 1:] = -(self.found.centre @ M[1:, 1:])
        M = block_diag(*[M] * ((len(C) - tail) // p), np.eye(tail))
        return M @ C @ M.T

    def wald(self, C: np.ndarray, slopes: np.ndarray) -> float | None:
        """bᵀC⁻¹b of slopes of the columns as they are, C in these coordinates."""
        T = None if self.found is None else self.found.transform
        if T is not None:
            slopes = slopes / T if T.ndim == 1 else np.linalg.solve(T, slopes)
        first, p = self.evidence.first, self.evidence.p
        C = C[first:p, first:p]
        try:
            return float(slopes @ np.linalg.solve(C, slopes))
        except np.linalg.LinAlgError:
            return None


class _Rows(NamedTuple):
    """The evidence as padded arrays, for programs."""

    family: AbstractFamily
    A: Any
    eta: Any
    y: Any
    w: Any


def _free(rows: _Rows) -> tuple[Array, Array]:
    """l′ and l″ in the free entries of η: all but the first of a softmax."""
    gradient, hessian = curvature(rows.family, rows.eta, rows.y)
    if isinstance(rows.family, Gamma):  # the mean over y, which is 1
        hessian = jnp.ones_like(hessian)
    first = int(rows.eta.shape[1] > 1)
    return gradient[:, first:], hessian[:, first:, first:]


def _unscaled_on_host(at: "_Coordinates") -> Float[np.ndarray, "p p"] | None:
    """I⁻¹ for log links, without compiling; None for other families."""
    here = at.evidence
    eta = here.eta[:, 0]
    if type(here.family) is Gamma:
        h = np.ones(len(eta))
    elif type(here.family) is Poisson:
        h = np.exp(eta)
    else:
        return None
    return _inverse_on_host(weighted_gram(at.A, here.w * h))


def _sandwich_on_host(at: "_Coordinates", kind: str) -> np.ndarray | None:
    """The robust covariance for Poisson means, without compiling; None for others."""
    here = at.evidence
    bread = _unscaled_on_host(at) if type(here.family) is Poisson else None
    if bread is None:
        return None
    A, mean = at.A, np.exp(here.eta[:, 0])
    leverage = mean * ((A @ bread) * A).sum(1)
    rows = A * (mean - here.y)[:, None]
    parts: Any = (bread, rows, leverage, here.w)
    return np.asarray(sandwich(*parts, kind=kind))


def _joint_on_host(at: "_Coordinates", u: float) -> Float[np.ndarray, "q q"] | None:
    """The inverse information about (B, log r) of counts, without compiling."""
    here, A = at.evidence, at.A
    found = negative_binomial_slopes.slopes(here.eta[:, 0], u, here.y)
    G, side = weighted_gram(A, here.w * found.mm), (here.w * found.mu) @ A
    corner = here.w @ found.uu
    return _inverse_on_host(np.block([[G, side[:, None]], [side, corner]]))


def _inverse_on_host(H: Float[np.ndarray, "q q"]) -> Float[np.ndarray, "q q"] | None:
    """The inverse of a positive definite matrix; None where it is not."""
    with np.errstate(invalid="ignore"):
        scale = np.sqrt(np.diagonal(H))
    if not (np.isfinite(H).all() and (scale > 0).all()):
        return None
    try:
        L = np.linalg.cholesky(H / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None
    half = solve_triangular(L, np.eye(len(H)), lower=True)
    return half.T @ half / np.outer(scale, scale)


@lean_jit
def _unscaled(evidence: _Rows) -> Float[Array, "q q"]:
    return inverse(information(evidence.A, _free(evidence)[1], evidence.w))


@lean_jit
def _sandwich(evidence: _Rows, kind: str) -> Float[Array | np.ndarray, "q q"]:
    gradient, hessian = _free(evidence)
    bread = inverse(information(evidence.A, hessian, evidence.w))
    A, k, p = evidence.A, hessian.shape[1], evidence.A.shape[1]
    own = bread.reshape(k, p, k, p)[jnp.arange(k), :, jnp.arange(k)]
    along = jax.lax.map(lambda part: jnp.sum((A @ part) * A, 1), own)
    leverage = jnp.sum(along * jnp.diagonal(hessian, axis1=1, axis2=2).T, 0)
    rows = scores(A, gradient)
    return sandwich(bread, rows, leverage, evidence.w, kind=kind)


def normal_covariance(evidence: Evidence) -> Float[np.ndarray, "p p"]:
    """(AᵀWA)⁻¹ to almost the last digit where that is cheap or needed."""
    p = evidence.p
    G, mean = evidence.moments()
    scale = np.sqrt(np.diagonal(G))
    if scale.all():
        unit = G / np.outer(scale, scale)
        far = 1e-7 if evidence.X.size * p > MAX_REFINED_SIZE else MIN_EIGENVALUE
        if np.linalg.eigvalsh(unit)[0] > far:
            C = np.linalg.inv(unit) / np.outer(scale, scale)
            if not evidence.first:
                return C / evidence.total
            side = -(C @ mean)[None]
            corner = 1 - side @ mean[:, None]
            return np.block([[corner, side], [side.T, C]]) / evidence.total
    with float64(work=0.0):
        order = (
            np.r_[1:p, 0] if evidence.first else np.arange(p)
        )  # a constant goes last
        at = evidence.coordinates(transforms=False)
        rows = at.padded()
        found = _regression(rows.A[:, order], rows.y, rows.w)
        back = np.argsort(order)
        return at.restored(np.asarray(found.covariance)[np.ix_(back, back)])


@lean_jit
def _regression(A, y, w):
    return regression(A, y[:, None], w)


@lean_jit
def _joint(family: AbstractFamily, A, eta, y, w):
    gradient, hessian = curvature(family, jnp.asarray(eta), jnp.asarray(y))
    A, w = jnp.asarray(A), jnp.asarray(w)
    H = joint_information(A, hessian, w)
    rows = jnp.concatenate([A * gradient[:, :1], gradient[:, 1:]], 1)
    return inverse(H), rows


def joint_covariance(
    family: AbstractFamily, evidence: Evidence, u: Any, *, robust: bool
) -> Float[np.ndarray, "q q"]:
    """The covariance of (B, u): the inverse information, or the sandwich of scores."""
    at, u = evidence.coordinates(), np.atleast_1d(u)
    if type(family) is NegativeBinomial and not robust:
        found = _joint_on_host(at, float(u[0]))
        if found is not None:
            return at.restored(found, tail=1)
    with float64(work=0.0):
        rows = at.padded()
        eta = np.column_stack([rows.eta[:, 0], np.tile(u, (len(rows.y), 1))])
        C, u_ = to_numpy(_joint(family, rows.A, eta, rows.y, rows.w))
    w = np.asarray(rows.w)
    if robust:
        evidence.refuse_saturated(len(u))
        U = u_ @ C
        scale = evidence.total / (evidence.total - len(C))
        C = (U * (scale * w)[:, None]).T @ U
    return at.restored(C, tail=len(u))


def shape_variance(a: float, total: float) -> float:
    """The variance of log a, the shape of a gamma distribution: 1/(n(a²ψ′(a) − a))."""
    per_row = a**2 * float(polygamma(1, a)) - a
    return 1 / (total * per_row) if per_row > 0 else 0.0


def quantile_covariance(evidence: Evidence, tau: float) -> Float[np.ndarray, "p p"]:
    r"""The covariance of quantile regression: $τ(1-τ) (A^\top W A)^{-1} / f(0)^2$.

    f(0) is the density of the residuals at 0, by an Epanechnikov kernel whose width is
    Hall and Sheather's.
    """
    evidence.refuse_saturated()
    at, w, n = evidence.coordinates(), evidence.w, evidence.total
    r = evidence.y - evidence.eta[:, 0]
    low, high = (_quantile(r, w, q) for q in (0.25, 0.75))
    mean = w @ evidence.y / n
    spread = np.sqrt(w @ (evidence.y - mean) ** 2 / n)
    z, x = stats.norm.ppf(0.975), stats.norm.ppf(tau)
    peak = 1.5 * stats.norm.pdf(x) ** 2 / (2 * x**2 + 1)
    h = n ** (-1 / 3) * z ** (2 / 3) * peak ** (1 / 3)
    h = min(h, 0.99 * tau, 0.99 * (1 - tau))
    width = stats.norm.ppf(tau + h) - stats.norm.ppf(tau - h)
    h = min(spread, (high - low) / 1.34) * width
    kernel = np.where(np.abs(r) <= h, 0.75 * (1 - (r / h) ** 2), 0.0)
    density = float(w @ kernel) / (n * h)
    C = np.linalg.inv((at.A * w[:, None]).T @ at.A)
    return at.restored(C) * tau * (1 - tau) / density**2


def _quantile(x: np.ndarray, w: np.ndarray, q: float) -> float:
    """Interpolated as if every value were there w times."""
    order = np.argsort(x)
    x, upper = x[order], np.cumsum(w[order])
    place = q * (upper[-1] - 1)
    below = x[np.searchsorted(upper, np.floor(place), side="right")]
    above = x[
        min(np.searchsorted(upper, np.floor(place) + 1, side="right"), len(x) - 1)
    ]
    return float(below + (place - np.floor(place)) * (above - below))


def r_squared(y: np.ndarray, fitted: np.ndarray, w: np.ndarray, *, centred: bool):
    """Explained over total variance, 1 − RSS/TSS, squared correlation."""
    n = w.sum()
    mean = w @ y / n if centred else 0.0
    total = w @ (y - mean) ** 2
    rss = w @ (y - fitted) ** 2
    middle = w @ fitted / n if centred else 0.0
    spread = w @ (fitted - middle) ** 2
    cross = (w * (fitted - middle)) @ (y - mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = spread / total, 1 - rss / total, cross**2 / (spread * total)
    explained, residual, squared = map(float, parts)
    return explained, residual, squared
