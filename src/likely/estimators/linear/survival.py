r"""Survival regression: times until an event, some of them censored."""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from likely.base.predictor import rows_that_count
from likely.base.rows import Rows, fill_absent_targets
from likely.base.settings import one_of, store
from likely.core.checks import InputError
from likely.estimators.linear.coefficients import coefficients_of
from likely.estimators.linear.glm import SharedLearner, shared_solver
from likely.estimators.linear.inference.evidence import Evidence, joint_covariance
from likely.estimators.linear.inference.statistics import (
    likelihood_estimate,
    penalty_sentence,
)
from likely.estimators.linear.model import LinearModel, alpha_hyper
from likely.estimators.linear.penalty import ridge_strengths
from likely.evaluate.concordance import concordance
from likely.families import Censored, LogNormal, Weibull
from likely.inference import Estimate
from likely.inference.sandwich import KINDS

FAMILIES = {
    "weibull": lambda: Weibull(),
    "lognormal": lambda: LogNormal(),
    "exponential": lambda: Weibull(1.0),
}
"""The families of times; each has log-times of one shape, moved by x·w."""
SHARED_NAMES = {"weibull": "log shape", "lognormal": "log scale"}


class SurvivalRegression(RegressorMixin, LinearModel):
    r"""Times until an event: log T = x·w + b + noise, the accelerated failure time model.

    One unit of $x_i$ makes times $e^{w_i}$ times as long (the time ratio). Rows whose event
    had not happened when the watch ended (`event` is false) count with P(T > t). Minimises
    the mean of $-\log p$ plus $\frac{α}{2}\lVert w\rVert^2$, without penalty by default.

    Args:
        family: "weibull" (its hazard rises or falls as a power of time; it has proportional
            hazards too), "lognormal" (the hazard rises, then falls) or "exponential" (the
            hazard is constant).
        alpha: strength of the penalty, or "cv" to choose it by held-out nats.
        fit_intercept: whether there is a b.
        basis: columns to make of X first.
        alphas: the strengths to choose from.
        cv: the folds to choose by; 5 by default.
        max_iter: the step limit.
        tol: stop when √(gᵀH⁻¹g) is smaller, g the gradient in nats per unit of weight and
            H the Hessian: whatever the units of the columns.

    Attributes:
        coef_: (d,) w, on the scale of log T.
        intercept_: b.
        shape_: the shape k of the Weibull distribution, or the deviation σ of log T.
        n_events_: the total weight of rows with an event.

    Examples:
        >>> X, time = np.repeat([[0.0], [1.0]], 10, axis=0), np.tile([1.0, 2.0, 3.0, 4.0], 5)
        >>> event = np.tile([1, 1, 1, 0], 5)  # some are censored
        >>> print(lk.SurvivalRegression().fit(X, time, event=event).predict(X[:1]).round(1))
        [2.5]
    """

    _uncertainty = "none"
    _positive_targets = True
    _hyper = alpha_hyper
    family: str
    alpha: Any
    fit_intercept: bool
    max_iter: int
    tol: float
    shape_: float
    n_events_: float

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        family: str = "weibull",
        *,
        alpha: float | str = 0.0,
        fit_intercept: bool = True,
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
        max_iter: int = 100,
        tol: float = 1e-10,
    ):
        store(self, locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # the score is a concordance, not R²
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, event: Any = None):  # noqa: D417
        """Fit by maximum likelihood (with a penalty: maximum a posteriori).

        Args:
            X: (n, d) inputs.
            y: (n,) times above 0; a negative time says what `event` says otherwise:
                until then there was no event.
            sample_weight: how often each row counts; 2 is "this row twice", 0
                "absent", whatever the row contains.
            event: (n,) whether the event happened at that time (1, true), or had not
                happened until then (0, false).
        """
        return self._fit(X, signed_times(y, event, sample_weight), sample_weight)

    # Fitting ---------------------------------------------------------------------------

    def _learner(self, y: np.ndarray) -> SharedLearner:
        family = Censored(FAMILIES[one_of("family", self.family, FAMILIES)]())
        solver = shared_solver(self.n_features_in_ + 2, self.max_iter, self.tol)
        return SharedLearner(family, solver, bool(self.fit_intercept), per_weight=True)

    def _rows(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        """Checked rows; without an event there is nothing to learn from."""
        rows = super()._rows(X, y, sample_weight)
        present = rows.present()
        self.n_events_ = float(present.w[present.y > 0].sum())
        if not self.n_events_:
            raise InputError(
                "no row has an event, so nothing is known about how long it takes."
            )
        return rows

    def _strengths(self, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        return ridge_strengths(X, w, per_weight=True)

    def _publish(self, phi: Any) -> None:
        weight, bias, shared = coefficients_of(phi)
        self.coef_ = weight[:, 0]
        self.intercept_ = 0.0 if bias is None else float(bias[0])
        self.shape_ = float(np.exp(shared[0])) if len(shared) else 1.0

    # Prediction ------------------------------------------------------------------------

    def predict_survival(self, X: Any, times: Any) -> np.ndarray:
        """(n, m) probabilities that nothing has happened until each of m times.

        Args:
            X: (n, d) inputs.
            times: (m,) times, the same for all rows.
        """
        dist, times = self.predict_dist(X), np.atleast_1d(np.asarray(times, float))
        return np.stack([1 - dist.cdf(time) for time in times], axis=1)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, event: Any = None):  # noqa: D417
        """Harrell's concordance of the median times: ½ is no order, 1 a perfect one.

        Args:
            X: (n, d) inputs.
            y: (n,) times.
            sample_weight: how often each row counts.
            event: (n,) whether the event happened.
        """
        check_is_fitted(self)
        X, y, w, known = rows_that_count(X, y, sample_weight, {"event": event})
        times = signed_times(y, known["event"], None)
        return concordance(np.abs(times), self.predict_dist(X).median, times > 0, w)

    def nll(self, X: Any, y: Any, sample_weight: Any = None, *, event: Any = None):  # noqa: D417
        """The mean of −log p over rows, −log P(T > t) where there was no event.

        Args:
            X: (n, d) inputs.
            y: (n,) times.
            sample_weight: how often each row counts.
            event: (n,) whether the event happened.
        """
        X, y, w, known = rows_that_count(X, y, sample_weight, {"event": event})
        times = signed_times(y, known["event"], None)
        return float(-np.average(self.predict_dist(X).log_prob(times), weights=w))

    # Inference -------------------------------------------------------------------------

    def _refusal(self, errors: str) -> str | None:
        if errors in KINDS:
            return (
                f"errors is {errors!r}, which is for models of a mean; SurvivalRegression "
                'has "model" and "bootstrap".'
            )
        return penalty_sentence(self)

    def _notes(self) -> list[str]:
        return [
            f"{self.n_events_:g} events; e^coef is the time ratio: how many times as long "
            "it takes"
        ]

    def _unit(self) -> Censored:
        return self.family_

    def _coefficient_names(self) -> list[str]:
        shared = SHARED_NAMES.get(self.family)
        return super()._coefficient_names() + ([shared] if shared else [])

    def _table_order(self, phi: Any) -> np.ndarray:
        return np.r_[super()._table_order(phi), coefficients_of(phi).shared]

    def _estimate(self, evidence: Evidence) -> Estimate:
        """Of (b, w, u), from the observed information."""
        u, p = coefficients_of(self.phi_).shared, evidence.p
        C = joint_covariance(self.family_, evidence, u, robust=False)
        column = np.arange(len(C))
        return likelihood_estimate(
            self,
            evidence,
            C,
            slopes=(column >= self._first) & (column < p),
            n_counted=len(C),
            df_residual=evidence.total - len(C),
        )


def signed_times(y: Any, event: Any, w: Any) -> Any:
    """Times, negative where the event had not happened; y itself without `event`.

    Args:
        y: (n,) times.
        event: (n,) truth values or 0 and 1, or None.
        w: (n,) weights, or None; rows of weight 0 may hold anything.
    """
    if event is None:
        return y
    if w is not None:
        w = np.asarray(w)
        y, event = fill_absent_targets(y, w), fill_absent_targets(event, w)
    y, happened = np.asarray(y, float), np.asarray(event)
    if happened.shape != y.shape:
        raise InputError(
            f"event has shape {happened.shape}; give one for each of {len(y)} rows."
        )
    bad = ~np.isin(happened, (0, 1))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"event is {happened[row]} in row {row}; give 1 (it happened) or 0."
        )
    negative = y < 0
    if negative.any():
        row = int(np.argmax(negative))
        raise InputError(
            f"y is {y[row]:g} in row {row}; with `event`, give times above 0."
        )
    return np.where(happened.astype(bool), y, -y)
