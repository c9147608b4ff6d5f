"""What predictors around one other estimator share: rows of any kind, folds, tags.

X is passed on as it is (an array, a sparse matrix, a frame with words), so that pipelines can
be wrapped; the estimator inside checks it. Rows of weight 0 are left out before.
"""

from abc import ABC
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils import indexable
from sklearn.utils.validation import _check_y, _num_samples, check_is_fitted

from likely.base.labels import codes_of, encode_labels
from likely.base.predictor import Predictor
from likely.base.rows import check_numbers, fill_absent_targets, weights_of
from likely.core.checks import InputError, check_finite
from likely.evaluate.cross_validation import Splits, check_folds, cv_splits
from likely.evaluate.splits import Folds, k_fold, stratified_k_fold
from likely.selection.members import fitted
from likely.selection.refits import TableRows

PREFIT = "prefit"
SUFFICIENT_ROWS = 19
"""Rows held out that allow a coverage of 95 %."""


class Wrapper(Predictor, ABC):
    """A predictor that has another one; you write `fit` and `predict_dist`."""

    _stratifies: ClassVar[bool] = True
    """Whether a number of folds of a classifier has the same share of each class in all."""
    estimator: Any
    cv: Any
    random_state: Any
    estimator_: Any

    @property
    def _is_prefit(self) -> bool:
        """Whether the estimator is fitted already, and all rows serve to correct it."""
        prefit = isinstance(self.cv, str) and self.cv == PREFIT
        return prefit or isinstance(self.estimator, FrozenEstimator)

    def _table(
        self, X: Any, y: Any, sample_weight: Any, groups: Any = None
    ) -> tuple[TableRows, Splits]:
        """The rows that have weight, and the folds of their indices.

        A classifier gets its `classes_`; y are then the codes of the classes.
        """
        if y is None:
            name = type(self).__name__
            raise InputError(
                f"{name} requires y to be passed, but the target y is None."
            )
        y = np.asarray(y)
        w = weights_of(sample_weight, _num_samples(y))
        check: Any = _check_y
        targets = check(fill_absent_targets(y, w), estimator=self)
        groups = None if groups is None else np.asarray(groups)
        X = indexable(X, targets, groups)[0]
        plain = isinstance(X, np.ndarray) and X.dtype.kind == "f"
        if plain and not self.__sklearn_tags__().input_tags.allow_nan:
            check_finite("X", X, w)  # while the numbers of the rows are those given
        here = np.flatnonzero(w)
        if self._predicts_classes:
            values = np.zeros(len(targets))
            values[here] = self._codes(targets[here])
        else:
            values = check_numbers(self, targets)
        rows = TableRows(X, values, w, groups)
        splits = [] if self._is_prefit else self._folds(rows)
        place = np.cumsum(w > 0) - 1
        known = [(place[a[w[a] > 0]], place[b[w[b] > 0]]) for a, b in splits]
        return rows.part(np.arange(len(targets))), known

    def _codes(self, labels: np.ndarray) -> np.ndarray:
        """The numbers of classes; an estimator that is fitted knows which there are."""
        if self._is_prefit:
            check_is_fitted(self.estimator)
            self.classes_ = np.asarray(self.estimator.classes_)
            return codes_of(labels, self.classes_, "y")
        self.classes_, codes = encode_labels(labels)
        return codes

    def _folds(self, rows: TableRows) -> Splits:
        """The training rows and the held-out rows of each fold, as indices."""
        classes = self._predicts_classes
        if not isinstance(self.cv, Integral):
            splits = cv_splits(self.cv, rows.y, rows.X, classes=classes, w=rows.w)
            check_folds(splits, rows.w)
            return splits
        n = int((rows.w > 0).sum())
        if n < 2 or self.cv < 2:
            raise InputError(
                f"{n} sample{'s' * (n != 1)} cannot be split into {self.cv} folds; give "
                'two rows and two folds or more, or a fitted estimator and cv="prefit".'
            )
        k = min(int(self.cv), n)
        options: Any = {"sample_weight": rows.w, "random_state": self.random_state}
        found = k_fold(len(rows.y), k, **options)
        if classes and (self._stratifies or _has_one_class(found, rows.y)):
            found = stratified_k_fold(rows.y, k, **options)
        return [
            (np.flatnonzero(train), np.flatnonzero(out))
            for train, out in zip(*found, strict=True)
        ]

    def _fitted(self, rows: TableRows, estimator: Any = None) -> Any:
        """A copy of the estimator, fitted to rows; the estimator itself where it is fitted."""
        if self._is_prefit:
            check_is_fitted(self.estimator)
            return self.estimator
        y = rows.y
        if self._predicts_classes:
            y = self.classes_[y.astype(int)]
            if (y == y[0]).all():
                raise InputError(
                    f"all rows that the estimator would learn from are of class "
                    f"{y[:1].tolist()[0]!r}; give two rows of each class or more, or other folds."
                )
        w = None if (rows.w == 1).all() else rows.w
        return fitted(self.estimator if estimator is None else estimator, rows.X, y, w)

    def _split_once(self, splits: Splits) -> tuple[np.ndarray, np.ndarray]:
        """The rows to learn from and those held out, where rows are held out once.

        These are the first fold, and of a number of folds as many more as it takes to have
        `SUFFICIENT_ROWS`, up to half of the folds.
        """
        train, out = splits[0]
        if not isinstance(self.cv, Integral):
            return train, out
        for _, more in splits[1 : max(1, len(splits) // 2)]:
            if len(out) >= SUFFICIENT_ROWS:
                break
            out = np.concatenate([out, more])
        return np.setdiff1d(train, out), np.sort(out)

    def _keep(self, model: Any) -> None:
        """Set `estimator_`, and what it knows about the columns of X."""
        self.estimator_ = model
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            own = self.estimator.__sklearn_tags__()
            tags.input_tags = own.input_tags
            if own.estimator_type == tags.estimator_type:
                tags.classifier_tags = own.classifier_tags
                tags.regressor_tags = own.regressor_tags
        return tags


def _has_one_class(folds: Folds, y: np.ndarray) -> bool:
    """Whether the training rows of some fold are of one class."""
    return any(len(np.unique(y[train > 0])) < 2 for train in folds.train)


def check_held_out_once(splits: Splits, n: int) -> np.ndarray:
    """(n,) the fold that holds out each row; folds have to hold out every row once."""
    fold = np.full(n, -1)
    count = np.zeros(n, int)
    for number, (_, held_out) in enumerate(splits):
        fold[held_out] = number
        np.add.at(count, held_out, 1)
    if not (count == 1).all():
        raise InputError("the folds of cv have to hold out every row once.")
    return fold
