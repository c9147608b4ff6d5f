r"""Decision trees: a distribution in each leaf.

Splits are chosen one at a time for the largest gain in log-likelihood (entropy: the
information gain $H(\text{parent}) - \sum_c \frac{n_c}{n} H(c)$), or in Gini's impurity or
squared error. A leaf is the family fitted to its rows.
"""

from typing import Any, ClassVar, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from likely.base.labels import frequency_distribution
from likely.base.outputs import forget_fit
from likely.base.settings import at_least, store
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.estimators.trees.limits import bin_rows, class_rows, tree_limits
from likely.estimators.trees.model import TreeModel
from likely.families import AbstractFamily, Normal, Predictive
from likely.models.trees import Grown, Trees, pruned
from likely.models.trees.fitting import (
    class_task,
    class_values,
    grow,
    moment_task,
    normal_values,
)


class DecisionTreeClassifier(ClassifierMixin, TreeModel):
    """A decision tree for classes: leaves hold their frequencies.

    A class that a leaf has not seen has the frequency 0 there, which is no probability of
    0: one such new row costs 691 nats (the smallest probability of `predict_dist` is
    1e-300). Where the likelihood matters, give leaves more rows (`min_samples_leaf`) and
    add the frequencies of all rows: `SmoothedClassifier(tree, votes=min_samples_leaf)`; or
    grow a forest, in which they count as one more tree.

    Args:
        criterion: "gini", or "entropy" (the information gain, in nats).
        max_depth: the largest number of questions on the way to a leaf.
        min_samples_split: the least weight of a node that may be split.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_weight_fraction_leaf: the least weight of a leaf as a share of all.
        max_features: how many features a split looks at, drawn anew: a number, a share,
            "sqrt", "log2", or None for all.
        max_leaf_nodes: the largest number of leaves; the best splits first.
        min_impurity_decrease: the least gain of a split, per unit of all weight.
        class_weight: None, "balanced" or a dict.
        ccp_alpha: prune branches that do not gain this much for each leaf.
        categorical_features: columns whose numbers are names of categories: split as sets.
        random_state: for `max_features`.

    Attributes:
        classes_: the labels, sorted.
        trees_: the tree as flat arrays.
        feature_importances_: share of all gain. It favours features with many values,
            and is measured on the training rows: see `selection.permutation_importance`.
    """

    _single_tree: ClassVar[bool] = True
    criterion: Any
    ccp_alpha: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        categorical_features: Any = None,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Grow the tree.

        Args:
            X: (n, d) inputs; NaN is "missing".
            y: (n,) classes.
            sample_weight: how often each row counts.
        """
        rows = class_rows(self, X, y, sample_weight)
        bins, codes = bin_rows(self, rows)
        task = class_task(rows.y, rows.w, len(self.classes_), self.criterion)
        limits = tree_limits(self, rows.X.shape[1], rows.w)
        seed = seed_of(self.random_state)
        tree = grow(bins, codes, task, limits, seed, class_values)
        if at_least("ccp_alpha", self.ccp_alpha):
            tree = pruned(tree, self.ccp_alpha)
        self.trees_ = Trees.of(bins, [tree], np.zeros(len(self.classes_)))
        return self

    def _dist(self, X: np.ndarray) -> Predictive:
        return frequency_distribution(self._leaf_total(X), self.classes_)


class DecisionTreeRegressor(RegressorMixin, TreeModel):
    """A decision tree for numbers: leaves hold a distribution.

    Several outputs, y of shape (n, q), get a tree each and are independent given x.

    Args:
        criterion: "squared_error"; or a family of `likely.families`, whose
            log-likelihood is then what splits gain.
        max_depth: the largest number of questions on the way to a leaf.
        min_samples_split: the least weight of a node that may be split.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_weight_fraction_leaf: the least weight of a leaf as a share of all.
        max_features: how many features a split looks at, drawn anew: a number, a share,
            "sqrt", "log2", or None for all.
        max_leaf_nodes: the largest number of leaves; the best splits first.
        min_impurity_decrease: the least gain of a split, per unit of all weight.
        ccp_alpha: prune branches that do not gain this much for each leaf.
        categorical_features: columns whose numbers are names of categories: split as sets.
        random_state: for `max_features`.

    Attributes:
        family_: the family of the leaves; with squared error a normal one, whose
            variance leans on the variance within all leaves with the weight of one row.
        trees_: the tree as flat arrays; values are η.
        outputs_: with several outputs, the fitted tree of each (and no `trees_`).
        feature_importances_: share of all gain. It favours features with many values,
            and is measured on the training rows: see `selection.permutation_importance`.
    """

    _allows_outputs: ClassVar[bool] = True
    _single_tree: ClassVar[bool] = True
    criterion: Any
    ccp_alpha: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        *,
        criterion: Any = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        categorical_features: Any = None,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Grow the tree.

        Args:
            X: (n, d) inputs; NaN is "missing".
            y: (n,) numbers, or (n, q): a model for each column.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight).present()
        forget_fit(self)
        if rows.y.ndim == 2:
            return self._fit_outputs(X, y, sample_weight=sample_weight)
        bins, codes = bin_rows(self, rows)
        limits = tree_limits(self, rows.X.shape[1], rows.w)
        seed = seed_of(self.random_state)
        if isinstance(self.criterion, AbstractFamily):
            from likely.models.trees.likelihood import grow_likelihood

            self.family_ = self.criterion
            self.family_.check(rows.y, rows.w)
            tree = grow_likelihood(bins, codes, rows, self.family_, limits, seed)
        elif self.criterion == "squared_error":
            self.family_ = Normal()
            task = moment_task(rows.y, rows.w)
            tree = grow(bins, codes, task, limits, seed, normal_values)
        else:
            raise InputError(
                f"criterion is {self.criterion!r}; give 'squared_error' or a family of "
                "likely.families."
            )
        if at_least("ccp_alpha", self.ccp_alpha):
            tree = pruned(tree, self.ccp_alpha)
        if self.criterion == "squared_error":
            tree = tree._replace(value=_normal_eta(tree))
        self.trees_ = Trees.of(bins, [tree], np.zeros(self.family_.n_eta))
        return self

    def _dist(self, X: np.ndarray) -> Predictive:
        return Predictive(self.family_, self._leaf_total(X))


def _normal_eta(tree: Grown) -> np.ndarray:
    """η of each node's normal; its variance leans on the variance within all leaves.

    The variance within all leaves counts as one more row of each node, so that a leaf of
    one row has a variance above zero.
    """
    mean, variance, w = tree.value[:, 0], tree.value[:, 1], tree.weight
    leaves = tree.nodes == 0
    pooled = float((variance * w)[leaves].sum() / w[leaves].sum())
    smallest = max(1e-12 * float(variance[0]), np.finfo(float).tiny)
    variance = (variance * w + max(pooled, smallest)) / (w + 1)
    return np.stack([mean, 0.5 * np.log(variance)], axis=1)
