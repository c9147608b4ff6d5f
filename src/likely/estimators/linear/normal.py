r"""Linear regression, plain and ridge: y | x ~ N(x·w + b, σ²)."""

from typing import Any, ClassVar, no_type_check

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import RegressorMixin

from likely.base.learning import Problem, learn
from likely.base.settings import store
from likely.core.linalg import lstsq
from likely.core.numerics import HALF_LOG_2PI, log_rising
from likely.core.rows import weighted_mean
from likely.core.threads import one_thread
from likely.estimators.linear.coefficients import coefficients_of
from likely.estimators.linear.fitting.matrix_free import is_sparse, normal_line
from likely.estimators.linear.fitting.row_space import (
    is_wide,
    ridge_by_rows,
    ridge_by_rows_is_safe,
)
from likely.estimators.linear.glm import trim
from likely.estimators.linear.inference.collinearity import (
    warn_collinear,
    warn_wide,
)
from likely.estimators.linear.inference.evidence import (
    Evidence,
    normal_covariance,
    r_squared,
)
from likely.estimators.linear.inference.spread import MIN_DF
from likely.estimators.linear.inference.statistics import penalty_sentence
from likely.estimators.linear.inference.uncertainty import AbstractLinearLearner
from likely.estimators.linear.model import LinearModel, alpha_hyper
from likely.estimators.linear.penalty import ridge_strengths
from likely.estimators.linear.ridge_prior import empty_columns
from likely.estimators.linear.standardised import (
    Standardisation,
    StandardisedLearner,
    is_rounding,
    sampled_moments,
)
from likely.families import AbstractFamily, MultivariateNormal, Normal
from likely.inference import Estimate
from likely.models import Linear, Shared
from likely.solvers import ridge, ridge_folds, ridge_lines
from likely.solvers.least_squares.moments import second_moments
from likely.typing import Batch, Key

MAX_DECOMPOSED = 4_000_000
"""Numbers in rows, fewer than columns, up to which a line is found by a decomposition."""


class NormalLinear(eqx.Module):
    """φ of a normal linear model: the line, log σ of each output, whether determined."""

    model: Linear
    log_scale: Float[Array | np.ndarray, "..."]
    singular: Bool[Array | np.ndarray, "*batch"]
    second: Float[Array | np.ndarray, "*batch d d"] | None = None
    """XᵀWX/Σw about the means, where it was computed on the way."""
    means: Float[Array | np.ndarray, "*batch d"] | None = None


class NormalLinearLearner(AbstractLinearLearner):
    r"""argmin of $\sum_i w_i (y_i - x_i·w - b)^2 + α\lVert w\rVert^2$, then σ² by likelihood.

    Both are the recipe's: a normal family at any σ, prior w ~ N(0, σ²/α). Exact, by
    one decomposition for all α, or by QR where there is no penalty.
    """

    penalised: bool = eqx.field(static=True)
    intercept: bool = eqx.field(static=True)
    decomposition: str = eqx.field(static=True, default="qr")
    family: AbstractFamily = Normal()
    any_coordinates: ClassVar[bool] = False
    rotates: ClassVar[bool] = True

    def learn(self, key: Key, hyper: dict, batch: Batch) -> NormalLinear:
        """The line with its learned scale."""
        X, w = batch.x, batch.w
        Y = batch.y if self.family.multivariate else batch.y[:, None]
        singular = jnp.asarray(False)
        if self.penalised:
            found = ridge(X, Y, w, hyper["alpha"], intercept=self.intercept)
            model = Linear(*found) if self.intercept else Linear(found[0], None)
        else:
            model = Linear.zeros(X.shape[1], Y.shape[1], self.intercept)
            empty = empty_columns(X)
            P = jnp.concatenate([empty, jnp.zeros(1)]) if self.intercept else empty
            A = model.design(X)
            B, singular = lstsq(A, Y, w, P, decomposition=self.decomposition)
            model = model.with_coefficients(B)
        residual = Y - model(X)[0]
        variance = jnp.maximum(weighted_mean(residual**2, w), jnp.finfo(Y.dtype).tiny)
        log_scale = 0.5 * jnp.log(variance)
        log_scale = log_scale if self.family.multivariate else log_scale[0]
        return NormalLinear(model, log_scale, singular)

    def on_host(self, hyper: dict, batch: Batch) -> NormalLinear | None:
        """Second moments by BLAS, refined by the residuals themselves.

        Where the columns are far from dependent this loses no digits (the correction
        squares the error of the moments); elsewhere QR takes over. Sparse rows, and more
        columns than can be decomposed, need products of the columns alone.
        """
        if self.needs_no_coordinates(hyper, batch):
            return self._by_rows(hyper, batch)
        large = (
            is_wide(batch.x, batch.w, self.intercept) and batch.x.size > MAX_DECOMPOSED
        )
        if is_sparse(batch.x) or (large and not self.family.multivariate):
            return self._matrix_free(hyper, batch)
        if self.penalised:
            return self._ridge_on_host(hyper, batch)
        if self.decomposition != "qr" or batch.y.ndim > 1:
            return None
        here = batch.w > 0
        X, y, w = batch.x, batch.y, batch.w
        if not here.all():
            X, y, w = X[here], y[here], w[here]
        (m,) = second_moments(X, y, w[None], centre=self.intercept)
        scale = np.sqrt(np.diagonal(m.G))
        if not np.isfinite(scale).all() or is_rounding(m.mean_x, scale).any():
            return None
        unit = m.G / np.outer(scale, scale)
        if not np.linalg.eigvalsh(unit)[0] > 1e-5:
            return None
        factor = cho_factor(unit)
        total, even = w.sum(), bool((w == 1).all())
        b = cho_solve(factor, m.c / scale) / scale
        r = y - X @ b
        for _ in range(2):
            r = r - (r.mean() if even else w @ r / total) if self.intercept else r
            d = cho_solve(factor, (r if even else w * r) @ X / total / scale) / scale
            b, r = b + d, r - X @ d
        bias = w @ (y - X @ b) / total if self.intercept else 0.0
        r = y - X @ b - bias
        variance = max(float(w @ r**2 / total), np.finfo(float).tiny)
        end = jnp.atleast_1d(jnp.asarray(bias)) if self.intercept else None
        model = Linear(jnp.asarray(b[:, None]), end)
        log_scale = np.asarray(0.5 * np.log(variance))
        return NormalLinear(model, log_scale, np.array(False), m.G, m.mean_x)

    def needs_no_coordinates(self, hyper: dict, batch: Batch) -> bool:
        """Whether a ridge is found by one system of equations in the rows."""
        if not self.penalised or np.ndim(hyper["alpha"]) or "coordinates" in hyper:
            return False
        alpha, intercept = float(hyper["alpha"]), self.intercept
        return ridge_by_rows_is_safe(batch.x, batch.w, alpha, intercept=intercept)

    def _by_rows(self, hyper: dict, batch: Batch) -> NormalLinear:
        Y = batch.y if self.family.multivariate else batch.y[:, None]
        alpha, intercept = float(hyper["alpha"]), self.intercept
        W, b, v = ridge_by_rows(batch.x, Y, batch.w, alpha, intercept=intercept)
        log_scale = 0.5 * np.log(np.maximum(v, np.finfo(float).tiny))
        log_scale = log_scale if self.family.multivariate else np.asarray(log_scale[0])
        model = Linear(jnp.asarray(W), jnp.asarray(b) if intercept else None)
        return NormalLinear(model, log_scale, np.array(False))

    def _ridge_on_host(self, hyper: dict, batch: Batch) -> NormalLinear | None:
        alpha = np.asarray(hyper["alpha"])
        if alpha.ndim or "coordinates" in hyper:
            return None
        every = np.ones((1, len(batch.w)))
        found = self.leave_out_on_host({"alpha": alpha[None]}, batch, every)
        if found is None:
            return None
        model, here = jax.tree.map(lambda a: a[0, 0], found.model), batch.w > 0
        X, y, w = batch.x, batch.y, batch.w
        if not here.all():
            X, y, w = X[here], y[here], w[here]
        with one_thread():  # a pass over the rows is too short for several
            r = y - X @ model.weight[:, 0]
        r -= model.bias[0] if self.intercept else 0.0
        variance = max(float(w @ r**2 / w.sum()), np.finfo(float).tiny)
        return NormalLinear(model, np.asarray(0.5 * np.log(variance)), np.array(False))

    @property
    def takes_sparse(self) -> bool:
        """Whether rows may be a sparse matrix as it is."""
        return not self.family.multivariate

    def _matrix_free(self, hyper: dict, batch: Batch) -> NormalLinear:
        alpha = float(hyper["alpha"]) if self.penalised else 0.0
        model, variance = normal_line(batch, alpha, intercept=self.intercept)
        log_scale = np.asarray(0.5 * np.log(max(variance, np.finfo(float).tiny)))
        return NormalLinear(model, log_scale, np.array(False))

    def trimmed(self, phi: NormalLinear, d: int) -> NormalLinear:
        """φ with the weights of the first d columns."""
        return trim(phi, d)

    @property
    def leaves_out(self) -> bool:
        """Ridge regression has a shorter way to leave parts out: its moments subtract."""
        return self.penalised and not self.family.multivariate

    def leave_out(
        self, hypers: dict, parts: Batch
    ) -> tuple[NormalLinear, Float[Array, "m j"]]:
        """The line without each part, for every α, and the held-out nats."""
        found = ridge_folds(
            parts.x, parts.y, parts.w, hypers["alpha"], intercept=self.intercept
        )
        log_scale = 0.5 * jnp.log(found.variance)
        known = found.df > MIN_DF
        total = parts.w.sum() - parts.w.sum(1)
        df = jnp.where(known, found.df, 1.0)
        s = jnp.where(known, log_scale + 0.5 * jnp.log(total[None] / df), jnp.inf)
        losses = student_nats(found.residual, s, df, found.leverage)
        nats = jnp.sum(parts.w[None] * losses, -1) / parts.w.sum(1)[None]

        def one(weight, bias, log_scale) -> NormalLinear:
            model = Linear(weight[:, None], bias[None] if self.intercept else None)
            return NormalLinear(model, log_scale, jnp.asarray(False))

        return jax.vmap(jax.vmap(one))(found.weight, found.bias, log_scale), nats

    def leave_out_on_host(
        self, hypers: dict, batch: Batch, train: Float[np.ndarray, "j n"]
    ) -> NormalLinear | None:
        """The line of every α on every fold, by moments that BLAS adds.

        None where there are fewer rows than columns, or several outputs.
        """
        here, X = batch.w > 0, batch.x
        if batch.y.ndim > 1 or is_sparse(X) or here.sum() <= X.shape[1]:
            return None
        y, W = batch.y, train * batch.w
        if not here.all():
            X, y, W = X[here], y[here], W[:, here]
        B, b, v = ridge_lines(X, y, W, hypers["alpha"], intercept=self.intercept)
        one = Linear.zeros(X.shape[1], 1, self.intercept)
        parts = (B[..., None], b[..., None]) if self.intercept else (B[..., None],)
        model = eqx.tree_at(lambda line: tuple(jax.tree.leaves(line)), one, parts)
        return NormalLinear(model, 0.5 * np.log(v), np.zeros(b.shape, bool))

    def losses(self, phi: NormalLinear, batch: Batch) -> Float[Array, " n"]:
        """½(r/σ)² + log σ + ½ log 2π, with one σ for all rows."""
        if self.family.multivariate:
            return -self.family.log_prob(self.eta(phi, batch.x), batch.y)
        r = batch.y - phi.model(batch.x)[0][:, 0]
        square = jnp.exp(-2 * phi.log_scale)
        return 0.5 * (r**2 * square + jnp.log(2 * jnp.pi)) + phi.log_scale

    def eta(self, phi: NormalLinear, X: Float[Array, "n d"]) -> Float[Array, "n k"]:
        """(x·w + b, log σ)."""
        return Shared(phi.model, jnp.atleast_1d(phi.log_scale))(X)[0]

    def penalty(self, phi: NormalLinear, hyper: dict, w: Any) -> tuple[Any, None]:
        """α, in units of 1/σ²."""
        return (hyper["alpha"] if self.penalised else 0.0), None


def student_nats(
    r: Float[Array, "*m s"],
    log_scale: Float[Array, "*m"],
    df: Float[Array, "*m"],
    v: Float[Array, "*m s"],
) -> Float[Array, "*m s"]:
    """−log p of residuals r under Student's t of scale s√(1 + v): two logarithms a row."""
    half = 0.5 * df
    constant = HALF_LOG_2PI - log_rising(half, jnp.full_like(half, 0.5)) + log_scale
    u = (r * jnp.exp(-log_scale)[..., None]) ** 2 / df[..., None]
    own = jnp.log(1 + v)
    tail = (half + 0.5)[..., None] * (jnp.log(1 + v + u) - own)
    return constant[..., None] + 0.5 * own + jnp.where(v < jnp.inf, tail, 0.0)


def normal_family(y: np.ndarray) -> AbstractFamily:
    """A normal for one output, independent normals for several."""
    several = y.ndim == 2
    return MultivariateNormal(y.shape[1], "diagonal") if several else Normal()


def publish_normal(self: Any, phi: Any) -> None:
    """`coef_`, `intercept_` and `scale_`, of one output or several."""
    weight, bias, log_scale = coefficients_of(phi)
    several = self.family_.multivariate
    self.coef_ = weight.T if several else weight[:, 0]
    b = np.zeros(weight.shape[1]) if bias is None else bias
    self.intercept_ = b if several else float(b[0])
    self.scale_ = np.exp(log_scale) if several else float(np.exp(log_scale[0]))


def normal_unit(self: Any) -> Normal:
    """Normal errors of scale 1: what robust errors start from."""
    return Normal(1.0)


def normal_refusal(self: Any, errors: str) -> str | None:
    """Why there are no standard errors: a penalty, or several outputs."""
    if self.family_.multivariate:
        return "summary() is for one output; fit one self for each column of y."
    return penalty_sentence(self)


def normal_estimate(self: Any, evidence: Evidence) -> Estimate:
    """Exact for normal errors: s² = RSS/(Σw − p), covariance s²(AᵀWA)⁻¹."""
    y, w, n, df = evidence.y, evidence.w, evidence.total, evidence.df_residual
    fitted, p = evidence.eta[:, 0], evidence.p
    evidence.refuse_saturated()
    rss = float(w @ (y - fitted) ** 2)
    centre = float(w @ y) / n if evidence.first else 0.0
    tss = float(w @ (y - centre) ** 2)
    s2 = rss / df
    return Estimate(
        self._table_order(self.phi_),
        s2 * normal_covariance(evidence),
        slopes=np.arange(p) >= evidence.first,
        total=n,
        df_residual=df,
        log_likelihood=_concentrated(rss, n),
        null_log_likelihood=_concentrated(tss, n),
        n_counted=p,
        dispersion=s2,
        r_squared=r_squared(y, fitted, w, centred=bool(evidence.first)),
        condition=evidence.condition(),
        kind="t",
        tail_variance=0.5 / n,
        wald=(tss - rss) / s2 if s2 > 0 else None,
    )


def _concentrated(rss: float, n: float) -> float:
    """The normal log-likelihood at σ² = RSS/n."""
    rss = max(rss, np.finfo(float).tiny)
    return -0.5 * n * (np.log(2 * np.pi * rss / n) + 1)


class LinearRegression(RegressorMixin, LinearModel):
    r"""Least squares: y | x ~ N(x·w + b, σ²) by maximum likelihood.

    $\hat w = (X^\top X)^{-1}X^\top y$ with a column of ones, computed by QR in float64; σ² is
    the mean squared residual. Where columns are dependent, the solution of least norm.
    `predict_dist` is Student's t, which includes the uncertainty of w, b and σ exactly.

    Args:
        fit_intercept: whether there is a b.
        basis: columns to make of X first, such as `preprocess.NaturalSpline()`.

    Attributes:
        coef_: (d,) w; (m, d) for m outputs.
        intercept_: b.
        scale_: σ.

    Examples:
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.1, 4.9, 7.0])
        >>> model = lk.LinearRegression().fit(X, y)
        >>> print(model.coef_.round(2), model.predict_interval(X[:1], 0.9)[1].round(2))
        [1.98] [1.39]
    """

    _uncertainty = "exact"
    _allows_outputs = True
    _publish, _unit = publish_normal, normal_unit
    _refusal, _estimate = normal_refusal, normal_estimate
    fit_intercept: bool

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, *, fit_intercept: bool = True, basis: Any = None):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        return self._fit(X, y, sample_weight)

    def _learner(self, y: np.ndarray) -> NormalLinearLearner:
        family = normal_family(y)
        return NormalLinearLearner(False, bool(self.fit_intercept), family=family)

    def _hyper(self) -> dict[str, np.ndarray]:
        return {}

    def _revised(self, phi: NormalLinear, key: Key, hyper: dict, problem: Problem):
        """Where columns are dependent: name them, and take the least norm."""
        batch = problem.batch
        if is_wide(batch.x, batch.w, bool(self.fit_intercept)):
            warn_wide(int((batch.w > 0).sum()), batch.x.shape[1])
            return phi
        if is_sparse(batch.x):
            return phi
        row = batch.x[np.argmax(batch.w > 0)]
        empty = [
            j for j in np.flatnonzero(row == 0) if not batch.x[batch.w > 0, j].any()
        ]
        if not (np.asarray(phi.singular) or empty):
            return phi
        names = np.asarray(self._column_names(), object)
        names = names if hasattr(self, "feature_names_in_") else None
        intercept = bool(self.fit_intercept)
        warn_collinear(batch.x[batch.w > 0], names, intercept)
        least = NormalLinearLearner(False, intercept, "svd", self.family_)
        if intercept:  # the intercept takes up whatever the columns have in common
            centre, spread = sampled_moments(batch.x, batch.w)
            varies = 1.0 - is_rounding(centre, spread)
            least = StandardisedLearner(least, Standardisation(centre, varies))
        return learn(least, key, hyper, batch)


class Ridge(RegressorMixin, LinearModel):
    r"""Ridge regression: y | x ~ N(x·w + b, σ²) with prior w ~ N(0, σ²/α).

    $\hat w = (X^\top X + αI)^{-1}X^\top y$ on centred data: the minimiser of
    $\lVert y - Xw - b\rVert^2 + α\lVert w\rVert^2$, as in scikit-learn.

    Args:
        alpha: strength of the penalty, or "cv" to choose it by held-out nats; the
            intercept is not penalised.
        fit_intercept: whether there is a b.
        basis: columns to make of X first, such as `preprocess.NaturalSpline()`.
        alphas: the strengths to choose from; by default forty of all sizes.
        cv: the folds to choose by; 5 by default.

    Attributes:
        coef_: (d,) w; (m, d) for m outputs.
        intercept_: b.
        scale_: σ.
        alpha_: the strength that was chosen, where alpha="cv".

    Examples:
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 7.0])
        >>> print(lk.Ridge(alpha=1.0).fit(X, y).coef_.round(2))
        [1.67]
    """

    _uncertainty = "penalised"
    _allows_outputs = True
    _publish, _unit, _hyper = publish_normal, normal_unit, alpha_hyper
    _refusal, _estimate = normal_refusal, normal_estimate
    alpha: Any
    fit_intercept: bool

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        alpha: float | str = 1.0,
        *,
        fit_intercept: bool = True,
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        return self._fit(X, y, sample_weight)

    def _learner(self, y: np.ndarray) -> NormalLinearLearner:
        family = normal_family(y)
        return NormalLinearLearner(True, bool(self.fit_intercept), family=family)

    def _strengths(self, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        return ridge_strengths(X, w, per_weight=False)
