r"""Several predictors as one: a mixture of their distributions.

$p(y \mid x) = \sum_j π_j p_j(y \mid x)$. `Ensemble` takes π as it is given (all equal by
default); `Stacking` chooses it so that held-out observations are most likely. A mixture is
never worse than the mean of its members' log-likelihoods (Jensen), and by the held-out
likelihood the best mixture is never worse than the best member.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier

from likely.base.labels import class_family
from likely.base.predictor import Predictor
from likely.base.rows import Rows
from likely.core.checks import InputError
from likely.evaluate.cross_validation import Splits, check_folds, cv_splits
from likely.families import Mixed, mix
from likely.selection.members import (
    distribution_of,
    error_scale,
    fitted,
    is_point_regressor,
)


class AbstractMixture(Predictor, ABC):
    """Members and their weights; you write `_weigh`."""

    _needs_folds: ClassVar[bool] = False
    """Whether held-out likelihoods are needed whatever the members are."""
    estimators: Any
    cv: Any

    @abstractmethod
    def _weigh(self, held_out: np.ndarray | None, w: np.ndarray) -> np.ndarray:
        """π from (n, m) held-out log-likelihoods, where they are needed."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit the members, and weigh them.

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts; every member has to take it.
        """
        names, members = _named(self.estimators)
        if len({bool(is_classifier(m)) for m in members}) > 1:
            raise InputError("some members are classifiers and some are not.")
        rows = self._rows(X, y, sample_weight)
        if self._predicts_classes:
            rows = rows._replace(y=self.classes_[rows.y.astype(int)])
        X, y, w = rows.present()
        given = None if sample_weight is None else w
        held_out, scales = None, np.ones(len(members))
        if self._needs_folds or any(is_point_regressor(m) for m in members):
            splits = self._splits(rows)
            held_out, scales = self._held_out(members, splits, X, y, given)
        self.scales_ = scales
        self.weights_ = self._weigh(held_out, w)
        self.names_ = list(names)
        self.members_ = [fitted(m, X, y, given) for m in members]
        return self

    def predict_dist(self, X: Any) -> Any:
        """The mixture of the members' distributions."""
        X = self._inputs(X)
        classes = getattr(self, "classes_", None)
        parts = [
            distribution_of(member, X, classes, scale)
            for member, scale in zip(self.members_, self.scales_, strict=True)
        ]
        if classes is None:
            return Mixed.of(parts, self.weights_)
        etas = np.stack([part.eta for part in parts])
        return mix(class_family(len(classes)), etas, self.weights_, classes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of classes, R² of numbers."""
        from sklearn.metrics import accuracy_score, r2_score

        judge = accuracy_score if self._predicts_classes else r2_score
        return float(judge(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        first = _named(self.estimators)[1][0].__sklearn_tags__()
        tags.estimator_type = first.estimator_type
        tags.classifier_tags = first.classifier_tags
        tags.regressor_tags = first.regressor_tags
        return tags

    @property
    def _predicts_classes(self) -> bool:
        return bool(is_classifier(_named(self.estimators)[1][0]))

    def _splits(self, rows: Rows) -> Splits:
        """The folds, as indices among the present rows."""
        classes = self._predicts_classes
        splits = cv_splits(self.cv, rows.y, rows.X, classes=classes, w=rows.w)
        check_folds(splits, rows.w)
        here, place = rows.is_present, np.cumsum(rows.is_present) - 1
        return [(place[a[here[a]]], place[b[here[b]]]) for a, b in splits]

    def _held_out(
        self,
        members: Sequence[Any],
        splits: Splits,
        X: np.ndarray,
        y: np.ndarray,
        w: Any,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, m) held-out log-likelihoods, and the error scales of point regressors."""
        classes = self.classes_ if self._predicts_classes else None
        row_w = np.ones(len(y)) if w is None else w
        log_probs = np.full((len(y), len(members)), np.nan)
        scales = np.ones(len(members))
        for j, member in enumerate(members):
            folds = [
                (out, fitted(member, X[train], y[train], None if w is None else w[train]))
                for train, out in splits
            ]  # fmt: skip
            if is_point_regressor(member):
                scales[j] = error_scale(
                    (y[out], model.predict(X[out]), row_w[out]) for out, model in folds
                )
            for out, model in folds:
                dist = distribution_of(model, X[out], classes, scales[j])
                log_probs[out, j] = dist.log_prob(y[out])
        if np.isnan(log_probs).any():
            raise InputError("the folds of cv have to hold out every row once.")
        return log_probs, scales


def _named(estimators: Any) -> tuple[list[str], list[Any]]:
    """The names and the members."""
    if not isinstance(estimators, Sequence) or not len(estimators):
        raise InputError("estimators has to be a list of one or more predictors.")
    pairs = [e if isinstance(e, tuple) else (type(e).__name__, e) for e in estimators]
    return [str(name) for name, _ in pairs], [member for _, member in pairs]
