r"""Decision trees: a distribution in each leaf.

Splits are chosen one at a time for the largest gain in log-likelihood (entropy: the
information gain $H(\text{parent}) - \sum_c \frac{n_c}{n} H(c)$), or in Gini's impurity or
squared error. A leaf is the family fitted to its rows.
"""

from typing import Any, ClassVar, no_type_check

import equinox as eqx
import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from likely.base.calibration import calibrate, keep, log_of
from likely.base.held_out import MAX_ROWS_FOR_PARTS, least_variance, variance_of
from likely.base.outputs import forget_fit
from likely.base.rows import Rows
from likely.base.settings import at_least, store
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.estimators.trees.held_out import (
    LeafVariance,
    held_out_leaves,
    leaf_variance,
    with_shared_dispersion,
)
from likely.estimators.trees.limits import bin_rows, class_rows, tree_limits
from likely.estimators.trees.model import TreeModel
from likely.families import AbstractFamily, Normal, Predictive
from likely.models.trees import Trees, pruned
from likely.models.trees.fitting import (
    class_task,
    class_values,
    grow,
    moment_task,
    normal_values,
)


class DecisionTreeClassifier(ClassifierMixin, TreeModel):
    """A decision tree for classes: leaves hold their frequencies.

    The class that is predicted is the most frequent one of the leaf. A class that a leaf
    has not seen has the frequency 0 there, which is no probability of 0: how far a
    frequency can be believed (`temperature_` and `base_share_`, see `base.calibration`)
    is learned from rows that further trees have not seen, on four fifths of the rows.

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
        trees_: the tree as flat arrays; values are the frequencies of the classes.
        temperature_: T, by which frequencies are made less (above 1) or more extreme.
        base_share_: λ, how much of a probability is the base rate of its class.
        base_rates_: (c,) the shares of the classes in all rows.
        feature_importances_: share of all gain. It favours features with many values,
            and is measured on the training rows: see `selection.permutation_importance`.

    Examples:
        >>> X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
        >>> print(lk.DecisionTreeClassifier(max_depth=1).fit(X, y).predict([[1.0], [4.0]]))
        [0 1]
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
            X: (n, d) inputs; NaN is "missing", and columns may hold words.
            y: (n,) classes.
            sample_weight: how often each row counts.
        """
        rows, grow_on = self._grow(X, y, sample_weight)
        votes, _, out, w = held_out_leaves(rows, grow_on)
        codes = rows.y.astype(int)
        rates = np.bincount(codes, rows.w, len(self.classes_)) / rows.w.sum()
        keep(self, calibrate(log_of(votes), codes[out], w, rates))
        return self

    def _fit_votes(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit as a member of an ensemble, which calibrates what its members say."""
        forget_fit(self)
        self._grow(X, y, sample_weight)
        return self

    def _grow(self, X: Any, y: Any, sample_weight: Any):
        """Grow the tree; the rows, and a function that grows one with other weights."""
        rows = class_rows(self, X, y, sample_weight)
        bins, codes = bin_rows(self, rows)
        limits = tree_limits(self, rows.X.shape[1], rows.w)
        seed, n_classes = seed_of(self.random_state), len(self.classes_)

        def grow_on(w: np.ndarray) -> Trees:
            task = class_task(rows.y, w, n_classes, self.criterion)
            tree = grow(bins, codes, task, limits, seed, class_values)
            if at_least("ccp_alpha", self.ccp_alpha):
                tree = pruned(tree, self.ccp_alpha)
            return Trees.of(bins, [tree], np.zeros(n_classes))

        self.trees_ = grow_on(rows.w)
        return rows, grow_on

    def _dist(self, X: np.ndarray) -> Predictive:
        return self._class_dist(X)


class DecisionTreeRegressor(RegressorMixin, TreeModel):
    """A decision tree for numbers: leaves hold a distribution.

    Several outputs, y of shape (n, q), get a tree each and are independent given x.

    Args:
        criterion: "squared_error"; or a family of `likely.families`, whose
            log-likelihood is then what splits gain. Of two parameters small leaves know
            one: the second is then the same for all of them, learned from rows held out.
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
        family_: the family of the leaves; a normal one with squared error, see `scale_`.
        trees_: the tree as flat arrays; values are η.
        scale_: τ, where leaves are normal: the variance of a leaf of weight W leans on τ² with
            the weight κ, (W v + κ τ²) / (W + κ). Both are those of largest likelihood on
            rows that further trees have not seen, on four fifths of the rows.
        outputs_: with several outputs, the fitted tree of each (and no `trees_`).
        feature_importances_: share of all gain. It favours features with many values,
            and is measured on the training rows: see `selection.permutation_importance`.

    Examples:
        >>> X, y = np.arange(6.0)[:, None], np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0])
        >>> print(lk.DecisionTreeRegressor(max_depth=1).fit(X, y).predict([[1.0], [4.0]]))
        [1. 5.]
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
            X: (n, d) inputs; NaN is "missing", and columns may hold words.
            y: (n,) numbers, or (n, q): a model for each column.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight).present()
        forget_fit(self)
        if rows.y.ndim == 2:
            return self._fit_outputs(X, y, sample_weight=sample_weight)
        tree, grow_on = self._grow(rows)
        squared = self.criterion == "squared_error"
        if self._has_normal_leaves or self.family_.n_eta == 2:
            most = MAX_ROWS_FOR_PARTS if squared else 0  # a likelihood takes its time
            leaves = held_out_leaves(rows, grow_on, most)
            if self._has_normal_leaves:
                found = leaf_variance(rows, leaves)
                self.scale_ = float(np.sqrt(found.square))
                tree = _with_normals(tree, found)
            else:
                tree = with_shared_dispersion(tree, self.family_, rows, leaves)
        self.trees_ = tree
        return self

    def _fit_votes(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit as a member of an ensemble, which learns the scale of its errors itself."""
        rows = self._rows(X, y, sample_weight).present()
        forget_fit(self)
        self.trees_, _ = self._grow(rows)
        if self._has_normal_leaves:
            square = max(variance_of(rows.y, rows.w), least_variance(rows.y, rows.w))
            self.trees_ = _with_normals(self.trees_, LeafVariance(1.0, square))
        return self

    def _grow(self, rows: Rows):
        """The tree, and a function that grows one with other weights."""
        bins, codes = bin_rows(self, rows)
        limits = tree_limits(self, rows.X.shape[1], rows.w)
        seed = seed_of(self.random_state)
        if isinstance(self.criterion, AbstractFamily):
            self.family_ = self.criterion
            self.family_.check(rows.y, rows.w)
        elif self.criterion == "squared_error":
            self.family_ = Normal()
        else:
            raise InputError(
                f"criterion is {self.criterion!r}; give 'squared_error' or a family of "
                "likely.families."
            )

        def grow_on(w: np.ndarray) -> Trees:
            if self.criterion == "squared_error":
                task = moment_task(rows.y, w)
                tree = grow(bins, codes, task, limits, seed, normal_values)
            else:
                from likely.models.trees.likelihood import grow_likelihood

                data, own = rows._replace(w=w).present(), codes[:, w > 0]
                tree = grow_likelihood(bins, own, data, self.family_, limits, seed)
                if self._has_normal_leaves:
                    mean, log_scale = tree.value.T
                    value = np.stack([mean, np.exp(2 * log_scale)], axis=1)
                    tree = tree._replace(value=value)
            if at_least("ccp_alpha", self.ccp_alpha):
                tree = pruned(tree, self.ccp_alpha)
            return Trees.of(bins, [tree], np.zeros(self.family_.n_eta))

        return grow_on(rows.w), grow_on

    @property
    def _has_normal_leaves(self) -> bool:
        """Whether a leaf has a mean and a variance, which a single row does not know."""
        return type(self.family_) is Normal and self.family_.scale is None

    def _dist(self, X: np.ndarray) -> Predictive:
        return Predictive(self.family_, self._leaf_total(X))


def _with_normals(tree: Trees, leaf: LeafVariance) -> Trees:
    """The tree of means and variances with η of each node's normal."""
    variance = leaf.of(tree.value[:, 1], tree.weight)
    eta = np.stack([tree.value[:, 0], 0.5 * np.log(variance)], axis=1)
    return eqx.tree_at(lambda t: t.value, tree, eta)
