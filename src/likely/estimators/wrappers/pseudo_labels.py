r"""Pseudo-labels: a classifier that learns from rows without a label what it is sure of.

The classifier is fitted to the rows that have a label, and says what the others are. Those
of which it is sure enough get its answer as their label, and it is fitted again:

    fit -> label the rows with p > threshold -> fit -> label more -> ... -> fit

Nothing in the data says that this helps. If classes are clouds with gaps between them, the
boundary moves into a gap; if they are not, the classifier teaches itself its own mistakes.
So the number of rounds is chosen by the likelihood of labelled rows that are held out, and
may be zero: the fit to the labelled rows alone.
"""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple, no_type_check

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from likely.base.labels import encode_labels, frequency_distribution, missing_labels
from likely.base.predictor import Predictor
from likely.base.rows import weights_of
from likely.base.settings import at_least, one_of, store
from likely.core.checks import InputError, check_finite
from likely.estimators.linear.logistic import LogisticRegression
from likely.estimators.wrappers.columns import copy_column_names
from likely.evaluate.assignment import ordered_folds

CRITERIA = ("threshold", "k_best")
PATIENCE = 2
"""Rounds in a row that may be no better on held-out rows before no more are tried."""
LEAST_PROBABILITY = 1e-15
"""What a held-out label costs at most is −log of this."""
UNKNOWN = -1
"""The code of a row without a label."""


class FewLabels(NamedTuple):
    """Rows of which some have a label."""

    X: Any
    codes: np.ndarray
    """The class of each row, or `UNKNOWN`."""
    w: np.ndarray

    def take(self, rows: np.ndarray) -> "FewLabels":
        """These rows alone."""
        return FewLabels(_safe_indexing(self.X, rows), self.codes[rows], self.w[rows])


class Round(NamedTuple):
    """A classifier that was fitted after some rounds, and the labels it was fitted to."""

    classifier: Any
    codes: np.ndarray
    since: np.ndarray
    """The round in which each row got its label: 0 it had one, −1 it has none."""
    number: int
    ended: str
    """Why there are no more rounds; empty: there are."""


class PseudoLabels(MetaEstimatorMixin, ClassifierMixin, Predictor):
    """A classifier that labels, round by round, the rows without a label.

    A row without a label has y = −1, or None or NaN where labels are text. By default the
    number of rounds is the one of largest likelihood on labelled rows that are held out in
    turn, and may be 0. With `cv=None` all rounds are made, and the result is that of
    scikit-learn's `SelfTrainingClassifier`.

    Args:
        estimator: any classifier with `predict_proba`; unless given,
            `LogisticRegression(alpha=1.0)`.
        threshold: rows of a larger probability than this are labelled.
        criterion: "threshold" labels the rows above the threshold, "k_best" a number of
            rows in each round.
        k_best: how many rows "k_best" labels, those of the largest probability.
        max_iter: the largest number of rounds; None for no limit.
        cv: the number of parts of the labelled rows that are held out in turn to choose the
            number of rounds; None makes all rounds.

    Attributes:
        estimator_: the fitted classifier.
        classes_: the labels, sorted.
        transduction_: (n,) the labels of the last fit; −1 for rows that got none.
        labeled_iter_: (n,) the round in which each row got its label: 0 if it had one, −1
            if it got none.
        n_iter_: the number of rounds.
        termination_condition_: "no_change" (no row was sure enough), "all_labeled",
            "max_iter", or "held_out" (another round did not help rows held out).
        held_out_nll_: the mean of −log p over labelled rows that were held out, after
            0, 1, 2, ... rounds; only with `cv`.

    Examples:
        >>> X = np.repeat([[0.0], [1.0]], 20, axis=0) + np.linspace(0, 0.3, 40)[:, None]
        >>> y = np.full(40, -1)
        >>> y[:5], y[-5:] = 0, 1  # ten of forty have a label
        >>> print(lk.PseudoLabels(lk.GaussianNB(), cv=2).fit(X, y).predict(X[[10, 30]]))
        [0 1]
    """

    estimator: Any
    threshold: Any
    criterion: Any
    k_best: Any
    max_iter: Any
    cv: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        estimator: Any = None,
        threshold: float = 0.75,
        criterion: str = "threshold",
        k_best: int = 10,
        max_iter: int | None = 10,
        *,
        cv: int | None = 5,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "PseudoLabels":
        """Fit to the labelled rows, and to those that get a label.

        Args:
            X: (n, d) inputs, as the classifier takes them.
            y: (n,) classes; −1, None or NaN where there is none.
            sample_weight: how often each row counts.
        """
        self._check_settings()
        rows, present, n = self._few_labels(X, y, sample_weight)
        vars(self).pop("held_out_nll_", None)
        limit = float("inf" if self.max_iter is None else self.max_iter)
        judged = self.cv is not None and (rows.codes == UNKNOWN).any() and limit > 0
        best = float(self._best_number(rows, limit)) if judged else limit
        found = last_round(self._rounds(rows, limit), best)
        self.estimator_, self.n_iter_ = found.classifier, found.number
        self.termination_condition_ = found.ended or "held_out"
        self._publish(found, present, n)
        copy_column_names(self, self.estimator_)
        return self

    def predict_dist(self, X: Any) -> Any:
        """p(y | x) for each row."""
        check_is_fitted(self)
        if hasattr(self.estimator_, "predict_dist"):
            return self.estimator_.predict_dist(X)
        return frequency_distribution(self._probs(X), self.classes_)

    def _probs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def _decide(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.searchsorted(self.classes_, self.estimator_.predict(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._base).input_tags
        return tags

    @property
    def _base(self) -> Any:
        """The classifier that was given."""
        if self.estimator is None:
            return LogisticRegression(alpha=1.0)
        return self.estimator

    def _check_settings(self) -> None:
        one_of("criterion", self.criterion, CRITERIA)
        at_least("k_best", self.k_best, 1, whole=True)
        if self.max_iter is not None:
            at_least("max_iter", self.max_iter, 0, whole=True)
        if not 0 <= float(self.threshold) < 1:
            raise InputError(
                f"threshold is {self.threshold}; give a number of at least 0 and below 1."
            )

    # Rows ------------------------------------------------------------------------------

    def _few_labels(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[FewLabels, np.ndarray, int]:
        """The rows that count, their numbers, and how many rows there were."""
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; "
                "give the labels that are known, and -1 for the others."
            )
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        w = weights_of(sample_weight, len(y))
        if isinstance(X, np.ndarray) and not get_tags(self).input_tags.allow_nan:
            check_finite("X", X, w)
        present = np.flatnonzero(w > 0)
        X = X.tocsr() if issparse(X) else X  # pyright: ignore[reportAttributeAccessIssue]
        X = X if hasattr(X, "__getitem__") else np.asarray(X)
        X = X if len(present) == len(y) else _safe_indexing(X, present)
        self.classes_, codes = few_codes(y[present])
        return FewLabels(X, codes, w[present]), present, len(y)

    def _publish(self, found: Round, present: np.ndarray, n: int) -> None:
        """Set `transduction_` and `labeled_iter_` of all rows."""
        kind = self.classes_.dtype if self.classes_.dtype.kind in "if" else object
        self.transduction_ = np.full(n, -1, kind)
        self.labeled_iter_ = np.full(n, -1)
        has = found.codes != UNKNOWN
        self.transduction_[present[has]] = self.classes_[found.codes[has]]
        self.labeled_iter_[present] = found.since

    # Rounds ----------------------------------------------------------------------------

    def _best_number(self, rows: FewLabels, limit: float) -> int:
        """The number of rounds of largest likelihood on labelled rows held out."""
        labelled = np.flatnonzero(rows.codes != UNKNOWN)
        k = at_least("cv", self.cv, 2, whole=True)
        fold = held_out_folds(rows.codes[labelled], k)
        if (fold < 0).all():
            warnings.warn(
                "no class has two labels, so that no labelled row can be held out and "
                "nothing says whether pseudo-labels help: none are given. Give cv=None to "
                "give them anyway.",
                stacklevel=3,
            )
            return 0
        runs, held = [], []
        for number in np.unique(fold[fold >= 0]):
            out = labelled[fold == number]
            rest = np.setdiff1d(np.arange(len(rows.codes)), out)
            runs.append(self._rounds(rows.take(rest), limit))
            held.append(rows.take(out))
        losses, now = [], [next(run) for run in runs]
        while True:
            losses.append(held_out_loss(now, held))
            waited = len(losses) - 1 - int(np.argmin(losses))
            if waited >= PATIENCE or all(each.ended for each in now):
                break
            pairs = zip(now, runs, strict=True)
            now = [each if each.ended else next(run) for each, run in pairs]
        self.held_out_nll_ = np.array(losses)
        return int(np.argmin(losses))

    def _rounds(self, rows: FewLabels, limit: float) -> Iterator[Round]:
        """The classifier after 0, 1, 2, ... rounds; the last one says why it is the last."""
        codes, since = rows.codes.copy(), np.where(rows.codes == UNKNOWN, -1, 0)
        number = 0
        while True:
            known, unknown = (np.flatnonzero(a) for a in (codes >= 0, codes < 0))
            classifier = self._fitted(rows._replace(codes=codes).take(known))
            ended = "max_iter" if number >= limit else ""
            ended = ended if len(unknown) else "all_labeled"
            yield Round(classifier, codes.copy(), since.copy(), number, ended)
            if ended:
                return
            number += 1
            probs = classifier.predict_proba(_safe_indexing(rows.X, unknown))
            sure = self._selected(probs.max(axis=1))
            if not len(sure):
                ended = "max_iter" if number == limit else "no_change"
                yield Round(classifier, codes, since, number, ended)
                return
            codes[unknown[sure]] = probs.argmax(axis=1)[sure]
            since[unknown[sure]] = number

    def _fitted(self, rows: FewLabels) -> Any:
        """A copy of the classifier, fitted to these rows, all of which have a label."""
        fresh: Any = clone(self._base)
        if not hasattr(fresh, "predict_proba"):
            raise InputError(
                f"{type(fresh).__name__} has no predict_proba; give a classifier that "
                "says how sure it is."
            )
        labels, weights = self.classes_[rows.codes], {}
        if not (rows.w == 1).all():
            weights = {"sample_weight": rows.w}
            if not has_fit_parameter(fresh, "sample_weight"):
                raise InputError(
                    f"{type(fresh).__name__} takes no sample_weight; leave it out, or "
                    "give another classifier."
                )
        return fresh.fit(rows.X, labels, **weights)

    def _selected(self, largest: np.ndarray) -> np.ndarray:
        """The places of the rows that get a label.

        Args:
            largest: the largest probability of each row.
        """
        if self.criterion == "threshold":
            return np.flatnonzero(largest > self.threshold)
        count = int(self.k_best)
        if count >= len(largest):
            return np.arange(len(largest))
        return np.argpartition(-largest, count)[:count]


def few_codes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes, sorted, and the code of each row's, `UNKNOWN` where there is none."""
    missing = missing_labels(y)
    if missing.all():
        raise InputError(
            f"none of the {len(y)} rows has a label: y is -1, None or NaN in all of them; "
            "give labels to rows of at least two classes."
        )
    codes = np.full(len(y), UNKNOWN)
    classes, known = encode_labels(y[~missing])
    codes[~missing] = known.astype(int)
    return classes, codes


def held_out_folds(codes: np.ndarray, k: int) -> np.ndarray:
    """(n,) the fold of each labelled row; −1, never held out, for the only one of a class."""
    fold = ordered_folds(len(codes), k, classes=codes)
    return np.where(np.bincount(codes)[codes] > 1, fold, -1)


def held_out_loss(rounds: list[Round], held: list[FewLabels]) -> float:
    """The mean of −log p of held-out labels, each by the classifier of its fold."""
    total = 0.0
    for each, rows in zip(rounds, held, strict=True):
        probs = np.asarray(each.classifier.predict_proba(rows.X))
        own = probs[np.arange(len(rows.codes)), rows.codes]
        total -= float(rows.w @ np.log(np.maximum(own, LEAST_PROBABILITY)))
    return total / sum(float(rows.w.sum()) for rows in held)


def last_round(rounds: Iterator[Round], number: float) -> Round:
    """The round of this number, or the one at which they end before."""
    return next(each for each in rounds if each.number >= number or each.ended)
