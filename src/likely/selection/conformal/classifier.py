r"""Classifiers with conformal sets of classes.

A set holds the classes whose score is not above the $\lceil (n+1)(1-α) \rceil$-th smallest of the
scores that the true classes of n held-out rows have. It misses the true class of a new row with
probability at most α, if rows are exchangeable, whatever the model.
"""

from typing import Any, ClassVar, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _num_samples, check_is_fitted

from likely.base.labels import frequency_distribution
from likely.base.settings import one_of, store
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.evaluate.adaptive_sets import adaptive_scores
from likely.evaluate.cross_conformal import cross_sets
from likely.families import Predictive
from likely.selection.conformal.groups import (
    described,
    encode_groups,
    group_numbers,
    too_few,
    warn_infinite,
)
from likely.selection.members import class_probabilities
from likely.selection.wrapper import Wrapper, check_held_out_once

METHODS = ("threshold", "adaptive")


class ConformalClassifier(ClassifierMixin, Wrapper):
    r"""Any classifier, with sets of classes that cover whatever the model.

        threshold  score $1 - p_k$: the smallest sets on average; they may be empty
        adaptive   score of the classes that are more probable, and a random part of $p_k$:
                   sets that grow where a row is hard; exact coverage

    Args:
        estimator: a classifier of `likely` or scikit-learn with `predict_proba`, or a pipeline
            that ends in one.
        method: "threshold" or "adaptive".
        cv: the number of folds (shuffled), a scikit-learn splitter, an iterable of splits,
            or "prefit": the estimator is fitted, and all rows are held out. Without `cross`
            the first fold alone is held out, so cv=4 is a quarter of the rows (more folds,
            up to half, where it has fewer than 19 rows).
        cross: whether every fold is held out in turn, so that all rows serve both purposes;
            coverage is then at least $1 - 2α$, and in practice about $1 - α$.
        by_class: whether coverage holds for the rows of every class, and not only on
            average over classes.
        randomized: whether "adaptive" takes a random part; without it sets are larger.
        random_state: of the folds and the random parts.

    Attributes:
        estimator_: the estimator that predicts: fitted to the rows that are not held out, or
            with `cross` to all rows.
        classes_: the labels, sorted.
        scores_: (n,) the scores of the true classes of the rows that were held out.

    Examples:
        >>> table = lk.data.iris()
        >>> model = lk.ConformalClassifier(lk.GaussianNB()).fit(table.X, table.y)
        >>> model.predict_set(table.X[:2], coverage=0.9).shape
        (2, 3)
    """

    _stratifies: ClassVar[bool] = False  # rows have to be exchangeable
    method: Any
    cross: Any
    by_class: Any
    randomized: Any
    members_: list

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "threshold",
        cv: Any = 5,
        cross: bool = False,
        by_class: bool = False,
        randomized: bool = True,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None):
        """Fit the estimator, and score rows that it did not see.

        Args:
            X: (n, d) inputs, of any kind that the estimator takes.
            y: (n,) classes.
            sample_weight: how often each row counts; the estimator has to take it.
            groups: (n,) what each row belongs to: coverage then holds in each group
                (Mondrian); predictions need them too.
        """
        one_of("method", self.method, METHODS)
        vars(self).pop("group_labels_", None)
        rows, splits = self._table(X, y, sample_weight, groups)
        self.seed_ = seed_of(self.random_state)
        if self._is_prefit or not self.cross:
            known = held_out = rows
            if not self._is_prefit:
                train, out = self._split_once(splits)
                known, held_out = rows.part(train), rows.part(out)
            self._keep(self._fitted(known))
            self.members_ = [self.estimator_]
            fold, probs = np.zeros(len(held_out.y), int), self._probs_of(0, held_out.X)
        else:
            fold, held_out = check_held_out_once(splits, len(rows.y)), rows
            self._keep(self._fitted(rows))
            self.members_ = [self._fitted(rows.part(train)) for train, _ in splits]
            probs = np.empty((len(rows.y), len(self.classes_)))
            for k, (_, out) in enumerate(splits):
                probs[out] = self._probs_of(k, rows.part(out).X)
        codes = held_out.y.astype(int)
        scores = self._scores(probs, 0)[np.arange(len(codes)), codes]
        self.scores_, self.folds_, self.score_classes_ = scores, fold, codes
        self.score_weights_ = held_out.w
        self.score_groups_ = np.zeros(len(codes), int)
        if groups is not None:
            self.group_labels_, self.score_groups_ = encode_groups(held_out.groups)
        return self

    def predict_set(
        self, X: Any, coverage: float = 0.9, *, groups: Any = None
    ) -> np.ndarray:
        """(m, c) booleans: classes that hold the true one with this probability.

        All classes are in the set, with a warning, where too few rows were held out.

        Args:
            X: (m, d) inputs.
            coverage: 1 − α.
            groups: (m,) what each row belongs to, where the fit had groups.
        """
        check_is_fitted(self)
        if not 0 < coverage < 1:
            raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
        labels = vars(self).get("group_labels_")
        numbers = group_numbers(labels, groups, _num_samples(X))
        scores = np.stack(
            [self._scores(self._probs_of(k, X), 1) for k in range(len(self.members_))]
        )
        found = np.ones(scores.shape[1:], bool)
        for group in np.unique(numbers):
            new, old = numbers == group, self.score_groups_ == group
            whose = described(labels, int(group))
            for column, rows, of_class in self._parts(old):
                w = self.score_weights_[rows]
                if too_few(w, coverage):
                    warn_infinite(self, whose + of_class, float(w.sum()), coverage)
                    continue
                known = self.folds_[rows], self.scores_[rows], coverage, w
                sets = cross_sets(scores[:, new][:, :, column], *known)
                found[np.ix_(new, column)] = sets
        return found

    def _parts(self, old: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, str]]:
        """The classes that share held-out rows, these rows, and their description."""
        every, names = np.arange(len(self.classes_)), self.classes_.tolist()
        if not self.by_class:
            return [(every, old, "")]
        return [
            (
                every[k : k + 1],
                old & (self.score_classes_ == k),
                f" of class {names[k]!r}",
            )
            for k in every
        ]

    def predict_dist(self, X: Any) -> Predictive:
        """The distribution over classes that the estimator predicts, as it is."""
        check_is_fitted(self)
        probs = class_probabilities(self.estimator_, X, self.classes_)
        return frequency_distribution(probs, self.classes_)

    def _probs_of(self, k: int, X: Any) -> np.ndarray:
        return class_probabilities(self.members_[k], X, self.classes_)

    def _scores(self, probs: np.ndarray, stream: int) -> np.ndarray:
        """(m, c) the score of every class, by random parts of a stream of their own."""
        if self.method == "threshold":
            return 1 - probs
        u = None
        if self.randomized:
            u = np.random.default_rng([self.seed_, stream]).random(len(probs))
        return adaptive_scores(probs, u)
