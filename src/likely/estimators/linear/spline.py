r"""Smooth regression: penalised natural cubic splines, one curve for each column.

$$y = b + \sum_j f_j(x_j) + ε, \qquad
  \min \sum_i w_i r_i^2 + \sum_j λ_j \int f_j''(x)^2\,dx.$$

Each $f_j$ is a natural cubic spline with knots at quantiles. The smoothing λ minimises

- generalised cross-validation, $n\,\mathrm{RSS} / (n - \mathrm{edf})^2$, or
- the negative marginal likelihood of a normal prior whose precision is the penalty (REML),
  $(n - M)\log(\mathrm{RSS} + β^\top S_λ β) + \log|G + S_λ| - \log|S_λ|_+$,

with $G = B^\top W B$, $\mathrm{edf} = \operatorname{tr}((G + S_λ)^{-1} G)$ and M the
coefficients that no penalty holds (constant and slopes).
"""

from functools import partial
from typing import Any, no_type_check

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.base import RegressorMixin

from likely.base.learning import Problem, learn
from likely.base.predictor import Predictor
from likely.base.settings import one_of, store
from likely.core.linalg import weighted_gram
from likely.core.random import key_of
from likely.core.rows import weighted_mean
from likely.estimators.linear.coefficients import eta_at
from likely.families import Normal, Predictive, StudentT
from likely.models import Linear, Shared
from likely.preprocess.basis import NaturalSpline
from likely.solvers import BFGS
from likely.solvers.function import NO_ROWS, Function
from likely.typing import Batch, Key

METHODS = ("reml", "gcv")
MAX_LOG_SMOOTHING = 18.0


class SplineFit(eqx.Module):
    """φ of a smooth regression."""

    model: Linear
    log_scale: Float[Array | np.ndarray, "*batch"]
    smoothing: Float[Array | np.ndarray, "*batch d"]
    edf: Float[Array | np.ndarray, "*batch"]
    covariance: Float[Array | np.ndarray, "*batch q q"]
    """(G + S)⁻¹, the constant last."""


class _Criterion(eqx.Module):
    """The criterion that the logarithms of λ minimise, from second moments alone."""

    G: Float[Array, "q q"]
    lift: Float[Array, "q q"]
    """A ridge too small to see, where nothing else holds a coefficient."""
    c: Float[Array, " q"]
    yy: Float[Array, ""]
    n: Float[Array, ""]
    S: Float[Array, "d q q"]
    ranks: Float[Array, " d"]
    method: str = eqx.field(static=True)

    def solve(self, rho: Float[Array, " d"]):
        """β, (G + S)⁻¹, its log determinant, RSS, penalty and edf."""
        S = jnp.tensordot(jnp.exp(rho), self.S, axes=1)
        L = jnp.linalg.cholesky(self.G + self.lift + S)
        half = jax.scipy.linalg.solve_triangular(L, jnp.eye(len(L)), lower=True)
        V = half.T @ half
        beta = V @ self.c
        rss = self.yy - 2 * beta @ self.c + beta @ self.G @ beta
        log_det = 2 * jnp.log(jnp.diagonal(L)).sum()
        return beta, V, log_det, rss, beta @ S @ beta, jnp.sum(V * self.G)

    def __call__(self, rho: Float[Array, " d"]) -> Float[Array, ""]:
        """The criterion, with a wall far away."""
        _, _, log_det, rss, penalty, edf = self.solve(rho)
        tiny = 1e-14 * self.yy + jnp.finfo(rho.dtype).tiny
        wall = jnp.sum(jnp.maximum(jnp.abs(rho) - MAX_LOG_SMOOTHING, 0.0) ** 2)
        if self.method == "gcv":
            found = jnp.log(jnp.maximum(rss, tiny)) - 2 * jnp.log(self.n - edf)
            return found + wall
        free = self.n - (len(self.c) - self.ranks.sum())
        fit = free * jnp.log(jnp.maximum(rss + penalty, tiny))
        return (fit + log_det - self.ranks @ rho) / self.n + wall


class SplineLearner(eqx.Module):
    """Penalised least squares with λ by GCV or REML; the columns are those of the basis."""

    S: Float[Array | np.ndarray, "d p p"]
    """The penalty of each curve, in all columns."""
    ranks: Float[Array | np.ndarray, " d"]
    method: str = eqx.field(static=True)
    family: Normal = Normal()

    def learn(self, key: Key, hyper: dict, batch: Batch) -> SplineFit:
        """λ from a coarse grid and BFGS, then the curves."""
        X, y, w = batch.x, batch.y, batch.w
        mean = weighted_mean(X, w)
        spread = jnp.sqrt(weighted_mean((X - mean[None]) ** 2, w))
        spread = jnp.where(spread > 0, spread, 1.0)
        A = jnp.concatenate([(X - mean[None]) / spread[None], jnp.ones((len(y), 1))], 1)
        S = jnp.asarray(self.S) / (spread[:, None] * spread[None])[None]
        size = jnp.trace(S, axis1=1, axis2=2)[:, None, None] / w.sum()
        S = jnp.pad(S / jnp.where(size > 0, size, 1.0), ((0, 0), (0, 1), (0, 1)))
        middle = weighted_mean(y, w)
        G = weighted_gram(A, w)
        lift = 1e-10 * jnp.diag(jnp.where(jnp.diagonal(G) > 0, jnp.diagonal(G), 1.0))
        centred = y - middle
        criterion = _Criterion(
            G,
            lift,
            (w * centred) @ A,
            w @ centred**2,
            w.sum(),
            S,
            jnp.asarray(self.ranks),
            self.method,
        )
        rho = self._smoothing(criterion, key)
        beta, V, _, rss, _, edf = criterion.solve(rho)
        weight = beta[:-1] / spread
        model = Linear(weight[:, None], (beta[-1] + middle - mean @ weight)[None])
        df = jnp.maximum(w.sum() - edf, 1.0)
        variance = jnp.maximum(rss / df, jnp.finfo(y.dtype).tiny)
        # back to the columns as they are: A = [B, 1] T
        T = jnp.diag(jnp.concatenate([1 / spread, jnp.ones(1)]))
        T = T.at[-1, :-1].set(-mean / spread)
        covariance = T @ V @ T.T
        scale = 0.5 * jnp.log(variance)
        return SplineFit(model, scale, jnp.exp(rho), edf, covariance)

    def _smoothing(self, criterion: _Criterion, key: Key) -> Float[Array, " d"]:
        """log λ: the best of a grid, then downhill from there."""
        d = len(self.ranks)
        grid = jnp.linspace(-MAX_LOG_SMOOTHING + 4, MAX_LOG_SMOOTHING - 4, 15)
        values = jax.vmap(lambda r: criterion(jnp.full(d, r)))(grid)
        start = jnp.full(d, grid[jnp.nanargmin(values)])
        found = BFGS(tolerance=1e-7).minimize(
            Function(criterion), start, NO_ROWS, key=key
        )
        return found.model

    def widened(self, extra: int) -> "SplineLearner":
        """The learner for rows with this many columns of zeros at the end."""
        S = np.pad(np.asarray(self.S), ((0, 0), (0, extra), (0, extra)))
        return SplineLearner(S, self.ranks, self.method, self.family)

    def losses(self, phi: SplineFit, batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    def eta(self, phi: SplineFit, X: Float[Array, "n p"]) -> Float[Array, "n 2"]:
        """(f(x), log σ)."""
        return Shared(phi.model, jnp.atleast_1d(phi.log_scale))(X)[0]


class SplineRegressor(RegressorMixin, Predictor):
    r"""A smooth curve for each column, as smooth as the data ask for.

    Natural cubic splines with many knots and a penalty on $\int f''^2$, whose strength is
    chosen by restricted marginal likelihood or by generalised cross-validation.

    Args:
        n_knots: knots for each column; the penalty decides how much the curve bends.
        smoothing: "reml" (marginal likelihood) or "gcv".

    Attributes:
        edf_: effective degrees of freedom, the constant included.
        smoothing_: λ of each column, in units of the penalty's size.
        scale_: σ.
        knots_: of each column.
    """

    n_knots: int
    smoothing: str
    learner_: SplineLearner
    phi_: SplineFit
    basis_: NaturalSpline

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, n_knots: int = 12, *, smoothing: str = "reml"):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SplineRegressor":
        """Fit by penalised least squares, the smoothing by its criterion.

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts; 2 is "this row twice", 0
                "absent", whatever the row contains.
        """
        problem = self._problem(X, y, sample_weight)
        self.learner_, batch = problem.learner, distinct(problem.batch)
        self.learner_.family.check(batch.y, batch.w)
        self.phi_ = phi = learn(self.learner_, key_of(0), {}, batch)
        self.edf_, self.smoothing_ = float(phi.edf), np.asarray(phi.smoothing)
        self.scale_ = float(np.exp(phi.log_scale))
        self.knots_ = self.basis_.knots_
        self.df_residual_ = float(batch.w.sum()) - self.edf_
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x): Student's t around the curve, its own uncertainty included."""
        location, band = self._curve(self._inputs(X))
        scale = np.sqrt(self.scale_**2 + band**2)
        df = max(self.df_residual_, 1.0)
        return Predictive(StudentT(df=df), np.column_stack([location, np.log(scale)]))

    @property
    def family_(self) -> Normal:
        """The family of p(y | x) at the fitted parameters."""
        return self.learner_.family

    def _plug_in(self, X: Any) -> Predictive:
        columns = self._columns(self._inputs(X))
        return Predictive(self.family_, eta_at(self.phi_, columns))

    def _problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        """The learner with checked rows, and how knots follow from weights."""
        one_of("smoothing", self.smoothing, METHODS)
        rows = self._rows(X, y, sample_weight)
        relearn = partial(self._relearned, rows.X)
        self.basis_ = NaturalSpline(self.n_knots).fit(rows.X, sample_weight=rows.w)
        columns = self.basis_._columns(rows.X)
        batch = Batch(columns, rows.y, rows.w)
        return Problem(self._learner(self.basis_), {}, batch, relearn)

    def _relearned(self, X: np.ndarray, w: np.ndarray):
        basis = NaturalSpline(self.n_knots).fit(X, sample_weight=w)
        return self._learner(basis), basis._columns(X)

    def _learner(self, basis: NaturalSpline) -> SplineLearner:
        return SplineLearner(*penalties(basis.knots_), self.smoothing)

    def _hyper(self) -> dict[str, np.ndarray]:
        return {}

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """The spline columns of checked rows."""
        return self.basis_._columns(X)

    def _curve(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The curve at checked rows and its standard error."""
        columns = self._columns(X)
        A = np.column_stack([columns, np.ones(len(columns))])
        C = self.scale_**2 * np.asarray(self.phi_.covariance)
        variance = np.einsum("ij,jk,ik->i", A, C, A, optimize=True)
        return eta_at(self.phi_, columns)[:, 0], np.sqrt(np.maximum(variance, 0.0))

    def band(self, X: Any, coverage: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the interval for the curve itself, E[y | x]."""
        from scipy import stats

        location, error = self._curve(self._inputs(X))
        half = stats.t(max(self.df_residual_, 1.0)).ppf((1 + coverage) / 2) * error
        return location - half, location + half


def distinct(batch: Batch) -> Batch:
    """The rows in order, equal ones merged: their weights add up.

    Where columns are many and rows few the smoothing is hardly determined, and the last
    digit of a sum would decide it. So a row twice and a row of weight 2 become the same.
    """
    table = np.column_stack([batch.x, batch.y])[batch.w > 0]
    order = np.lexsort(table.T)
    table, w = table[order], batch.w[batch.w > 0][order]
    first = np.r_[True, (table[1:] != table[:-1]).any(1)]
    table, w = table[first], np.add.reduceat(w, np.flatnonzero(first))
    return Batch(table[:, :-1], table[:, -1], w)


def penalties(knots: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """∫ φ''φ'' of each column's curve, placed among all columns, and its rank."""
    sizes = [max(len(k) - 1, 1) for k in knots]
    ends = np.cumsum(sizes)
    S = np.zeros((len(knots), ends[-1], ends[-1]))
    for j, (k, end, size) in enumerate(zip(knots, ends, sizes, strict=True)):
        if size > 1:
            curved = slice(end - size + 1, end)
            S[j, curved, curved] = _curvature_penalty(k)
    return S, np.array([float(size - 1) for size in sizes])


def _curvature_penalty(knots: np.ndarray) -> np.ndarray:
    """The integral of products of second derivatives, by Gauss's rule between knots."""
    t = (knots - knots[0]) / (knots[-1] - knots[0])
    node = 0.5 / np.sqrt(3)
    width = np.diff(t)
    x = np.concatenate([t[:-1] + width * (0.5 - node), t[:-1] + width * (0.5 + node)])
    weight = np.concatenate([width, width]) / 2
    lines = 6 * np.maximum(x[:, None] - t, 0.0)
    d = (lines[:, :-1] - lines[:, -1:]) / (t[-1] - t[:-1])
    second = d[:, :-1] - d[:, -1:]
    return (second * weight[:, None]).T @ second
