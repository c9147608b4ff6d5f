r"""The shell around a `Learner`: it checks, names, encodes and stores; no mathematics.

A concrete estimator says which learner and which hyper-parameters it has. The shell
keeps scikit-learn's contract, calls the learner in float64 on padded rows, keeps φ as
NumPy arrays and derives everything a predictor offers from `predict_dist`.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.core.checks import InputError, check_finite, check_weights
from likely.core.precision import float64, to_numpy
from likely.core.random import key_of
from likely.core.rows import pad, pad_rows, size_class
from likely.estimators.sparse import dense
from likely.families import Predictive
from likely.files import save
from likely.typing import TRAINED, VALIDATION, Batch, Key, Learner, Solution

FEW_ROWS = 1024


@runtime_checkable
class ColumnLearner(Learner, Protocol):
    """A learner for which a column of zeros is as good as absent."""

    def trimmed(self, phi: PyTree, d: int) -> PyTree:
        """φ without all but the first d columns."""
        ...


@runtime_checkable
class HostLearner(Learner, Protocol):
    """A learner that has a shorter way outside of any program."""

    def on_host(self, hyper: dict[str, Any], batch: Batch) -> PyTree | None:
        """φ as NumPy arrays, or None where the shorter way is not safe."""
        ...


@eqx.filter_jit
def learn(learner: Learner, key: Key, hyper: dict[str, Any], batch: Batch) -> PyTree:
    """φ from padded data, compiled once for each learner and size class."""
    return learner.learn(key, hyper, batch)


@eqx.filter_jit
def eta_of(learner: Learner, phi: PyTree, X: Any):
    """η of each row, compiled once for each learner and size class."""
    return learner.eta(phi, X)


def learn_padded(learner: Learner, key: Key, hyper: dict[str, Any], batch: Batch):
    """φ from rows as they are: few shapes, so that few programs are compiled.

    A learner that can be asked for `trimmed(phi, d)` takes columns of zeros for absent,
    so small problems are filled up to one shape.
    """
    if isinstance(learner, HostLearner):
        phi = learner.on_host(hyper, batch)
        if phi is not None:
            return phi
    if not isinstance(learner, ColumnLearner):
        return learn(learner, key, hyper, pad(batch))
    d, few = jax.tree.leaves(batch.x)[0].shape[1], len(batch.w) <= FEW_ROWS
    if not few:
        return learn(learner, key, hyper, pad(batch))
    padded = pad(batch, max(FEW_ROWS // 2, size_class(len(batch.w))))
    wide = jax.tree.map(lambda a: fill_columns(a) if a.ndim == 2 else a, padded.x)
    return learner.trimmed(learn(learner, key, hyper, padded._replace(x=wide)), d)


def fill_columns(X: np.ndarray) -> np.ndarray:
    """X with columns of zeros up to 15, 31, ... (an intercept makes them 16, 32)."""
    extra = max(16, size_class(X.shape[1] + 1)) - 1 - X.shape[1]
    return np.pad(X, ((0, 0), (0, extra)))


class AbstractLearned(BaseEstimator, ABC):
    """An estimator around a learner: rows are checked, φ is learned and kept.

    You write `_learner`, `_hyper` and `_publish`; `_encode` says what y becomes.
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "AbstractLearned":
        """Fit by maximum likelihood (with a penalty: maximum a posteriori).

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts; 2 is "this row twice", 0
                "absent", whatever the row contains.
        """
        hyper = self._hyper()
        return self._learn(hyper, self._batch(X, y, sample_weight))

    def _learn(self, hyper: dict[str, np.ndarray], batch: Batch):
        """Everything about a fit that comes after the checks of rows and settings."""
        self.learner_ = self._learner(batch.y)
        self._check(batch)
        with float64():
            key = key_of(getattr(self, "random_state", 0))
            hyper = self._choose(key, hyper, batch)
            phi = learn_padded(self.learner_, key, hyper, batch)
            self.phi_ = to_numpy(self._revise(phi, key, hyper, batch))
        self._report(self.phi_)
        self._publish(self.phi_)
        self._remember(hyper, batch)
        return self

    @property
    def family_(self) -> Any:
        """The family of p(y | x), None where there is no distribution."""
        return self.learner_.family

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def _batch(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        encode: Callable[[Any], np.ndarray] | None = None,
        reset: bool = True,
    ) -> Batch:
        """Checked rows; `reset` where they say what columns there are."""
        if sample_weight is not None:
            y = without_absent(y, np.asarray(sample_weight))
        X, y = validate_data(
            self,
            dense(X),
            y,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite=False,
            multi_output=get_tags(self).target_tags.multi_output,
        )
        n = len(X)
        w = check_weights(np.ones(n) if sample_weight is None else sample_weight, n)
        check_finite("X", X, w, names=getattr(self, "feature_names_in_", None))
        columns = self._expand(_filled(X, w), w)
        return self._weighted(Batch(columns, (encode or self._encode)(y), w))

    def _rows(self, X: Any) -> np.ndarray:
        """Inputs to predict from, checked against those of the fit."""
        check_is_fitted(self)
        X = validate_data(
            self,
            dense(self._prepared(X)),
            reset=False,
            dtype=np.float64,
            ensure_all_finite=False,
        )
        check_finite("X", X, names=getattr(self, "feature_names_in_", None))
        return self._expand(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _prepared(self, X: Any) -> Any:
        """A hook: inputs in the form that the fit had."""
        return X

    def _expand(self, X: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
        """A hook: other columns made of these; with weights, learn how first."""
        return X

    def _weighted(self, batch: Batch) -> Batch:
        """A hook: weights that the settings ask for, beside those of the rows."""
        return batch

    def _eta(self, X: np.ndarray) -> np.ndarray:
        """A hook: η of each row."""
        with float64():
            return np.asarray(eta_of(self.learner_, self.phi_, pad_rows(X)))[: len(X)]

    def _check(self, batch: Batch) -> None:
        """A hook: refuse targets that the family cannot have."""
        if self.family_ is not None:
            self.family_.check(batch.y, batch.w)

    def _choose(self, key: Key, hyper: dict, batch: Batch) -> dict:
        """A hook: settings that are chosen by the data."""
        return hyper

    def _remember(self, hyper: dict, batch: Batch) -> None:
        """A hook: what to keep of the rows, for questions asked later."""

    def _revise(self, phi: PyTree, key: Key, hyper: dict, batch: Batch) -> PyTree:
        """A hook: another φ where this one turns out to be none."""
        return phi

    def _report(self, phi: PyTree) -> None:
        """Keep how it went, and warn where no minimum was reached."""
        if not isinstance(phi, Solution):
            return
        self.n_iter_, self.status_ = int(phi.status.steps), str(phi.status)
        planned = np.isin(phi.status.reason, (VALIDATION, TRAINED))
        if not (phi.status.converged or planned):
            name = type(self).__name__
            warnings.warn(f"{name} {self.status_}.", ConvergenceWarning, stacklevel=3)


class AbstractPredictor(AbstractLearned, ABC):
    """A predictor derived from a learner: everything follows from its distribution."""

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) for each row: the primitive from which all predictions derive."""
        return self._plugged(self._rows(X))

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean negative log-likelihood of (X, y), in nats per unit of weight."""
        log_prob = self._plugged(self._rows(X)).log_prob(np.asarray(y))
        return float(-np.average(log_prob, weights=sample_weight))

    def _plugged(self, X: Any) -> Predictive:
        """p(y | x) at the fitted parameters, as if they were known."""
        return Predictive(self.family_, self._eta(X), getattr(self, "classes_", None))


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
        """E[y | x] of each row, at the fitted parameters."""
        return self._plugged(self._rows(X)).mean

    def predict_interval(
        self, X: Any, coverage: float = 0.9
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central predictive interval."""
        return self.predict_dist(X).interval(coverage)


class AbstractClassifier(ClassifierMixin, AbstractPredictor, ABC):
    """A predictor of classes: `predict` is the most probable one."""

    def _encode(self, y: Any) -> np.ndarray:
        self.classes_, codes = encode_classes(y)
        return codes

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


def _filled(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Rows with those of weight zero replaced by one that counts."""
    absent = w == 0
    if not absent.any():
        return X
    return np.where(absent[:, None], X[np.argmin(absent)], X)


def encode_classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels, sorted, and the number of each row's."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            f"y has one class only ({classes[0]!r}); "
            "a classifier needs rows of at least two classes."
        )
    return classes, codes.astype(np.float64)


def without_absent(y: Any, w: np.ndarray) -> Any:
    """The targets with those of weight zero replaced by one that counts."""
    values, absent = np.asarray(y), w == 0
    if w.shape != values.shape[:1] or not absent.any() or absent.all():
        return y
    mask = absent.reshape((-1,) + (1,) * (values.ndim - 1))
    return np.where(mask, values[np.argmin(absent)], values)


def nonnegative(name: str, value: Any) -> float:
    """A setting that has to be a number of at least 0, or the sentence why not."""
    number = float(value)
    if not number >= 0:
        raise InputError(f"{name} is {value}; give a number of at least 0.")
    return number
