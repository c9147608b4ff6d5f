r"""The lasso and the elastic net: squared loss with an absolute penalty."""

from typing import Any, ClassVar, no_type_check

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.base import RegressorMixin

from likely import recipe
from likely.base.learning import learn
from likely.base.rows import dense
from likely.base.settings import store
from likely.core.checks import InputError
from likely.core.random import key_of
from likely.core.rows import weighted_mean
from likely.estimators.linear.fitting.matrix_free import is_sparse
from likely.estimators.linear.glm import trim
from likely.estimators.linear.inference.uncertainty import AbstractLinearLearner
from likely.estimators.linear.model import LinearModel, alpha_of
from likely.estimators.linear.normal import (
    normal_estimate,
    normal_family,
    normal_refusal,
    normal_unit,
    publish_normal,
)
from likely.estimators.linear.penalty import lasso_strengths
from likely.families import AbstractFamily, Normal, Product
from likely.models import Linear, Shared
from likely.objectives import ElasticNetPrior
from likely.solvers import CoordinateDescent
from likely.solvers.penalised.lasso_path import lasso_path
from likely.solvers.settings import as_real, as_whole
from likely.typing import Batch, Key, Solution, Status, Trace

MIN_SCREENED_COLUMNS = 512
"""Columns from which looking at few of them saves time."""
MIN_GAP = 1e-14
"""The least duality gap that rounding allows, as a part of the loss at w = 0."""


class ElasticNetLearner(AbstractLinearLearner):
    r"""Squared loss with an L1 penalty: the lasso and the elastic net.

    $\frac{1}{2\sum w}\sum_i w_i r_i^2 + α(ρ\lVert w\rVert_1 + \frac{1-ρ}{2}\lVert w\rVert^2)$, by
    coordinate descent, then σ² by likelihood, as in ridge regression.
    """

    family: AbstractFamily
    solver: CoordinateDescent
    intercept: bool = eqx.field(static=True)
    any_coordinates: ClassVar[bool] = False

    def learn(self, key: Key, hyper: dict, batch: Batch) -> Solution:
        """The line with its learned scale."""
        X, w = batch.x, batch.w
        Y = batch.y if self.family.multivariate else batch.y[:, None]
        m = Y.shape[1]
        mean_x, mean_y = jnp.zeros(X.shape[1]), jnp.zeros(m)
        if self.intercept:
            mean_x, mean_y = weighted_mean(X, w), weighted_mean(Y, w)
        rows = Batch(X - mean_x[None], Y - mean_y[None], w)
        prior = ElasticNetPrior(alpha=jnp.asarray(hyper["alpha"]) * w.sum())
        ratio = jnp.asarray(hyper["l1_ratio"])
        prior = eqx.tree_at(lambda p: p.l1_ratio, prior, ratio)
        squares = Product(*[Normal(1.0)] * m)
        start = Linear.zeros(X.shape[1], m, False)
        found = recipe.fit(
            squares, start, rows, prior=prior, solver=self.solver, key=key
        ).solution
        W = found.model.weight
        model = Linear(W, mean_y - mean_x @ W if self.intercept else None)
        variance = weighted_mean((Y - model(X)[0]) ** 2, w)
        variance = jnp.maximum(variance, jnp.finfo(Y.dtype).tiny)
        shared = Shared(model, 0.5 * jnp.log(variance))
        return eqx.tree_at(lambda s: s.model, found, shared)

    @property
    def takes_sparse(self) -> bool:
        """Whether rows may be a sparse matrix as it is."""
        return not self.family.multivariate

    def on_host(self, hyper: dict, batch: Batch) -> Solution | None:
        """The line by `lasso_path`, which looks at few of many columns.

        None for few columns, and where there is no absolute penalty.
        """
        threshold = float(hyper["alpha"] * hyper["l1_ratio"])
        sparse = is_sparse(batch.x)
        if sparse and not threshold > 0:
            written_out = batch._replace(x=dense(batch.x))
            return learn(self, key_of(0), hyper, written_out)
        few = batch.x.shape[1] < MIN_SCREENED_COLUMNS and not sparse
        if few or self.family.multivariate or not threshold > 0:
            return None
        solver = self.solver
        found = lasso_path(
            batch.x,
            batch.y,
            batch.w,
            alphas=np.atleast_1d(hyper["alpha"]).astype(float),
            l1_ratio=float(hyper["l1_ratio"]),
            fit_intercept=self.intercept,
            tolerance=max(float(solver.tolerance), MIN_GAP),
            max_sweeps=int(solver.max_sweeps),
        )
        W, b = found.coefs[0][:, None], found.intercepts
        here = batch.w > 0
        r = (batch.y - np.asarray(batch.x @ W)[:, 0] - b)[here]
        variance = float(batch.w[here] @ r**2 / batch.w[here].sum())
        log_scale = 0.5 * np.log(max(variance, np.finfo(float).tiny))
        line = Linear(jnp.asarray(W), jnp.asarray(b) if self.intercept else None)
        model = Shared(line, jnp.asarray([log_scale]))
        nothing = np.full(solver.trace_length(), np.nan)
        status = Status(*(part[0:1].reshape(()) for part in _parts(found.status)))
        return Solution(
            model, None, np.asarray(np.nan), Trace(nothing, nothing, nothing), status
        )

    def losses(self, phi: Solution, batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    def eta(self, phi: Solution, X: Float[Array, "n d"]) -> Float[Array, "n k"]:
        """(x·w + b, log σ)."""
        return phi.model(X)[0]

    def penalty(self, phi: Solution, hyper: dict, w: Any) -> tuple[Any, Any]:
        """The ridge part, in units of 1/σ², and the coefficients that are not 0."""
        ridge = hyper["alpha"] * (1 - hyper["l1_ratio"]) * w.sum()
        return ridge, phi.model.model.weight != 0

    def trimmed(self, phi: Solution, d: int) -> Solution:
        """φ with the weights of the first d columns."""
        return trim(phi, d)


def _parts(status: Status) -> tuple:
    return status.reason, status.steps, status.value


def elastic_net_learner(self: Any, y: np.ndarray) -> ElasticNetLearner:
    """The learner that the settings of a lasso or an elastic net describe."""
    solver = CoordinateDescent(as_whole(self.max_iter), as_real(self.tol))
    return ElasticNetLearner(normal_family(y), solver, bool(self.fit_intercept))


def elastic_net_strengths(
    self: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray
) -> np.ndarray:
    """Strengths to choose from, below the one that makes every coefficient zero."""
    return lasso_strengths(X, y, w, float(self._hyper()["l1_ratio"]))


class Lasso(RegressorMixin, LinearModel):
    r"""The lasso: y | x ~ N(x·w + b, σ²) with w ~ Laplace, so that many w are exactly 0.

    Minimises $\frac{1}{2\sum w}\sum_i w_i (y_i - x_i·w - b)^2 + α\lVert w\rVert_1$, as in
    scikit-learn, by coordinate descent to a duality gap of `tol`.

    Args:
        alpha: strength of the penalty, or "cv" to choose it by held-out nats.
        fit_intercept: whether there is a b.
        basis: columns to make of X first.
        alphas: the strengths to choose from; by default forty below the one that makes
            every coefficient zero.
        cv: the folds to choose by; 5 by default.
        max_iter: the most sweeps.
        tol: the duality gap, as a part of the loss at w = 0.

    Attributes:
        coef_: (d,) w; (m, d) for m outputs.
        intercept_: b.
        scale_: σ.
        alpha_: the strength that was chosen, where alpha="cv".

    Examples:
        >>> table = lk.data.diabetes()
        >>> model = lk.Lasso(alpha=1.0).fit(table.X, table.y)
        >>> print((model.coef_ != 0).sum(), "of", len(model.coef_))
        3 of 10
    """

    _uncertainty = "penalised"
    _allows_outputs = True
    _publish, _unit = publish_normal, normal_unit
    _refusal, _estimate = normal_refusal, normal_estimate
    _learner, _strengths = elastic_net_learner, elastic_net_strengths
    alpha: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        alpha: float | str = 1.0,
        *,
        fit_intercept: bool = True,
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
        max_iter: int = 10_000,
        tol: float = 1e-14,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        return self._fit(X, y, sample_weight)

    def _hyper(self) -> dict[str, np.ndarray]:
        return {"alpha": alpha_of(self.alpha), "l1_ratio": np.asarray(1.0)}


class ElasticNet(RegressorMixin, LinearModel):
    r"""The elastic net: the lasso's penalty and the ridge's, in a ratio.

    Minimises $\frac{1}{2\sum w}\sum_i w_i r_i^2
    + α\bigl(ρ\lVert w\rVert_1 + \frac{1-ρ}{2}\lVert w\rVert^2\bigr)$, as in scikit-learn.

    Args:
        alpha: strength of the penalty, or "cv" to choose it by held-out nats.
        l1_ratio: ρ, from 0 (a ridge) to 1 (the lasso).
        fit_intercept: whether there is a b.
        basis: columns to make of X first.
        alphas: the strengths to choose from.
        cv: the folds to choose by; 5 by default.
        max_iter: the most sweeps.
        tol: the duality gap, as a part of the loss at w = 0.

    Attributes:
        coef_: (d,) w; (m, d) for m outputs.
        intercept_: b.
        scale_: σ.
        alpha_: the strength that was chosen, where alpha="cv".

    Examples:
        >>> table = lk.data.diabetes()
        >>> model = lk.ElasticNet(alpha=0.01, l1_ratio=0.9).fit(table.X, table.y)
        >>> round(model.score(table.X, table.y), 2)
        0.49
    """

    _uncertainty = "penalised"
    _allows_outputs = True
    _publish, _unit = publish_normal, normal_unit
    _refusal, _estimate = normal_refusal, normal_estimate
    _learner, _strengths = elastic_net_learner, elastic_net_strengths
    alpha: Any
    l1_ratio: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        alpha: float | str = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
        max_iter: int = 10_000,
        tol: float = 1e-14,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        return self._fit(X, y, sample_weight)

    def _hyper(self) -> dict[str, np.ndarray]:
        if not 0 <= self.l1_ratio <= 1:
            raise InputError(f"l1_ratio is {self.l1_ratio}; give a number from 0 to 1.")
        ratio = np.asarray(float(self.l1_ratio))
        return {"alpha": alpha_of(self.alpha), "l1_ratio": ratio}
