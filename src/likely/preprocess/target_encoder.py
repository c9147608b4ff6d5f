"""Categories as the mean target they go with, shrunk and cross-fitted.

A row encoded with its own target inside would leak it; so `fit_transform` encodes each
fold of rows by the others.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from likely.core.checks import InputError, check_finite
from likely.data.columns import Levels
from likely.data.dataset import generator
from likely.preprocess.blocks import Writer, copier
from likely.preprocess.levels import fit_levels, in_order, place, tally, use_levels
from likely.preprocess.rows import names_in
from likely.preprocess.shrinkage import encoding, weighted_mean


class TargetEncoder(TransformerMixin, BaseEstimator):
    """Each category as the mean of the target it goes with.

    With classes, one column for each class (one for two classes: the share of the
    second). Unknown categories get the overall mean; what is missing is a category.

    Args:
        target_type: "continuous", "binary", "multiclass", or "auto".
        smooth: "auto" for the empirical-Bayes λ, or the weight of how many rows the
            overall mean is worth.
        cv: the folds of `fit_transform`.
        random_state: for the folds; the same ones by default.

    Attributes:
        categories_: the words, in order, for each feature.
        encodings_: for each feature (categories + 1, targets); the last row is for what
            is missing.
        target_mean_: (targets,).
        classes_: the classes, where there are some.
    """

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "TargetEncoder":
        """Learn from all rows that have weight."""
        self._learn(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Learn, and encode each row by the folds it is not in."""
        columns, targets, w = self._learn(X, y, sample_weight)
        fold = self._folds(targets, w)
        out = np.empty((len(w), int(self.widths().sum())))
        for k in range(int(fold.max()) + 1):
            held_out = fold == k
            others = np.where(held_out, 0.0, w)
            out[held_out] = self._fold(columns, targets, others, held_out)
        return out

    def transform(self, X: Any) -> np.ndarray:
        """Encode new rows by all rows that were learned from."""
        check_is_fitted(self)
        return self._encoded(use_levels(self, X), self.encodings_, self.target_mean_)

    def widths(self) -> np.ndarray:
        """(d,) how many columns each feature becomes."""
        return np.full(len(self.categories_), len(self.target_mean_))

    def writer(self, columns: list[Levels]) -> Writer:
        """What writes the encodings of some rows."""
        return copier(self._encoded(columns, self.encodings_, self.target_mean_))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names, with the class where there are several."""
        check_is_fitted(self)
        names = names_in(self, input_features)
        if len(self.target_mean_) == 1:
            return np.array(names, dtype=object)
        ends = [f"{name}_{label}" for name in names for label in self.classes_]
        return np.array(ends, dtype=object)

    # How it is learned -----------------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any):
        columns, w = fit_levels(self, X, sample_weight)
        targets = self._targets(y, w)
        tallies = [tally(levels, w) for levels in columns]
        self.categories_ = [in_order(list(found.words)) for found in tallies]
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
        """(n,) the fold of each row: shuffled, and even in each class."""
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

    def _fold(self, columns, targets, w, held_out) -> np.ndarray:
        """The rows held out, encoded by those of weight w."""
        if not w.sum():
            return np.tile(self.target_mean_, len(columns))
        rows = [Levels(levels.codes[held_out], levels.words) for levels in columns]
        mean = weighted_mean(targets, w)
        return self._encoded(rows, self._encodings(columns, targets, w), mean)

    def _encodings(self, columns, targets, w) -> list[np.ndarray]:
        return [
            encoding(place(levels, words), len(words), targets, w, self.smooth)
            for levels, words in zip(columns, self.categories_, strict=True)
        ]

    def _encoded(self, columns, encodings, mean) -> np.ndarray:
        """(n, features): tables of each word, then unknown (-2) and missing (-1)."""
        parts = []
        for j, levels in enumerate(columns):
            words, missing = encodings[j][:-1], encodings[j][-1:]
            table = np.concatenate([words, mean[None], missing])
            parts.append(table[place(levels, self.categories_[j])])
        return np.concatenate(parts, axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags
