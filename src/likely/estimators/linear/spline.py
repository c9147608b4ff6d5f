r"""Smooth regression: penalised natural cubic splines, one curve for each column.

$$y = b + \sum_j f_j(x_j) + ε, \qquad
  \min \sum_i w_i r_i^2 + \sum_j λ_j \int f_j''(x)^2\,dx.$$

Each $f_j$ is a natural cubic spline with knots at quantiles. The smoothing λ minimises

- generalised cross-validation, $n\,\mathrm{RSS} / (n - \mathrm{edf})^2$, or
- the negative marginal likelihood of a normal prior whose precision is the penalty (REML),
  $(n - M)\log(\mathrm{RSS} + β^\top S_λ β) + \log|G + S_λ| - \log|S_λ|_+$, plus
  $2\sum_j \log(1 + \frac{nd}{(n-M)λ_j})$, the prior that of d curves about one bends,

with $G = B^\top W B$, $\mathrm{edf} = \operatorname{tr}((G + S_λ)^{-1} G)$ and M the
coefficients that no penalty holds (constant and slopes).
"""

import warnings
from functools import partial
from typing import Any, no_type_check

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from likely.base.learning import Problem, learn
from likely.base.predictor import Predictor
from likely.base.settings import one_of, store
from likely.core.linalg import weighted_gram
from likely.core.random import key_of
from likely.core.rows import weighted_mean
from likely.estimators.linear.coefficients import eta_at
from likely.estimators.linear.smoothing import MIN_SHARE_FREE, Criterion, smoothest
from likely.families import Normal, Predictive, StudentT
from likely.models import Linear, Shared
from likely.preprocess.basis import NaturalSpline
from likely.typing import Batch, Key

METHODS = ("reml", "gcv")


class SplineFit(eqx.Module):
    """φ of a smooth regression."""

    model: Linear
    log_scale: Float[Array | np.ndarray, "*batch"]
    smoothing: Float[Array | np.ndarray, "*batch d"]
    edf: Float[Array | np.ndarray, "*batch"]
    covariance: Float[Array | np.ndarray, "*batch q q"]
    """(G + S)⁻¹, the constant last: that of the model, at its centre if it has one."""


class SplineLearner(eqx.Module):
    """Penalised least squares with λ by GCV or REML; the columns are those of the basis."""

    S: Float[Array | np.ndarray, "p p"]
    """The penalties of all curves, in all columns."""
    curve: Int[Array | np.ndarray, " p"]
    """The curve that each column bends; −1 for columns without a penalty."""
    method: str = eqx.field(static=True)
    n_curves: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    """The most columns that bend a curve."""
    family: Normal = Normal()

    @staticmethod
    def __upgrade__(fields: dict) -> dict:
        """The fields of older files, which had one matrix for each curve."""
        if "ranks" in fields:
            ranks, S = np.asarray(fields.pop("ranks")), np.asarray(fields["S"])
            bends = np.diagonal(S, axis1=1, axis2=2) > 0
            fields["S"] = S.sum(0)
            fields["curve"] = np.where(bends.any(0), bends.argmax(0), -1)
            fields["n_curves"], fields["width"] = len(ranks), int(max(ranks.max(), 1))
        return fields

    def learn(self, key: Key, hyper: dict, batch: Batch) -> SplineFit:
        """λ at the minimum of its criterion, then the curves."""
        criterion, mean, change = self.criterion(batch)
        rho = smoothest(criterion)
        beta, V, at = criterion.solve(rho)
        weight = change @ beta[:-1]
        middle = weighted_mean(batch.y, batch.w)
        model = Linear(weight[:, None], (beta[-1] + middle)[None], mean)
        df = jnp.maximum(at.freedom, 1.0)
        variance = jnp.maximum(at.rss / df, jnp.finfo(batch.y.dtype).tiny)
        # back to the columns as they are, about their means: A = [B, 1] T
        T = jnp.eye(len(beta)).at[:-1, :-1].set(change)
        edf, scale = batch.w.sum() - at.freedom, 0.5 * jnp.log(variance)
        return SplineFit(model, scale, jnp.exp(rho), edf, T @ V @ T.T)

    def criterion(self, batch: Batch):
        """What λ minimises, the means of the columns, and their change for it."""
        X, y, w = batch.x, batch.y, batch.w
        mean, change = self._scaling(X, w)
        A = jnp.concatenate([(X - mean[None]) @ change, jnp.ones((len(y), 1))], 1)
        G, centred = weighted_gram(A, w), y - weighted_mean(y, w)
        diagonal = jnp.diagonal(G)
        found = Criterion(
            G,
            1e-10 * jnp.where(diagonal > 0, diagonal, 1.0),
            (w * centred) @ A,
            w @ centred**2,
            w.sum(),
            jnp.pad(self._membership(), ((0, 0), (0, 1))),
            self.method,
            self.width,
        )
        return found, mean, change

    def _membership(self) -> Float[Array, "d p"]:
        """1 where a column bends a curve."""
        curves = jnp.arange(self.n_curves)[:, None]
        return (curves == jnp.asarray(self.curve)[None]).astype(float)

    def _scaling(self, X: Float[Array, "n p"], w: Float[Array, " n"]):
        """The means, and the change of columns in which a penalty is a sum of squares.

        In these columns the penalty of curve j is λⱼ‖β‖², with λ in units in which the
        trace of the penalty of standardised columns is the number of rows.
        """
        mean, curves = weighted_mean(X, w), self._membership()
        spread = jnp.sqrt(weighted_mean((X - mean[None]) ** 2, w))
        spread = jnp.where(spread > 0, spread, 1.0)
        S = jnp.asarray(self.S) / (spread[:, None] * spread[None])
        size = (curves @ jnp.diagonal(S)) / w.sum()
        bends = curves.any(0)
        unit = jnp.where(bends, size @ curves, 1.0)
        root = jnp.linalg.cholesky(S + jnp.diag(jnp.where(bends, 0.0, 1.0)))
        change = jax.scipy.linalg.solve_triangular(root, jnp.eye(len(S)), lower=True).T
        return mean, change * jnp.sqrt(unit)[None] / spread[:, None]

    def widened(self, extra: int) -> "SplineLearner":
        """The learner for rows with this many columns of zeros at the end."""
        S = np.pad(np.asarray(self.S), (0, extra))
        curve = np.pad(np.asarray(self.curve), (0, extra), constant_values=-1)
        return SplineLearner(
            S, curve, self.method, self.n_curves, self.width, self.family
        )

    def losses(self, phi: SplineFit, batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    def held_out_losses(
        self, phi: SplineFit, hyper: dict, known: Batch, rows: Batch
    ) -> Float[Array, " n"]:
        """−log p of rows, the uncertainty of the curves included: Student's t."""
        location, log_scale = self.eta(phi, rows.x).T
        A = phi.model.design(rows.x)
        band = jnp.maximum(jnp.sum((A @ phi.covariance) * A, 1), 0.0)
        log_df = jnp.log(jnp.maximum(known.w.sum() - phi.edf, 1.0))
        scale = log_scale + 0.5 * jnp.log1p(band)
        eta = jnp.stack([location, scale, log_df + 0 * scale], 1)
        return -StudentT().log_prob(eta, rows.y)

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

    Examples:
        >>> X = np.linspace(0, 6, 60)[:, None]
        >>> model = lk.SplineRegressor().fit(X, np.sin(X[:, 0]))
        >>> round(model.score(X, np.sin(X[:, 0])), 2)
        1.0
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
        if (
            self.smoothing == "gcv"
            and self.df_residual_ < MIN_SHARE_FREE * batch.w.sum()
        ):
            warnings.warn(
                "generalised cross-validation has no minimum here before the curves go "
                f"through the rows ({self.edf_:.0f} effective parameters for "
                f'{batch.w.sum():.0f} rows); use smoothing="reml", or fewer knots.',
                ConvergenceWarning,
                stacklevel=2,
            )
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
        S, curve = penalties(basis.knots_)
        width = int(max(np.bincount(curve[curve >= 0], minlength=1).max(), 1))
        return SplineLearner(S, curve, self.smoothing, len(basis.knots_), width)

    def _hyper(self) -> dict[str, np.ndarray]:
        return {}

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """The spline columns of checked rows."""
        return self.basis_._columns(X)

    def _curve(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The curve at checked rows and its standard error."""
        columns = self._columns(X)
        centre = self.phi_.model.centre
        about = columns if centre is None else columns - centre
        A = np.column_stack([about, np.ones(len(columns))])
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
    Curves with a column for each of the merged rows can go through all of them, whatever
    their weights: repetitions then say nothing about the error, and are not counted.
    """
    table = np.column_stack([batch.x, batch.y])[batch.w > 0]
    order = np.lexsort(table.T)
    table, w = table[order], batch.w[batch.w > 0][order]
    first = np.r_[True, (table[1:] != table[:-1]).any(1)]
    table, w = table[first], np.add.reduceat(w, np.flatnonzero(first))
    if len(table) <= table.shape[1]:
        w = w * min(1.0, len(table) / w.sum())
    return Batch(table[:, :-1], table[:, -1], w)


def penalties(knots: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """∫ φ''φ'' of each column's curve, among all columns, and the curve of each column."""
    sizes = [max(len(k) - 1, 1) for k in knots]
    ends = np.cumsum(sizes)
    S, curve = np.zeros((ends[-1], ends[-1])), np.full(ends[-1], -1)
    for j, (k, end, size) in enumerate(zip(knots, ends, sizes, strict=True)):
        if size > 1:
            curved = slice(end - size + 1, end)
            S[curved, curved], curve[curved] = _curvature_penalty(k), j
    return S, curve


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
