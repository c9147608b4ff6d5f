r"""Quantile regression: the line below which a share τ of the observations lies."""

from typing import Any, ClassVar, no_type_check

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.base import RegressorMixin

from likely.base.settings import store
from likely.core.rows import weighted_mean
from likely.estimators.linear.absolute import MAX_STEPS, least_pinball
from likely.estimators.linear.glm import trim
from likely.estimators.linear.inference.evidence import Evidence, quantile_covariance
from likely.estimators.linear.inference.uncertainty import AbstractLinearLearner
from likely.estimators.linear.location import location_estimate, publish_location
from likely.estimators.linear.model import LinearModel
from likely.families import AbstractFamily, AsymmetricLaplace, Laplace
from likely.inference import Estimate
from likely.inference.sandwich import KINDS
from likely.models import Linear, Shared
from likely.typing import GAP, STEP_LIMIT, Batch, Key, Solution, Status, Trace


class AbsoluteLearner(AbstractLinearLearner):
    """The line of least pinball loss, then twice the mean loss as the scale."""

    intercept: bool = eqx.field(static=True)
    family: AbstractFamily = Laplace()
    tau: float = eqx.field(static=True, default=0.5)
    any_coordinates: ClassVar[bool] = True

    def learn(self, key: Key, hyper: dict, batch: Batch) -> Solution:
        """The line with its learned scale."""
        line = Linear.zeros(batch.x.shape[1], 1, self.intercept)
        A = line.design(batch.x)
        b, gap, steps = least_pinball(A, batch.y, batch.w, self.tau)
        line = line.with_coefficients(b[:, None])
        r = batch.y - line(batch.x)[0][:, 0]
        size = weighted_mean(jnp.abs(r) + (2 * self.tau - 1) * r, batch.w)
        size = jnp.maximum(size, jnp.sqrt(jnp.finfo(size.dtype).tiny))
        reason = jnp.where(gap <= 1e-6, GAP, STEP_LIMIT)
        blank = jnp.full(1, jnp.nan)
        loss = 1 + jnp.log(size / (2 * self.tau * (1 - self.tau)))
        return Solution(
            Shared(line, jnp.log(size)[None]),
            None,
            loss,
            Trace(blank, blank, blank),
            Status(reason, jnp.minimum(steps, MAX_STEPS), gap),
        )

    def losses(self, phi: Solution, batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    def eta(self, phi: Solution, X: Float[Array, "n d"]) -> Float[Array, "n 2"]:
        """(x·w + b, log s)."""
        return phi.model(X)[0]

    def penalty(self, phi: Solution, hyper: dict, w: Any) -> tuple[Any, None]:
        """There is none."""
        return 0.0, None

    def trimmed(self, phi: Solution, d: int) -> Solution:
        """φ with the weights of the first d columns."""
        return trim(phi, d)


def quantile_refusal(self: Any, errors: str) -> str | None:
    """Why errors of this kind are refused, or None."""
    if errors not in KINDS:
        return None
    return (
        f"the errors of {type(self).__name__} assume nothing about the variance already; "
        'use errors="self" or "bootstrap".'
    )


def quantile_estimate(self: Any, evidence: Evidence) -> Estimate:
    """The statistics, from the density of the residuals at 0."""
    p = evidence.p
    C = np.zeros((p + 1, p + 1))
    C[:p, :p] = quantile_covariance(evidence, self.learner_.tau)
    C[p, p] = 1 / evidence.total
    return location_estimate(self, evidence, C)


def no_hyper(self: Any) -> dict[str, np.ndarray]:
    """There are no numeric hyper-parameters."""
    return {}


class LADRegressor(RegressorMixin, LinearModel):
    r"""Least absolute deviations: y | x ~ Laplace(x·w + b, s), so x·w + b is a median.

    Minimises $\sum_i w_i |y_i - x_i·w - b|$ exactly, by an interior-point method; s is the
    mean absolute residual. Standard errors are those of the median, from the density of
    the residuals at 0, and do not take the Laplace distribution for granted.

    Args:
        fit_intercept: whether there is a b.
        basis: columns to make of X first.

    Attributes:
        coef_: (d,) w.
        intercept_: b.
        scale_: s.

    Examples:
        >>> X, y = np.arange(10.0)[:, None], 2 * np.arange(10.0)
        >>> y[4] = 100.0  # an outlier
        >>> print(lk.LADRegressor().fit(X, y).coef_.round(1))
        [2.]
    """

    _publish, _hyper = publish_location, no_hyper
    _refusal, _estimate = quantile_refusal, quantile_estimate
    scale_: float
    fit_intercept: bool

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, *, fit_intercept: bool = True, basis: Any = None):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        return self._fit(X, y, sample_weight)

    def _learner(self, y: np.ndarray) -> AbsoluteLearner:
        return AbsoluteLearner(bool(self.fit_intercept))

    def _unit(self) -> Laplace:
        return Laplace(self.scale_)


class QuantileRegressor(RegressorMixin, LinearModel):
    r"""Quantile regression: a share τ of the observations lies below x·w + b.

    Minimises $\sum_i w_i ρ_τ(y_i - x_i·w - b)$, $ρ_τ(r) = \max(τr, (τ-1)r)$, exactly, by an
    interior-point method: maximum likelihood of the asymmetric Laplace distribution, whose
    τ-quantile is x·w + b. Standard errors come from the density of the residuals at 0 and
    do not take that distribution for granted. There is no penalty.

    Args:
        quantile: τ, between 0 and 1.
        fit_intercept: whether there is a b.
        basis: columns to make of X first.

    Attributes:
        coef_: (d,) w.
        intercept_: b.
        scale_: s, twice the mean pinball loss.

    Examples:
        >>> X, y = np.zeros((9, 1)), np.arange(9.0)
        >>> print(lk.QuantileRegressor(quantile=0.75).fit(X, y).predict(X[:1]).round(1))
        [6.]
    """

    _publish, _hyper = publish_location, no_hyper
    _refusal, _estimate = quantile_refusal, quantile_estimate
    scale_: float
    quantile: float
    fit_intercept: bool

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self, *, quantile: float = 0.5, fit_intercept: bool = True, basis: Any = None
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        return self._fit(X, y, sample_weight)

    def _learner(self, y: np.ndarray) -> AbsoluteLearner:
        family = AsymmetricLaplace(self.quantile)
        return AbsoluteLearner(bool(self.fit_intercept), family, float(self.quantile))

    def _unit(self) -> AsymmetricLaplace:
        return AsymmetricLaplace(float(self.quantile), self.scale_)

    def _mean(self, X: Any) -> np.ndarray:
        """The τ-quantile of y given x: what the model is about."""
        return self._plug_in(X).eta[:, 0]
