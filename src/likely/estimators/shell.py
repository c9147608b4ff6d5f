r"""The shell around a `Learner`: it checks, names, encodes and stores; no mathematics.

A concrete estimator says which learner and which hyper-parameters it has. The shell
keeps scikit-learn's contract, calls the learner in float64 on padded rows, keeps φ as
NumPy arrays and derives everything a predictor offers from `predict_dist`.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import PyTree
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.core.checks import InputError, check_finite, check_weights
from likely.core.precision import float64, to_numpy
from likely.core.random import key_of
from likely.core.rows import pad, pad_rows
from likely.families import AbstractFamily, Predictive
from likely.files import save
from likely.typing import Batch, Key, Learner, Solution


@eqx.filter_jit
def learn(learner: Learner, key: Key, hyper: dict[str, Any], batch: Batch) -> PyTree:
    """φ from padded data, compiled once for each learner and size class."""
    return learner.learn(key, hyper, batch)


@eqx.filter_jit
def eta_of(learner: Learner, phi: PyTree, X: Any):
    """η of each row, compiled once for each learner and size class."""
    return learner.eta(phi, X)


class AbstractPredictor(BaseEstimator, ABC):
    """A predictor derived from a learner.

    You write `_learner`, `_hyper` and `_publish`; `_encode` where y is a class.
    """

    @abstractmethod
    def _learner(self, y: np.ndarray) -> Learner:
        """The pure core, for this encoded target."""

    @abstractmethod
    def _hyper(self) -> dict[str, np.ndarray]:
        """The numeric hyper-parameters, checked."""

    @abstractmethod
    def _publish(self, phi: PyTree) -> None:
        """Set the public fitted attributes from φ."""

    @abstractmethod
    def _encode(self, y: Any) -> np.ndarray:
        """Check y and turn it into numbers."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "AbstractPredictor":
        """Fit by maximum likelihood (with a penalty: maximum a posteriori).

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts; 2 is "this row twice", 0
                "absent", whatever the row contains.
        """
        hyper = self._hyper()
        batch = self._batch(X, y, sample_weight)
        self.learner_ = self._learner(batch.y)
        self.family_.check(batch.y, batch.w)
        with float64():
            key = key_of(getattr(self, "random_state", 0))
            phi = learn(self.learner_, key, hyper, pad(batch))
            self.phi_ = to_numpy(self._revise(phi, key, hyper, batch))
        self._report(self.phi_)
        self._publish(self.phi_)
        return self

    @property
    def family_(self) -> AbstractFamily:
        """The family of p(y | x)."""
        return self.learner_.family

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) for each row: the primitive from which all predictions derive."""
        check_is_fitted(self)
        X = validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite=False
        )
        check_finite("X", X, names=getattr(self, "feature_names_in_", None))
        with float64():
            eta = np.asarray(eta_of(self.learner_, self.phi_, pad_rows(X)))[: len(X)]
        return Predictive(self.family_, eta, getattr(self, "classes_", None))

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean negative log-likelihood of (X, y), in nats per unit of weight."""
        log_prob = self.predict_dist(X).log_prob(np.asarray(y))
        return float(-np.average(log_prob, weights=sample_weight))

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def _batch(self, X: Any, y: Any, sample_weight: Any) -> Batch:
        if sample_weight is not None:
            y = _without_absent(y, np.asarray(sample_weight))
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=False)
        n = len(X)
        w = check_weights(np.ones(n) if sample_weight is None else sample_weight, n)
        check_finite("X", X, w, names=getattr(self, "feature_names_in_", None))
        return Batch(X, self._encode(y), w)

    def _revise(self, phi: PyTree, key: Key, hyper: dict, batch: Batch) -> PyTree:
        """A hook: another φ where this one turns out to be none."""
        return phi

    def _report(self, phi: PyTree) -> None:
        """Keep how it went, and warn where no minimum was reached."""
        if not isinstance(phi, Solution):
            return
        self.n_iter_, self.status_ = int(phi.status.steps), str(phi.status)
        if not phi.status.converged:
            name = type(self).__name__
            warnings.warn(f"{name} {self.status_}.", ConvergenceWarning, stacklevel=3)


class AbstractRegressor(RegressorMixin, AbstractPredictor, ABC):
    """A predictor of numbers: `predict` is the mean."""

    def _encode(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        if y.dtype.kind not in "fiub":
            try:
                y = y.astype(np.float64)
            except ValueError as error:
                raise InputError(
                    f"y holds {y.dtype}, not numbers; {type(self).__name__} predicts "
                    "numbers: encode y, or use a classifier."
                ) from error
        return y.astype(np.float64)

    def predict(self, X: Any) -> np.ndarray:
        """E[y | x] of each row."""
        return self.predict_dist(X).mean

    def predict_interval(
        self, X: Any, coverage: float = 0.9
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central predictive interval."""
        return self.predict_dist(X).interval(coverage)


class AbstractClassifier(ClassifierMixin, AbstractPredictor, ABC):
    """A predictor of classes: `predict` is the most probable one."""

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
        return self.predict_dist(X).probs

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """(n, c) log-probabilities."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        return self.predict_dist(X).mode

    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """(n, c) booleans: the fewest classes that hold this much probability."""
        probs = self.predict_proba(X)
        order = np.argsort(-probs, axis=1, kind="stable")
        ranked = np.take_along_axis(probs, order, axis=1)
        before = np.cumsum(ranked, axis=1) - ranked
        chosen = np.zeros_like(probs, dtype=bool)
        np.put_along_axis(chosen, order, before < coverage, axis=1)
        return chosen


def _without_absent(y: Any, w: np.ndarray) -> Any:
    """The targets with those of weight zero replaced by one that counts."""
    values, absent = np.asarray(y), w == 0
    if w.shape != values.shape[:1] or not absent.any() or absent.all():
        return y
    return np.where(absent, values[np.argmin(absent)], values)


def nonnegative(name: str, value: Any) -> float:
    """A setting that has to be a number of at least 0, or the sentence why not."""
    number = float(value)
    if not number >= 0:
        raise InputError(f"{name} is {value}; give a number of at least 0.")
    return number
