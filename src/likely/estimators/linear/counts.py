r"""Regression of counts: Poisson and negative binomial, with exposure."""

from abc import ABC
from typing import Any, no_type_check

import numpy as np

from likely.core.checks import InputError, check_finite
from likely.estimators.linear.evidence import Evidence, joint_covariance
from likely.estimators.linear.glm import DispersedLearner, LinearLearner
from likely.estimators.linear.model import alpha_of, parts_of
from likely.estimators.linear.penalty import ridge_strengths
from likely.estimators.linear.regressor import AbstractLinearRegressor
from likely.families import NegativeBinomial, Poisson, Predictive
from likely.inference import Estimate
from likely.solvers import Newton
from likely.typing import Batch


class AbstractLogRegressor(AbstractLinearRegressor, ABC):
    """log E[y | x] = x·w + b + log(exposure), or plus an offset.

    A metadata router passes `exposure` and `offset` where it is asked to
    (`set_fit_request(exposure=True)`).
    """

    alpha: Any
    max_iter: int
    tol: float

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        offset: Any = None,
    ):
        """Fit by maximum likelihood (with a penalty: maximum a posteriori).

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts; 2 is "this row twice".
            exposure: (n,) how long or how much each row was watched; E[y] is in
                proportion to it.
            offset: (n,) a known part of log E[y]; log(exposure) is one.
        """
        hyper = self._hyper()
        batch = self._batch(X, y, sample_weight)
        known = _offset(len(batch.w), exposure, offset, batch.w)
        return self._learn(hyper, batch._replace(x=(batch.x, known)))

    def predict(
        self, X: Any, *, exposure: Any = None, offset: Any = None
    ) -> np.ndarray:
        """E[y | x] of each row, at the fitted parameters."""
        return self._plugged(self._known_rows(X, exposure, offset)).mean

    def predict_dist(
        self,
        X: Any,
        *,
        exposure: Any = None,
        offset: Any = None,
        uncertainty: str = "auto",
    ) -> Predictive:
        """p(y | x) for each row.

        Args:
            X: (n, d) inputs.
            exposure: of each row; 1 by default.
            offset: of each row; 0 by default.
            uncertainty: of the parameters, as in `LinearRegression.predict_dist`.
        """
        return self._predictive(self._known_rows(X, exposure, offset), uncertainty)

    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.9,
        *,
        exposure: Any = None,
        offset: Any = None,
        uncertainty: str = "auto",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central predictive interval."""
        rows = self._known_rows(X, exposure, offset)
        return self._predictive(rows, uncertainty).interval(coverage)

    def nll(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        offset: Any = None,
    ) -> float:
        """The mean negative log-likelihood of (X, y), in nats per unit of weight."""
        rows = self._known_rows(X, exposure, offset)
        log_prob = self._plugged(rows).log_prob(np.asarray(y))
        return float(-np.average(log_prob, weights=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _known_rows(self, X: Any, exposure: Any, offset: Any):
        rows = self._rows(X)
        return rows, _offset(len(rows), exposure, offset)

    def _hyper(self) -> dict[str, np.ndarray]:
        return {"alpha": alpha_of(self.alpha)}

    def _strengths(self, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        return ridge_strengths(X, w, per_weight=True)

    def _publish(self, phi: Any) -> None:
        weight, bias, tail = parts_of(phi)
        self.coef_ = weight[:, 0]
        self.intercept_ = 0.0 if bias is None else float(bias[0])
        if len(tail):
            self.concentration_ = float(np.exp(tail[0]))

    def _solver(self) -> Newton:
        return Newton(max_steps=self.max_iter, tolerance=self.tol)


class AbstractCountRegressor(AbstractLogRegressor, ABC):
    """Counts, by a log link.

    Other numbers of at least 0 are taken as well, for their mean (quasi-likelihood), but
    they have no probability.
    """

    concentration_: float

    def _check(self, batch: Batch) -> None:
        y, here = np.asarray(batch.y), batch.w > 0
        bad = here & ~(np.isfinite(y) & (y >= 0))
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"y has {y[row]} in row {row}, but {type(self).__name__} needs counts "
                "(0, 1, 2, ...). Use LinearRegression for numbers of both signs."
            )


class PoissonRegressor(AbstractCountRegressor):
    r"""Counts: y | x ~ Poisson(e^{x·w + b}), times an exposure.

    Minimises the mean of $-\log p$ plus $\frac{α}{2}\lVert w\rVert^2$ (scikit-learn's scale),
    without penalty by default, by Newton's method.

    Args:
        alpha: strength of the penalty, or "cv" to choose it by held-out nats.
        fit_intercept: whether there is a b.
        basis: columns to make of X first.
        alphas: the strengths to choose from.
        cv: the folds to choose by; 5 by default.
        max_iter: the step limit.
        tol: the largest entry of the gradient, in nats per unit of weight.

    Attributes:
        coef_: (d,) w.
        intercept_: b.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        alpha: float | str = 0.0,
        *,
        fit_intercept: bool = True,
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
        max_iter: int = 100,
        tol: float = 1e-10,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.basis = basis
        self.alphas = alphas
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol

    def _learner(self, y: np.ndarray) -> LinearLearner:
        return LinearLearner(Poisson(), self._solver(), bool(self.fit_intercept), True)

    def _unit(self) -> Poisson:
        return Poisson()

    def _estimate(self, evidence: Evidence) -> Estimate:
        own, nothing = self._likelihoods()
        p = evidence.p
        return Estimate(
            self._table_order(self.phi_),
            evidence.unscaled(),
            slopes=np.arange(p) >= self._first,
            total=evidence.total,
            df_residual=evidence.df_residual,
            log_likelihood=own,
            null_log_likelihood=nothing,
            n_counted=p,
            condition=evidence.condition(),
        )


class NegativeBinomialRegressor(AbstractCountRegressor):
    r"""Counts with extra variance: mean μ = e^{x·w + b}, variance μ + μ²/r, r learned.

    Minimises the mean of $-\log p$ plus $\frac{α}{2}\lVert w\rVert^2$ over w, b and r, without
    penalty by default. `summary()` reports the dispersion 1/r beside the coefficients.

    Args:
        alpha: strength of the penalty, or "cv" to choose it by held-out nats.
        fit_intercept: whether there is a b.
        basis: columns to make of X first.
        alphas: the strengths to choose from.
        cv: the folds to choose by; 5 by default.
        max_iter: the step limit.
        tol: the largest entry of the gradient, in nats per unit of weight.

    Attributes:
        coef_: (d,) w.
        intercept_: b.
        concentration_: r.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        alpha: float | str = 0.0,
        *,
        fit_intercept: bool = True,
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
        max_iter: int = 100,
        tol: float = 1e-10,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.basis = basis
        self.alphas = alphas
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol

    def _learner(self, y: np.ndarray) -> DispersedLearner:
        family, unit = NegativeBinomial(), NegativeBinomial(1.0)
        return DispersedLearner(
            family, unit, "concentration", self._solver(), bool(self.fit_intercept)
        )

    def _unit(self) -> NegativeBinomial:
        return NegativeBinomial(self.concentration_)

    def _coefficient_names(self) -> list[str]:
        return [*super()._coefficient_names(), "dispersion 1/r"]

    def _table_order(self, phi: Any) -> np.ndarray:
        return np.r_[super()._table_order(phi), np.exp(-parts_of(phi).tail)]

    def _estimate(self, evidence: Evidence) -> Estimate:
        """Of (B, log r) from the observed information, then of 1/r by the delta method."""
        own, nothing = self._likelihoods()
        p, u = evidence.p, np.log(self.concentration_)
        C = joint_covariance(NegativeBinomial(), evidence, u, robust=False)
        tail = float(C[-1, -1])
        scale = np.r_[np.ones(p), -np.exp(-u)]
        place = np.arange(p + 1)
        return Estimate(
            self._table_order(self.phi_),
            C * np.outer(scale, scale),
            slopes=(place >= self._first) & (place < p),
            total=evidence.total,
            df_residual=evidence.df_residual,
            log_likelihood=own,
            null_log_likelihood=nothing,
            n_counted=p + 1,
            condition=evidence.condition(),
            tail_variance=tail,
        )


def _offset(
    n: int, exposure: Any, offset: Any, w: np.ndarray | None = None
) -> np.ndarray:
    """log(exposure) + offset of each row, checked."""
    found = np.zeros(n)
    for name, value in (("exposure", exposure), ("offset", offset)):
        if value is None:
            continue
        value = np.broadcast_to(np.asarray(value, float), (n,))
        check_finite(name, value, w)
        here = np.ones(n, bool) if w is None else w > 0
        if name == "exposure":
            if not (value[here] > 0).all():
                row = int(np.argmax(here & ~(value > 0)))
                raise InputError(
                    f"exposure is {value[row]} in row {row}; give numbers above 0."
                )
            value = np.log(np.where(here, value, 1.0))
        found = found + np.where(here, value, 0.0)
    return found
