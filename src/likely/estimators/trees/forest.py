r"""Random forests: bootstraps and feature subsets, averaged as distributions.

Each tree sees every row as often as a bootstrap draws it (a weight) and looks at a few
features at each split. The forest's prediction is the mixture of its leaves,
$p(y \mid x) = \frac1T \sum_t p_{l_t(x)}(y)$: for classes the mean frequency, for numbers a
mixture of normals. Rows that a tree has not drawn ("out of bag") judge it for free.

Leaves of trees that are grown out know one class, and all of them may agree by chance: a
frequency of 0 is no probability of 0. How far the mean frequency can be believed is learned
out of bag, see `base.calibration`.
"""

from typing import Any, ClassVar, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from likely.base.calibration import calibrate, keep, log_of
from likely.base.outputs import forget_fit
from likely.base.rows import Rows
from likely.base.settings import store
from likely.core.checks import InputError
from likely.estimators.trees.growing import (
    forest_spread_and_scale,
    grow_forest,
    judged_rows,
    judged_votes,
    out_of_bag,
)
from likely.estimators.trees.limits import class_rows
from likely.estimators.trees.model import TreeModel
from likely.evaluate.scores import r_squared
from likely.families import Mixture, Normal, Predictive, mix
from likely.models.trees.fitting import (
    Task,
    class_task,
    class_values,
    moment_task,
    normal_values,
)


class RandomForestClassifier(ClassifierMixin, TreeModel):
    r"""A random forest for classes: the mean frequency over the leaves of all trees.

    The class of the largest mean frequency f is predicted. Probabilities keep the order of
    the frequencies: $p_c = (1 - λ) f_c^{1/T} / \sum_b f_b^{1/T} + λ π_c$ with T and λ of
    largest likelihood out of bag (on up to 1,000 rows; without bootstraps, on rows that
    further trees on the others have not seen) and π the base rates.

    Args:
        n_estimators: the number of trees.
        criterion: "gini", or "entropy" (the information gain, in nats).
        max_depth: the largest number of questions on the way to a leaf.
        min_samples_split: the least weight of a node that may be split.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_weight_fraction_leaf: the least weight of a leaf as a share of all.
        max_features: how many features a split looks at, drawn anew.
        max_leaf_nodes: the largest number of leaves of a tree; the best splits first.
        min_impurity_decrease: the least gain of a split, per unit of all weight.
        bootstrap: whether each tree sees its own draw of the rows.
        max_samples: draws of each bootstrap: a number, a share, or None for all.
        oob_score: whether to judge each row by the trees that have not seen it.
        class_weight: None, "balanced" or a dict.
        categorical_features: columns whose numbers are names of categories: split as sets.
        n_jobs: threads; all processors unless given. No bit depends on it.
        random_state: for the bootstraps and features.
        verbose: show a progress bar.

    Attributes:
        classes_: the labels, sorted.
        trees_: the trees as flat arrays; values are the frequencies of the classes.
        temperature_: T, by which frequencies are made less (above 1) or more extreme.
        base_share_: λ, how much of a probability is the base rate of its class.
        base_rates_: (c,) π, the shares of the classes in all rows.
        oob_score_: accuracy out of bag.
        oob_decision_function_: (n, c) frequencies out of bag, of the rows with weight;
            NaN where every tree has seen the row.
        feature_importances_: share of all gain. It favours features with many values,
            and is measured on the training rows: see `selection.permutation_importance`.

    Examples:
        >>> X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
        >>> print(lk.RandomForestClassifier(10).fit(X, y).predict([[1.0], [18.0]]))
        [0 1]
    """

    _averaged: ClassVar[bool] = True
    criterion: Any
    oob_score: Any
    n_jobs: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        max_samples: Any = None,
        oob_score: bool = False,
        class_weight: Any = None,
        categorical_features: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool = False,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Grow the forest.

        Args:
            X: (n, d) inputs; NaN is "missing", and columns may hold words.
            y: (n,) classes.
            sample_weight: how often each row counts.
        """
        rows = class_rows(self, X, y, sample_weight)
        c, codes = len(self.classes_), rows.y.astype(int)

        def make_task(rows: Rows) -> Task:
            return class_task(rows.y, rows.w, c, self.criterion)

        forest = grow_forest(self, rows, make_task(rows), class_values)
        self.trees_ = forest.trees
        judged = judged_rows(self, rows, forest, make_task, class_values)
        rates = np.bincount(codes, rows.w, c) / rows.w.sum()
        votes, known, w = judged_votes(judged, c)
        keep(self, calibrate(log_of(votes), known, w, rates))
        if self.oob_score:
            sums, counts = out_of_bag(forest, rows.X, self.n_jobs)
            with np.errstate(invalid="ignore"):
                self.oob_decision_function_ = sums / counts[:, None]
            seen_by_all = counts == 0
            right = sums.argmax(axis=1) == codes
            self.oob_score_ = float(
                np.average(right[~seen_by_all], weights=rows.w[~seen_by_all])
            )
        return self

    def _dist(self, X: np.ndarray) -> Predictive:
        return self._class_dist(X)


class RandomForestRegressor(RegressorMixin, TreeModel):
    r"""A random forest for numbers: a mixture of normals, one for each tree.

    A leaf with mean m, variance v and weight W is
    $N(\bar m + s(m - \bar m),\; (Wv + τ^2)/(W + 1))$, $\bar m$ the mean over the trees: its
    variance leans on τ² (trees that are grown out have v = 0 in every leaf), and as far as
    the trees differ by the noise of single rows only, s below 1 takes that back. Both are
    those of largest likelihood out of bag (without bootstraps, on rows that further trees
    on the others have not seen); the mean of the mixture depends on neither.

    Several outputs, y of shape (n, q), get a forest each, on the same bootstraps, and are
    independent given x.

    Args:
        n_estimators: the number of trees.
        criterion: "squared_error".
        max_depth: the largest number of questions on the way to a leaf.
        min_samples_split: the least weight of a node that may be split.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_weight_fraction_leaf: the least weight of a leaf as a share of all.
        max_features: how many features a split looks at, drawn anew.
        max_leaf_nodes: the largest number of leaves of a tree; the best splits first.
        min_impurity_decrease: the least gain of a split, per unit of all weight.
        bootstrap: whether each tree sees its own draw of the rows.
        max_samples: draws of each bootstrap: a number, a share, or None for all.
        oob_score: whether to judge each row by the trees that have not seen it.
        categorical_features: columns whose numbers are names of categories: split as sets.
        n_jobs: threads; all processors unless given. No bit depends on it.
        random_state: for the bootstraps and features.
        verbose: show a progress bar.

    Attributes:
        family_: the mixture.
        trees_: the trees as flat arrays; values are mean and variance.
        outputs_: with several outputs, the fitted forest of each (and no `trees_`).
        scale_: τ, of each output.
        spread_: s, of each output.
        oob_score_: R² out of bag, the mean over outputs.
        oob_prediction_: means out of bag, of the rows with weight.
        feature_importances_: share of all gain. It favours features with many values,
            and is measured on the training rows: see `selection.permutation_importance`.

    Examples:
        >>> X, y = np.arange(20.0)[:, None], np.repeat([0.0, 8.0], 10)
        >>> print(lk.RandomForestRegressor(10).fit(X, y).predict([[1.0], [18.0]]).round())
        [0. 8.]
    """

    _allows_outputs: ClassVar[bool] = True
    _averaged: ClassVar[bool] = True
    criterion: Any
    oob_score: Any
    n_jobs: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        max_samples: Any = None,
        oob_score: bool = False,
        categorical_features: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool = False,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Grow the forest.

        Args:
            X: (n, d) inputs; NaN is "missing", and columns may hold words.
            y: (n,) numbers, or (n, q): a model for each column.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight).present()
        forget_fit(self)
        if rows.y.ndim == 2:
            return self._fit_outputs(X, y, sample_weight=sample_weight)
        if self.criterion != "squared_error":
            raise InputError(
                f"criterion is {self.criterion!r}; give 'squared_error' (for the "
                "likelihood of a family use Bagging of DecisionTreeRegressor)."
            )

        def make_task(rows: Rows) -> Task:
            return moment_task(rows.y, rows.w)

        forest = grow_forest(self, rows, make_task(rows), normal_values)
        self.trees_ = forest.trees
        total = len(forest.trees)
        self.family_ = Mixture(Normal(), total) if total > 1 else Normal()
        judged = judged_rows(self, rows, forest, make_task, normal_values)
        self.spread_, self.scale_ = forest_spread_and_scale(rows, judged)
        if self.oob_score:
            sums, counts = out_of_bag(forest, rows.X, self.n_jobs)
            judged = counts > 0
            if judged.any():
                mean = sums[judged, 0] / counts[judged]
            else:
                judged, mean = np.ones(len(rows.y), bool), self._mean_of_one(rows.X)
            self.oob_prediction_ = np.full(len(rows.y), np.nan)
            self.oob_prediction_[judged] = mean
            found = r_squared(rows.y[judged], mean, rows.w[judged])
            self.oob_score_ = float(np.nan_to_num(found))  # 0 where y is constant
        return self

    def _dist(self, X: np.ndarray) -> Predictive:
        leaves = self.trees_.leaves(X, self.n_jobs)
        mean, variance = self.trees_.value[leaves].transpose(2, 0, 1)
        weight = self.trees_.weight[leaves]
        variance = (variance * weight + self.scale_**2) / (weight + 1)
        centre = mean.mean(axis=1, keepdims=True)
        mean = centre + getattr(self, "spread_", 1.0) * (mean - centre)
        eta = np.stack([mean.T, 0.5 * np.log(variance.T)], axis=2)
        mixture: Any = mix(Normal(), eta)
        return mixture
