r"""Classifiers with recalibrated probabilities.

Copies of the estimator are fitted to the training rows of each fold and predict the rows held
out; a map with few parameters is then chosen by the likelihood of these predictions, and put
behind the estimator that is fitted to all rows.
"""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from jaxtyping import Float
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from likely.base.labels import frequency_distribution
from likely.base.settings import one_of, store
from likely.core.checks import InputError
from likely.evaluate.cross_validation import Splits
from likely.evaluate.recalibration.isotonic import Isotonic, isotonic
from likely.evaluate.recalibration.platt import Platt, platt
from likely.evaluate.recalibration.temperature import temperature, temperature_scaled
from likely.families import Predictive
from likely.selection.calibration.scores import class_log_scores
from likely.selection.refits import TableRows
from likely.selection.wrapper import Wrapper

METHODS = ("temperature", "platt", "sigmoid", "isotonic")


class HeldOutScores(NamedTuple):
    """Scores of rows by models that did not see them, with the classes of these rows."""

    codes: np.ndarray
    scores: Float[np.ndarray, "n c"]
    w: np.ndarray


class RecalibratedClassifier(ClassifierMixin, Wrapper):
    r"""Any classifier, with probabilities that are corrected by held-out likelihood.

        temperature  $p_c^{1/T}/\sum_k p_k^{1/T}$: one number, the most probable class stays
        platt        $\mathrm{softmax}(a \log p + b)$: also corrects base rates ("sigmoid" is
                     another name)
        isotonic     a rising map of the probability of each class; needs many rows

    None of them makes the likelihood of the held-out rows lower than it was. Classifiers with a
    `decision_function` and no probabilities get them.

    Args:
        estimator: a classifier of `likely` or scikit-learn, or a pipeline.
        method: "temperature", "platt" or "isotonic".
        cv: the number of folds (stratified, shuffled), a scikit-learn splitter, an iterable
            of splits, or "prefit": the estimator is fitted, and all rows correct it.
        random_state: of the folds.

    Attributes:
        estimator_: the estimator, fitted to all rows.
        classes_: the labels, sorted.
        temperature_: T, by that method.
        platt_: a and b, by that method.
        isotonic_: the maps, by that method.
        held_out_: nats per unit of weight of the held-out rows, before and after.

    Examples:
        >>> table = lk.data.iris()
        >>> model = lk.RecalibratedClassifier(lk.GaussianNB()).fit(table.X, table.y)
        >>> model.predict_proba(table.X[:2]).shape
        (2, 3)
    """

    method: Any
    temperature_: float
    platt_: Platt
    isotonic_: Isotonic

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "temperature",
        cv: Any = 5,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit the estimator, and correct it by rows held out.

        Args:
            X: (n, d) inputs, of any kind that the estimator takes.
            y: (n,) classes.
            sample_weight: how often each row counts; the estimator has to take it.
        """
        method = one_of("method", self.method, METHODS)
        rows, splits = self._table(X, y, sample_weight)
        self._keep(self._fitted(rows))
        known = self._held_out(rows, splits)
        for name in ("temperature_", "platt_", "isotonic_"):
            vars(self).pop(name, None)
        codes, scores, w = known
        probs = softmax(scores, axis=1)
        if method == "temperature":
            self.temperature_ = temperature(codes, probs, w)
        elif method == "isotonic":
            self.isotonic_ = isotonic(codes, probs, w)
        else:
            self.platt_ = platt(codes, scores, w)
        every = np.arange(len(codes))
        both = (found[every, codes] for found in (probs, self._corrected(scores)))
        self.held_out_ = tuple(
            float(-w @ np.log(np.maximum(p, 1e-300)) / w.sum()) for p in both
        )
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """The corrected distribution over the classes, for each row."""
        check_is_fitted(self)
        scores = class_log_scores(self.estimator_, X, self.classes_)
        return frequency_distribution(self._corrected(scores), self.classes_)

    def _corrected(self, scores: Float[np.ndarray, "n c"]) -> np.ndarray:
        """Probabilities from the scores of the estimator."""
        if "platt_" in vars(self):
            return self.platt_(scores)
        probs = softmax(scores, axis=1)
        if "isotonic_" in vars(self):
            return self.isotonic_(probs)
        return temperature_scaled(probs, self.temperature_)

    def _held_out(self, rows: TableRows, splits: Splits) -> HeldOutScores:
        """Scores of the rows held out whose class the model of the fold has seen."""
        if self._is_prefit:
            scores = class_log_scores(self.estimator_, rows.X, self.classes_)
            return HeldOutScores(rows.y.astype(int), scores, rows.w)
        parts = []
        for train, out in splits:
            known, new = rows.part(train), rows.part(out)
            codes = new.y.astype(int)
            seen = np.isin(codes, known.y.astype(int))
            model = self._fitted(known)
            scores = class_log_scores(model, new.X, self.classes_)
            parts.append((codes[seen], scores[seen], new.w[seen]))
        found = HeldOutScores(*(np.concatenate(a) for a in zip(*parts, strict=True)))
        if not len(found.codes):
            raise InputError(
                "no class has rows in two folds, so there is nothing to correct by; give "
                "two rows of each class or more."
            )
        return found
