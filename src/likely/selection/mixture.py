r"""Several predictors as one: a mixture of their distributions.

$p(y \mid x) = \sum_j π_j p_j(y \mid x)$. `Ensemble` takes π as it is told (all equal);
`Stacking` chooses it so that held-out observations are most likely. A mixture is never
worse than the mean of its members' log-likelihoods (Jensen), and by the held-out
likelihood the best mixture is never worse than the best member.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.core.checks import InputError, check_finite, check_weights
from likely.estimators.sparse import dense
from likely.families import Categorical, Mixed, Predictive
from likely.files import save
from likely.selection.members import fitted, is_point, said


def _classifies(mixture: Any) -> bool:
    return bool(is_classifier(mixture))


class AbstractMixture(BaseEstimator, ABC):
    """Members and their weights; you write `_weigh`."""

    estimators: Any
    cv: Any

    @abstractmethod
    def _weigh(self, held: np.ndarray | None, w: np.ndarray) -> np.ndarray:
        """π from (n, m) held-out log-likelihoods, where they are needed."""

    @property
    @abstractmethod
    def _needs_folds(self) -> bool:
        """Whether held-out likelihoods are needed whatever the members are."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit the members, and weigh them.

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts; every member has to take it.
        """
        names, members = _named(self.estimators)
        X, y = validate_data(
            self, dense(X), y, dtype=np.float64, ensure_all_finite=False
        )
        given = None if sample_weight is None else check_weights(sample_weight, len(X))
        w = np.ones(len(X)) if given is None else given
        check_finite("X", X, w, names=getattr(self, "feature_names_in_", None))
        X, y = _harmless(X, w), _harmless(y, w)
        classes = self._classes(members, y)
        points = [is_point(m) for m in members]
        held, scales = None, np.ones(len(members))
        row_weights = None if given is None else w
        if self._needs_folds or any(points):
            held, scales = _held_out(self, members, X, y, row_weights)
        self.scales_ = scales
        self.weights_ = self._weigh(held, w)
        self.names_ = list(names)
        self.members_ = [fitted(m, X, y, row_weights) for m in members]
        self.n_features_in_ = X.shape[1]
        if classes is not None:
            self.classes_ = classes
        return self

    def predict_dist(self, X: Any) -> Any:
        """The mixture of the members' distributions."""
        X = self._rows(X)
        classes = getattr(self, "classes_", None)
        parts = [
            said(m, X, classes, s)
            for m, s in zip(self.members_, self.scales_, strict=True)
        ]
        if classes is None:
            return Mixed.of(parts, self.weights_)
        probs = np.tensordot(self.weights_, np.stack([p.probs for p in parts]), 1)
        eta = np.log(np.maximum(probs, 1e-300))
        return Predictive(Categorical(len(classes)), eta, classes)

    def predict(self, X: Any) -> np.ndarray:
        """The mean, or the most probable class."""
        dist = self.predict_dist(X)
        return dist.mode if hasattr(self, "classes_") else dist.mean

    def predict_interval(
        self, X: Any, coverage: float = 0.9
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central predictive interval."""
        return self.predict_dist(X).interval(coverage)

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, c) probabilities, of classes."""
        return self.predict_dist(X).probs

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean negative log-likelihood of (X, y), in nats per unit of weight."""
        log_prob = self.predict_dist(X).log_prob(np.asarray(y))
        return float(-np.average(log_prob, weights=sample_weight))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of classes, R² of numbers."""
        from sklearn.metrics import accuracy_score, r2_score

        judge = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(judge(y, self.predict(X), sample_weight=sample_weight))

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code, where every member can be."""
        save(self, path, card=card)

    def _rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(
            self, dense(X), reset=False, dtype=np.float64, ensure_all_finite=False
        )
        check_finite("X", X, names=getattr(self, "feature_names_in_", None))
        return X

    def _classes(self, members: Sequence[Any], y: np.ndarray) -> np.ndarray | None:
        kinds = {bool(is_classifier(m)) for m in members}
        if len(kinds) > 1:
            raise InputError("some members are classifiers and some are not.")
        if kinds == {False}:
            return None
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise InputError(
                f"y has one class only ({classes[0]!r}); "
                "a classifier needs rows of at least two classes."
            )
        return classes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        members = _named(self.estimators)[1]
        first = members[0].__sklearn_tags__()
        tags.estimator_type = first.estimator_type
        tags.classifier_tags = first.classifier_tags
        tags.regressor_tags = first.regressor_tags
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def _harmless(rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Absent rows replaced by one that counts; the folds of `cv` count them."""
    absent = w == 0
    if not absent.any():
        return rows
    rows = rows.copy()
    rows[absent] = rows[np.argmin(absent)]
    return rows


def _named(estimators: Any) -> tuple[list[str], list[Any]]:
    """Names and members."""
    if not isinstance(estimators, Sequence) or not len(estimators):
        raise InputError("estimators has to be a list of one or more predictors.")
    pairs = [e if isinstance(e, tuple) else (type(e).__name__, e) for e in estimators]
    return [str(name) for name, _ in pairs], [member for _, member in pairs]


def _held_out(
    mixture: AbstractMixture, members: Sequence[Any], X, y, w
) -> tuple[np.ndarray, np.ndarray]:
    """(n, m) log-likelihoods of rows that did not teach, and the scales of point errors."""
    classes = mixture._classes(members, y)
    splitter: Any = check_cv(mixture.cv, y, classifier=classes is not None)
    splits = list(splitter.split(X, y))
    row_w = np.ones(len(y)) if w is None else w
    L, scales = np.full((len(y), len(members)), np.nan), np.ones(len(members))
    for j, member in enumerate(members):
        parts = [
            (out, fitted(member, X[train], y[train], None if w is None else w[train]))
            for train, out in splits
        ]
        if is_point(member):
            scales[j] = _scale(parts, X, y, row_w)
        for out, model in parts:
            L[out, j] = said(model, X[out], classes, scales[j]).log_prob(y[out])
    if np.isnan(L).any():
        raise InputError("the folds of cv have to hold out every row once.")
    return L, scales


def _scale(parts: Sequence[tuple[np.ndarray, Any]], X, y, w) -> float:
    """The root mean squared held-out error."""
    total = weight = 0.0
    for out, model in parts:
        error = np.asarray(model.predict(X[out]), float) - y[out]
        total += float(w[out] @ error**2)
        weight += float(w[out].sum())
    return float(np.sqrt(max(total / weight, 1e-300)))
