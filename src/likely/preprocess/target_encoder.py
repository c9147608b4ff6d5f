"""Categories as the mean target of their rows, shrunk and cross-fitted.

An encoding that contains a row's own target would leak it; so `fit_transform` encodes
each fold of rows by the others.
"""

from collections.abc import Sequence
from typing import Any, no_type_check

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from likely.core.checks import InputError, check_finite
from likely.data.columns import Levels
from likely.data.dataset import generator
from likely.preprocess.blocks import Writer, copier
from likely.preprocess.encoder import AbstractEncoder
from likely.preprocess.levels import codes_among, in_order, tally, training_levels
from likely.preprocess.shrinkage import encoding, weighted_mean


class TargetEncoder(AbstractEncoder):
    """Encodes each category as the mean target of its rows.

    With classes, there is one column for each class (for two classes one column: the
    share of the second). Unknown categories get the overall mean; missing values are a
    category.

    Args:
        target_type: "continuous", "binary", "multiclass", or "auto".
        smooth: "auto" for the empirical-Bayes λ, or the weight of the overall mean, as
            a number of rows.
        cv: the number of folds of `fit_transform`.
        random_state: seed of the folds; the same folds by default.

    Attributes:
        categories_: the categories of each feature, in order.
        encodings_: for each feature (categories + 1, targets); the last row is for
            missing values.
        target_mean_: (targets,).
        classes_: the classes, if the target has some.

    Examples:
        >>> X, y = np.array([["a"], ["a"], ["b"], ["b"]] * 5), np.array([0.0, 1.0, 4.0, 5.0] * 5)
        >>> lk.preprocess.TargetEncoder().fit(X, y).transform(np.array([["a"], ["b"]])).round(1)
        array([[0.5, 0.5, 0. , 0. ],
               [0. , 0. , 0.5, 0.5]])
    """

    _needs_target = True

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        target_type: str = "auto",
        smooth: str | float = "auto",
        cv: int = 5,
        random_state: Any = 0,
    ):
        self.target_type = target_type
        self.smooth = smooth
        self.cv = cv
        self.random_state = random_state

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._learn(X, y, sample_weight)

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Learn, and encode each fold of rows by the other folds."""
        columns, targets, w = self._learn(X, y, sample_weight)
        fold = self._folds(targets, w)
        out = np.empty((len(w), int(self.widths().sum())))
        for k in range(int(fold.max()) + 1):
            held_out = fold == k
            others = np.where(held_out, 0.0, w)
            out[held_out] = self._encoded_fold(columns, targets, others, held_out)
        return out

    def widths(self) -> np.ndarray:
        """(d,) the number of columns that each feature becomes."""
        return np.full(len(self.categories_), len(self.target_mean_))

    def writer(self, columns: Sequence[Levels]) -> Writer:
        """A function that writes the encodings of some rows into a block."""
        return copier(self._encoded(columns, self.encodings_, self.target_mean_))

    def _names_out(self, names: list[str]) -> list[str]:
        """The names, followed by the class where there are several columns."""
        if len(self.target_mean_) == 1:
            return names
        return [f"{name}_{label}" for name in names for label in self.classes_]

    # Learning --------------------------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any):
        """Fit to all rows; returns the columns, the targets and the weights."""
        if y is None:
            raise InputError(
                "TargetEncoder requires y to be passed, but the target y is None; "
                "give the target of each row."
            )
        columns, w = training_levels(self, X, sample_weight)
        targets = self._targets(y, w)
        tallies = [tally(levels, w) for levels in columns]
        self.categories_ = [in_order(list(found.weights)) for found in tallies]
        self.target_mean_ = weighted_mean(targets, w)
        self.encodings_ = self._encodings(columns, targets, w)
        return columns, targets, w

    def _targets(self, y: Any, w: np.ndarray) -> np.ndarray:
        """(n, targets): y itself, or an indicator for each class."""
        y = column_or_1d(y)
        if len(y) != len(w):
            raise InputError(f"X has {len(w)} rows but y has {len(y)}.")
        kind = self.target_type
        if kind == "auto":
            kind = type_of_target(y[w > 0], input_name="y")
        if kind == "continuous":
            y = np.where(w > 0, y.astype(np.float64), 0.0)
            check_finite("y", y, w)
            return y[:, None]
        if kind not in {"binary", "multiclass"}:
            raise InputError(
                f"Unknown label type: the target is {kind}; give numbers or classes, or "
                "say which by target_type='continuous', 'binary' or 'multiclass'."
            )
        self.classes_ = np.unique(y[w > 0])
        ones = (y[:, None] == self.classes_[None]).astype(np.float64)
        return ones[:, 1:] if len(self.classes_) == 2 else ones

    def _folds(self, targets: np.ndarray, w: np.ndarray) -> np.ndarray:
        """(n,) the fold of each row: at random, stratified by class."""
        present = np.flatnonzero(w > 0)
        if self.cv < 2:
            raise InputError(f"cv is {self.cv}; give at least 2 folds.")
        order = generator(self.random_state).permutation(present)
        if hasattr(self, "classes_"):
            label = targets[order] @ np.arange(1, targets.shape[1] + 1)
            order = order[np.argsort(label, kind="stable")]
        fold = np.zeros(len(w), int)
        fold[order] = np.arange(len(order)) % self.cv
        return fold

    def _encoded_fold(self, columns, targets, w, held_out) -> np.ndarray:
        """The held-out rows, encoded by the rows of weight w."""
        if not w.sum():
            return np.tile(self.target_mean_, len(columns))
        rows = [Levels(levels.codes[held_out], levels.categories) for levels in columns]
        mean = weighted_mean(targets, w)
        return self._encoded(rows, self._encodings(columns, targets, w), mean)

    def _encodings(self, columns, targets, w) -> list[np.ndarray]:
        """The encodings of each feature, (categories + 1, targets)."""
        found = []
        for levels, categories in zip(columns, self.categories_, strict=True):
            codes = codes_among(levels, categories)
            found.append(encoding(codes, len(categories), targets, w, self.smooth))
        return found

    def _encoded(self, columns, encodings, mean) -> np.ndarray:
        """(n, columns): each row's entry in the encodings of its categories."""
        parts = []
        for j, levels in enumerate(columns):
            known, missing = encodings[j][:-1], encodings[j][-1:]
            # the codes of unknown and missing values are -2 and -1
            table = np.concatenate([known, mean[None], missing])
            parts.append(table[codes_among(levels, self.categories_[j])])
        return np.concatenate(parts, axis=1)
