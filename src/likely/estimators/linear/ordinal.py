r"""Ordinal regression: classes in an order, by proportional odds."""

import warnings
from typing import Any, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin

from likely.base.labels import frequency_distribution
from likely.base.learning import Problem, learn
from likely.base.order import natural_order
from likely.base.rows import Rows
from likely.base.settings import store
from likely.core.checks import InputError
from likely.estimators.linear.coefficients import coefficients_of, eta_at
from likely.estimators.linear.glm import SharedLearner, shared_solver
from likely.estimators.linear.inference.evidence import Evidence, joint_covariance
from likely.estimators.linear.inference.statistics import (
    likelihood_estimate,
    penalty_sentence,
)
from likely.estimators.linear.logistic import (
    CERTAIN_NATS,
    SEPARABLE_ALPHA,
    SeparationWarning,
)
from likely.estimators.linear.model import LinearModel, alpha_of
from likely.estimators.linear.penalty import ridge_strengths, weak_strengths
from likely.estimators.linear.separation import Separation, separation
from likely.estimators.linear.standardised import standardised
from likely.families import CumulativeLogit, Predictive
from likely.inference import Estimate
from likely.inference.sandwich import KINDS
from likely.solvers import Newton
from likely.typing import Key, Solution


class OrdinalRegression(ClassifierMixin, LinearModel):
    r"""Ordered classes: P(y ≤ level j | x) = σ(τ_j − x·w) with thresholds τ₁ < τ₂ < ...

    The cumulative logit model, also called proportional odds: one unit of $x_i$ multiplies
    the odds of a higher level by $e^{w_i}$, wherever the scale is cut. Minimises
    $\sum_i -\log p(y_i \mid x_i) + \frac{α}{2}\lVert w\rVert^2$, without penalty by default; the
    thresholds are never penalised.

    Args:
        alpha: strength of the penalty, w ~ N(0, 1/α), or "cv" to choose it by held-out
            nats; "auto" chooses among strengths that are safe also where the levels
            can be told apart without an error.
        order: the levels from lowest to highest. Without it numbers are ordered by size,
            a categorical of pandas by its own order, and words where their order is known
            ("low", "medium", "high"); other words are refused.
        basis: columns to make of X first.
        alphas: the strengths to choose from.
        cv: the folds to choose by; 5 by default.
        max_iter: the step limit.
        tol: stop when √(gᵀH⁻¹g) is smaller, g the gradient in nats per unit of weight and
            H the Hessian: whatever the units of the columns.

    Attributes:
        classes_: the labels, sorted as in all classifiers: the columns of `predict_proba`.
        levels_: the labels from lowest to highest.
        coef_: (d,) w.
        thresholds_: (c−1,) τ between neighbouring levels.
        separation_: the sentence about levels that can be told apart, or None.
        n_iter_: steps taken.
        status_: how the solver ended, a sentence.

    Examples:
        >>> X, y = np.arange(9.0)[:, None], np.array([0, 0, 1, 0, 1, 2, 1, 2, 2])
        >>> print(lk.OrdinalRegression().fit(X, y).predict([[0.0], [8.0]]))
        [0 2]
    """

    _uncertainty = "none"
    alpha: Any
    order: Any
    max_iter: int
    tol: float
    levels_: np.ndarray
    coef_: np.ndarray
    thresholds_: np.ndarray
    separation_: str | None

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        alpha: float | str = 0.0,
        *,
        order: Any = None,
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
        max_iter: int = 200,
        tol: float = 1e-10,
    ):
        store(self, locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # where the classes have no order
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        return self._fit(X, y, sample_weight)

    # Fitting ---------------------------------------------------------------------------

    def _rows(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        """Checked rows; y as numbers of the levels in their order."""
        given = self.order
        categories = getattr(y, "cat", y)
        if given is None and getattr(categories, "ordered", False):
            given = list(categories.categories)
        rows = super()._rows(X, y, sample_weight)
        order = ordered_levels(self.classes_, given)
        self.levels_ = self.classes_[order]
        return rows._replace(y=np.argsort(order)[rows.y.astype(int)].astype(np.float64))

    def _learner(self, y: np.ndarray) -> SharedLearner:
        c = len(self.classes_)
        solver = shared_solver(self.n_features_in_ + c, self.max_iter, self.tol)
        return SharedLearner(CumulativeLogit(c), solver)

    def _hyper(self) -> dict[str, np.ndarray]:
        return {"alpha": alpha_of(self.alpha, ("cv", "auto"))}

    def _strengths(self, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        if self.alpha == "auto":
            return weak_strengths(X, w)
        return ridge_strengths(X, w, per_weight=False)

    def _revised(self, phi: Any, key: Key, hyper: dict, problem: Problem) -> Solution:
        """Where a direction tells levels apart there is no maximum: warn, and penalise."""
        self.separation_, batch = None, problem.batch
        if hyper["alpha"] > 0:
            return phi
        present = batch.w > 0
        X, y = batch.x[present], batch.y[present].astype(int)
        log_prob = Predictive(self.learner_.family, eta_at(phi, X)).log_prob(y)
        if -log_prob.max() > CERTAIN_NATS and np.isfinite(log_prob).all():
            return phi
        found = level_separation(X, y, len(self.classes_))
        if found is None:
            return phi
        alpha = SEPARABLE_ALPHA * batch.w.sum()
        names = [self._column_names()[j] for j in found.columns[:10]]
        by = f", by {', '.join(names)}" if names else ""
        self.separation_ = (
            f"a direction tells levels apart without an error{by}, so the likelihood has no "
            "maximum and larger weights are always likelier."
        )
        warnings.warn(
            f"{self.separation_} The fit uses alpha = {alpha:.3g}, and its probabilities "
            'are too certain: give alpha="auto" (a penalty by held-out rows), or alpha '
            "yourself.",
            SeparationWarning,
            stacklevel=5,
        )
        exact = SharedLearner(self.family_, Newton(max_steps=500, tolerance=1e-14))
        exact = standardised(exact, batch.x, batch.w, raw_penalty=False)
        return learn(exact, key, {"alpha": np.asarray(alpha)}, batch)

    def _publish(self, phi: Any) -> None:
        weight, bias, log_gaps = coefficients_of(phi)
        assert bias is not None
        self.coef_ = weight[:, 0]
        self.thresholds_ = np.r_[0.0, np.cumsum(np.exp(log_gaps))] - bias[0]

    # Prediction ------------------------------------------------------------------------

    def _at(self, x: Any) -> Predictive:
        """p(y | x) at the fitted parameters, classes in the order of `classes_`."""
        dist = Predictive(self.family_, eta_at(self.phi_, x), self.levels_)
        order = np.argsort(self.levels_)
        if (order == np.arange(len(order))).all():
            return dist
        return frequency_distribution(dist.probs[:, order], self.classes_)

    # Inference -------------------------------------------------------------------------

    def _refusal(self, errors: str) -> str | None:
        separated = getattr(self, "separation_", None)
        if separated:
            return f"{separated} So there are no standard errors."
        if errors in KINDS:
            return (
                f"errors is {errors!r}, which is for models of a mean; OrdinalRegression "
                'has "model" and "bootstrap".'
            )
        return penalty_sentence(self)

    def _notes(self) -> list[str]:
        levels = " < ".join(map(str, self.levels_))
        return [f"levels {levels}; log-odds of a higher level, thresholds below"]

    def _unit(self) -> CumulativeLogit:
        return self.family_

    def _coefficient_names(self) -> list[str]:
        levels = list(map(str, self.levels_))
        between = [f"{a}|{b}" for a, b in zip(levels[:-1], levels[1:], strict=True)]
        return self._column_names() + between

    def _table_order(self, phi: Any) -> np.ndarray:
        weight, bias, log_gaps = coefficients_of(phi)
        assert bias is not None
        thresholds = np.r_[0.0, np.cumsum(np.exp(log_gaps))] - bias[0]
        return np.r_[weight[:, 0], thresholds]

    def _estimate(self, evidence: Evidence) -> Estimate:
        """Of (w, τ): from the information about (b, w, log-gaps), by the delta method."""
        log_gaps, d = coefficients_of(self.phi_).shared, evidence.p - 1
        C = joint_covariance(self.family_, evidence, log_gaps, robust=False)
        q, c = len(C), len(self.classes_)
        J = np.zeros((q, q))
        J[:d, 1 : d + 1] = np.eye(d)
        J[d:, 0] = -1.0
        J[d + 1 :, d + 1 :] = np.tril(np.tile(np.exp(log_gaps), (c - 2, 1)))
        return likelihood_estimate(
            self,
            evidence,
            J @ C @ J.T,
            slopes=np.arange(q) < d,
            n_counted=q,
            df_residual=evidence.total - q,
        )


def ordered_levels(classes: np.ndarray, order: Any = None) -> np.ndarray:
    """Indices into sorted labels, from the lowest level to the highest.

    Args:
        classes: the labels that occur, sorted.
        order: labels from lowest to highest, or None.
    """
    labels = classes.tolist()
    if order is not None:
        order = list(order)
        if len(set(order)) < len(order):
            raise InputError(f"order is {order}; name each level once.")
        missing = [label for label in labels if label not in order]
        if missing:
            raise InputError(f"y has {missing[0]!r}, which is not in order ({order}).")
        return np.argsort([order.index(label) for label in labels])
    if len(labels) == 2 or not all(isinstance(label, str) for label in labels):
        return np.arange(len(labels))
    found = natural_order(labels)
    if found is None:
        shown = ", ".join(map(repr, labels[:5]))
        raise InputError(
            f"the order of the levels {shown} is not known; give order=[...], from lowest "
            "to highest, or use LogisticRegression for classes without an order."
        )
    return np.array([labels.index(label) for label in found])


def level_separation(X: np.ndarray, codes: np.ndarray, c: int) -> Separation | None:
    """A direction and thresholds that put every row between those of its level.

    Each row is on the right side of the threshold below its level and of that above it:
    a separation of two classes by columns of X and one column for each threshold.
    """
    d = X.shape[1]
    above, below = np.flatnonzero(codes > 0), np.flatnonzero(codes < c - 1)
    rows, cut = np.r_[above, below], np.r_[codes[above] - 1, codes[below]]
    side = np.r_[np.ones(len(above)), np.zeros(len(below))]
    expanded = np.column_stack([X[rows] - X.mean(0), np.eye(c - 1)[cut]])
    found = separation(expanded, side, 2, intercept=False)
    if found is None:
        return None
    return found._replace(columns=[j for j in found.columns if j < d])
