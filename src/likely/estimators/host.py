r"""The shell around learners that run on the host: trees, forests, boosting, bagging.

What `shell` is for learners in JAX: it checks, names, encodes; no mathematics. X may have
missing values (NaN). Rows of weight 0 are taken out before anything else happens.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.core.checks import InputError, check_weights
from likely.core.random import key_of
from likely.estimators.shell import without_absent
from likely.estimators.sparse import dense
from likely.families import Predictive
from likely.files import save


class Rows(NamedTuple):
    """Checked data: rows that have weight."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray


class AbstractHostPredictor(BaseEstimator, ABC):
    """A predictor whose learner runs on the host.

    You write `fit`, `predict_dist` and what the kind of target asks for.
    """

    @abstractmethod
    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) for each row: the primitive from which all predictions derive."""

    @abstractmethod
    def _encode(self, y: Any) -> np.ndarray:
        """Check y and turn it into numbers."""

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean negative log-likelihood of (X, y), in nats per unit of weight."""
        log_prob = self.predict_dist(X).log_prob(np.asarray(y))
        return float(-np.average(log_prob, weights=sample_weight))

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """The rows that count, checked."""
        if sample_weight is not None:
            y = without_absent(y, np.asarray(sample_weight))
        X, y = validate_data(
            self,
            dense(X),
            y,
            dtype=np.float64,
            ensure_all_finite=False,
            multi_output=get_tags(self).target_tags.multi_output,
        )
        if np.asarray(y).dtype.kind == "f" and np.isnan(y).any():
            row = int(np.argwhere(np.isnan(y))[0, 0])
            raise InputError(
                f"y contains NaN (row {row}); remove the row, or give it weight 0."
            )
        n = len(X)
        w = check_weights(np.ones(n) if sample_weight is None else sample_weight, n)
        y = self._encode(y)
        if not (w > 0).all():
            X, y, w = X[w > 0], y[w > 0], w[w > 0]
        return Rows(np.ascontiguousarray(X), y, w)

    def _inputs(self, X: Any) -> np.ndarray:
        """X as a table of numbers; a plain one goes through at once."""
        if (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X)
            and X.shape[1] == self.__dict__.get("n_features_in_")
            and "feature_names_in_" not in self.__dict__
        ):
            return X
        check_is_fitted(self)
        check: Any = validate_data
        return check(
            self, dense(X), reset=False, dtype=np.float64, ensure_all_finite=False
        )


class AbstractHostRegressor(RegressorMixin, AbstractHostPredictor, ABC):
    """A predictor of numbers: `predict` is the mean."""

    @abstractmethod
    def _mean(self, X: np.ndarray) -> np.ndarray:
        """E[y | x] of each row."""

    def _encode(self, y: Any) -> np.ndarray:
        try:
            y = np.asarray(y).astype(np.float64)
        except ValueError as error:
            raise InputError(
                f"y holds {np.asarray(y).dtype}, not numbers; {type(self).__name__} "
                "predicts numbers: encode y, or use a classifier."
            ) from error
        if not np.isfinite(y).all():
            row = int(np.argwhere(~np.isfinite(y))[0, 0])
            raise InputError(
                f"y contains infinity (row {row}); remove the row, or give it weight 0."
            )
        return y

    def predict(self, X: Any) -> np.ndarray:
        """E[y | x] of each row."""
        return self._mean(self._inputs(X))

    def predict_interval(
        self, X: Any, coverage: float = 0.9
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central predictive interval."""
        return self.predict_dist(X).interval(coverage)


class AbstractHostClassifier(ClassifierMixin, AbstractHostPredictor, ABC):
    """A predictor of classes: `predict` is the most probable one."""

    @abstractmethod
    def _probs(self, X: np.ndarray) -> np.ndarray:
        """(n, c) probabilities."""

    def _encode(self, y: Any) -> np.ndarray:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"y has one class only ({self.classes_[0]!r}); "
                "a classifier needs rows of at least two classes."
            )
        return codes.astype(np.float64)

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, c) probabilities, classes in the order of `classes_`."""
        return self._probs(self._inputs(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """(n, c) log-probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        best = self._probs(self._inputs(X)).argmax(axis=1)
        return self.classes_[best]

    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """(n, c) booleans: the fewest classes that hold this much probability."""
        probs = self.predict_proba(X)
        order = np.argsort(-probs, axis=1, kind="stable")
        ranked = np.take_along_axis(probs, order, axis=1)
        before = np.cumsum(ranked, axis=1) - ranked
        chosen = np.zeros_like(probs, dtype=bool)
        np.put_along_axis(chosen, order, before < coverage, axis=1)
        return chosen


def seed_of(random_state: Any) -> int:
    """A whole number of 64 bits from whatever scikit-learn accepts as `random_state`."""
    import jax

    high, low = np.asarray(jax.random.key_data(key_of(random_state))).tolist()[-2:]
    return high << 32 | low


def class_weights(
    class_weight: Any, classes: np.ndarray, y: np.ndarray, w: np.ndarray
) -> np.ndarray:
    """Row weights times the weight of their class.

    Args:
        class_weight: None, "balanced" (every class has the same total) or a dict.
        classes: the labels.
        y: class numbers.
        w: row weights.
    """
    if class_weight is None:
        return w
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(y.astype(int), w, minlength=len(classes))
        factors = w.sum() / (len(classes) * np.where(totals > 0, totals, 1.0))
    elif isinstance(class_weight, Mapping):
        labels = classes.tolist()
        unknown = [label for label in class_weight if label not in labels]
        if unknown:
            raise InputError(
                f"class_weight has the class {unknown[0]!r}, but y has {labels}."
            )
        factors = np.array([float(class_weight.get(c, 1.0)) for c in labels])
    else:
        raise InputError(
            f"class_weight is {class_weight!r}; give None, 'balanced' or a dict of "
            "classes and weights."
        )
    return w * factors[y.astype(int)]


def positive(
    name: str, value: Any, *, least: float | int = 0, whole: bool = False
) -> Any:
    """A setting that has to be a number of at least so much, or the sentence why not."""
    number = float(value)
    if not number >= least or (whole and number != int(number)):
        kind = "whole number" if whole else "number"
        raise InputError(f"{name} is {value}; give a {kind} of at least {least:g}.")
    return int(number) if whole else number


def column_mask(columns: Any, d: int, names: Any) -> np.ndarray:
    """Which columns are meant: by place, by name or by a mask."""
    mask = np.zeros(d, bool)
    if columns is None:
        return mask
    columns = np.asarray(columns)
    if columns.dtype == bool and columns.shape == (d,):
        return columns.copy()
    known = [] if names is None else list(names)
    for column in columns.ravel().tolist():
        if column in known:
            mask[known.index(column)] = True
        elif isinstance(column, int) and -d <= column < d:
            mask[column] = True
        else:
            raise InputError(
                f"categorical_features has {column!r}; give places below {d}, names of "
                "columns, or a mask."
            )
    return mask
