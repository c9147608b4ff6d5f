r"""Decision trees: a distribution in each leaf.

Splits are chosen one at a time for the largest gain in log-likelihood (entropy: the
information gain $H(\text{parent}) - \sum_c \frac{n_c}{n} H(c)$), or in Gini's impurity or
squared error. A leaf is the family fitted to its rows.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, no_type_check

import numpy as np

from likely.core.checks import InputError
from likely.estimators.host import (
    AbstractHostClassifier,
    Rows,
    class_weights,
    column_mask,
    positive,
    seed_of,
)
from likely.estimators.trees.outputs import AbstractOutputs, outputs_of
from likely.families import AbstractFamily, Categorical, Normal, Predictive
from likely.models.trees import Bins, Grown, Trees, pruned, pruning_path, tree_text
from likely.models.trees.ensemble import sum_leaves
from likely.models.trees.fitting import (
    TreeLimits,
    class_task,
    class_values,
    grow,
    moment_task,
    normal_values,
)
from likely.models.trees.shap import shap_values
from likely.models.trees.text import question

UNLIMITED = 2**31 - 1


def tree_limits(estimator: Any, d: int, w: np.ndarray) -> TreeLimits:
    """The limits of an estimator, checked."""
    get = estimator.get_params(deep=False).get
    leaf = positive("min_samples_leaf", get("min_samples_leaf"), least=0)
    share = positive("min_weight_fraction_leaf", get("min_weight_fraction_leaf"))
    leaves, depth = get("max_leaf_nodes"), get("max_depth")
    return TreeLimits(
        max_depth=UNLIMITED
        if depth is None
        else positive("max_depth", depth, least=1, whole=True),
        max_leaves=UNLIMITED
        if leaves is None
        else positive("max_leaf_nodes", leaves, least=2, whole=True),
        max_features=feature_count(get("max_features"), d),
        min_leaf=max(0.0 if leaf <= 1 else leaf, share * float(w.sum())),
        min_split=positive("min_samples_split", get("min_samples_split"), least=0)
        if get("min_samples_split") > 2
        else 0.0,
        min_gain=positive("min_impurity_decrease", get("min_impurity_decrease"))
        * float(w.sum()),
    )


def feature_count(max_features: Any, d: int) -> int:
    """How many features a split looks at."""
    if max_features is None:
        return d
    if isinstance(max_features, str):
        if max_features not in ("sqrt", "log2"):
            raise InputError(
                f"max_features is {max_features!r}; give 'sqrt', 'log2', a number of "
                "features, a share of them, or None for all."
            )
        found = np.sqrt(d) if max_features == "sqrt" else np.log2(d)
    elif isinstance(max_features, float):
        found = positive("max_features", max_features) * d
    else:
        found = positive("max_features", max_features, least=1, whole=True)
    return int(min(max(found, 1), d))


def code_table(estimator: Any, rows: Rows) -> tuple[Bins, np.ndarray]:
    """The bins of the data, and its codes."""
    d = rows.X.shape[1]
    if d >= 2**16:
        raise InputError(f"X has {d} columns; trees take fewer than {2**16}.")
    names = getattr(estimator, "feature_names_in_", None)
    mask = column_mask(estimator.categorical_features, d, names)
    n_jobs = getattr(estimator, "n_jobs", None)
    bins = Bins.of(rows.X, rows.w, mask, n_jobs=n_jobs)
    return bins, bins.encode(rows.X, n_jobs)


class AbstractOfTrees(ABC):
    """What every estimator that is made of trees can say about them."""

    trees_: Trees
    _averaged: ClassVar[bool] = False
    """Whether the prediction is the mean of the trees, or their sum."""

    @abstractmethod
    def _inputs(self, X: Any) -> np.ndarray:
        """X as a table of numbers."""

    @property
    def feature_importances_(self) -> np.ndarray:
        """Each feature's share of the gain of all splits, on the training rows.

        It favours features with many values, and sees no new rows: to be told what a
        model needs, ask `likely.selection.permutation_importance`. Of several outputs
        it is the mean.
        """
        if models := outputs_of(self):
            return np.mean([m.feature_importances_ for m in models], axis=0)
        trees = self.trees_
        inside = trees.feature >= 0
        gains = np.maximum(trees.gain[inside], 0.0)
        d = len(trees.bins.categorical)
        totals = np.bincount(trees.feature[inside], gains, minlength=d)
        return totals / totals.sum() if totals.sum() > 0 else totals

    def apply(self, X: Any) -> np.ndarray:
        """(n, trees) the leaf of each row in each tree."""
        X = self._inputs(X)
        return self._only.leaves(X)

    def shap_values(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Exact SHAP values (n, d, k) and their base (k,); they sum to the prediction.

        The prediction is η where trees are boosted, and else what a leaf holds: class
        frequencies, mean and variance, or η of the family; of several outputs, theirs
        side by side.
        """
        X = self._inputs(X)
        if models := outputs_of(self):
            phi, base = zip(*(m._shap_values(X) for m in models), strict=True)
            return np.concatenate(phi, axis=2), np.concatenate(base)
        return self._shap_values(X)

    def _shap_values(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        phi, base = shap_values(self.trees_, X)
        return phi / self._members, base / self._members

    @property
    def _only(self) -> Trees:
        """The trees of a single output."""
        if outputs_of(self):
            raise InputError(
                "y has columns, and each of them has trees of its own; ask the model of "
                "one: outputs_[0]."
            )
        return self.trees_

    @property
    def _members(self) -> float:
        """What a mean divides by: the trees, and a prior that counts as one of them."""
        prior = float(self.trees_.start.sum())
        return len(self.trees_) + prior if self._averaged else 1.0


class AbstractDrawn(AbstractOfTrees, ABC):
    """What a single tree can show of itself."""

    @property
    def tree_(self) -> Grown:
        """The one tree."""
        return self._only.tree(0)

    @abstractmethod
    def _leaf_text(self, value: np.ndarray) -> str:
        """What the values of a leaf mean."""

    def text(self) -> str:
        """The tree in words."""
        names = getattr(self, "feature_names_in_", None)
        return tree_text(self._only, names=names, leaf=self._leaf_text)

    def draw(self, *, max_depth: int = 4, title: str = "A decision tree") -> Any:
        """The tree as a Matplotlib figure, down to a depth."""
        from likely import plots

        trees = self._only
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(len(trees.bins.categorical))]
        left = trees.left
        words = [
            self._leaf_text(trees.value[i])
            if left[i] < 0
            else question(trees, i, names)
            for i in range(len(left))
        ]
        return plots.tree(left, words, trees.weight, max_depth=max_depth, title=title)

    def get_depth(self) -> int:
        """The most questions on the way to a leaf."""
        return int(self._only.depths.max())

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        return int((self._only.left < 0).sum())

    def pruning_path(self) -> tuple[np.ndarray, np.ndarray]:
        """Falling subtrees: each `ccp_alpha` at which one begins, and its leaves."""
        alpha, count = pruning_path(self.tree_)
        cut = count > 0
        order = np.lexsort((-count[cut], alpha[cut]))
        alphas = np.append(0.0, alpha[cut][order])
        leaves = np.append(self.get_n_leaves(), count[cut][order])
        last = np.append(alphas[1:] != alphas[:-1], True)
        return alphas[last], leaves[last]


class DecisionTreeClassifier(AbstractHostClassifier, AbstractDrawn):
    """A decision tree for classes: leaves hold their frequencies.

    A class that a leaf has not seen has the frequency 0 there, which is no probability of
    0: one such new row costs 708 nats (`predict_dist` stops at the least number). To be
    judged by likelihood, give leaves more rows (`min_samples_leaf`) and a vote for what is
    common: `SmoothedClassifier(tree, votes=min_samples_leaf)`; or grow a forest, in which
    the frequencies of all rows count as one more tree.

    Args:
        criterion: "gini", or "entropy" (the information gain, in nats).
        max_depth: the most questions on the way to a leaf.
        min_samples_split: the least weight of a node that may be split.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_weight_fraction_leaf: the least weight of a leaf as a share of all.
        max_features: how many features a split looks at, drawn anew: a number, a share,
            "sqrt", "log2", or None for all.
        max_leaf_nodes: the most leaves; the best splits first.
        min_impurity_decrease: the least gain of a split, per unit of all weight.
        class_weight: None, "balanced" or a dict.
        ccp_alpha: prune branches that do not gain this much for each leaf.
        categorical_features: columns whose numbers are names: split as sets.
        random_state: for `max_features`.

    Attributes:
        classes_: the labels, sorted.
        trees_: the tree as flat arrays.
        feature_importances_: share of all gain. It favours features with many values,
            and is measured on the training rows: see `selection.permutation_importance`.
    """

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
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.categorical_features = categorical_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Grow the tree.

        Args:
            X: (n, d) inputs; NaN is "missing".
            y: (n,) classes.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight)
        w = class_weights(self.class_weight, self.classes_, rows.y, rows.w)
        rows = Rows(*(a[w > 0] for a in (rows.X, rows.y, w)))
        bins, codes = code_table(self, rows)
        task = class_task(rows.y, rows.w, len(self.classes_), self.criterion)
        limits = tree_limits(self, rows.X.shape[1], rows.w)
        seed = seed_of(self.random_state)
        tree = grow(bins, codes, task, limits, seed, class_values)
        if positive("ccp_alpha", self.ccp_alpha):
            tree = pruned(tree, self.ccp_alpha)
        self.trees_ = Trees.of(bins, [tree], np.zeros(len(self.classes_)))
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """The frequencies of the classes in the leaf of each row."""
        probs = self._probs(self._inputs(X))
        return class_predictive(probs, self.classes_)

    def _probs(self, X: np.ndarray) -> np.ndarray:
        return sum_leaves(self.trees_, X)

    def _leaf_text(self, value: np.ndarray) -> str:
        label = self.classes_[value.argmax()]
        return f"{label}, p = {np.array2string(value, precision=3)}"


class DecisionTreeRegressor(AbstractOutputs, AbstractDrawn):
    """A decision tree for numbers: leaves hold a distribution.

    Several outputs, y of shape (n, q), get a tree each and are independent given x.

    Args:
        criterion: "squared_error"; or a family of `likely.families`, whose
            log-likelihood is then what splits gain.
        max_depth: the most questions on the way to a leaf.
        min_samples_split: the least weight of a node that may be split.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_weight_fraction_leaf: the least weight of a leaf as a share of all.
        max_features: how many features a split looks at, drawn anew: a number, a share,
            "sqrt", "log2", or None for all.
        max_leaf_nodes: the most leaves; the best splits first.
        min_impurity_decrease: the least gain of a split, per unit of all weight.
        ccp_alpha: prune branches that do not gain this much for each leaf.
        categorical_features: columns whose numbers are names: split as sets.
        random_state: for `max_features`.

    Attributes:
        family_: the family of the leaves; with squared error a normal one, whose
            variance leans on the variance within all leaves with the weight of one row.
        trees_: the tree as flat arrays; values are η.
        outputs_: with several outputs, the fitted tree of each (and no `trees_`).
        feature_importances_: share of all gain. It favours features with many values,
            and is measured on the training rows: see `selection.permutation_importance`.
    """

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
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.categorical_features = categorical_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Grow the tree.

        Args:
            X: (n, d) inputs; NaN is "missing".
            y: (n,) numbers, or (n, q): a model for each column.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight)
        if self._has_columns(rows):
            return self._fit_each(X, y, sample_weight=sample_weight)
        bins, codes = code_table(self, rows)
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
        if positive("ccp_alpha", self.ccp_alpha):
            tree = pruned(tree, self.ccp_alpha)
        if self.criterion == "squared_error":
            tree = tree._replace(value=_as_normal(tree))
        self.trees_ = Trees.of(bins, [tree], np.zeros(self.family_.n_eta))
        return self

    def _one_dist(self, X: np.ndarray) -> Predictive:
        """The distribution of the leaf of each row."""
        return Predictive(self.family_, sum_leaves(self.trees_, X))

    def _one_mean(self, X: np.ndarray) -> np.ndarray:
        eta = sum_leaves(self.trees_, X)
        if type(self.family_) is Normal:
            return eta[:, 0]
        return Predictive(self.family_, eta).mean

    def _leaf_text(self, value: np.ndarray) -> str:
        theta = Predictive(self.family_, value[None]).theta
        return ", ".join(f"{k} = {v[0]:.4g}" for k, v in theta.items())


def _as_normal(tree: Grown) -> np.ndarray:
    """(mean, variance) as η of a normal, the variance leaning on that of all leaves."""
    mean, variance, w = tree.value[:, 0], tree.value[:, 1], tree.weight
    leaves = tree.nodes == 0
    pooled = float((variance * w)[leaves].sum() / w[leaves].sum())
    least = max(1e-12 * float(variance[0]), np.finfo(float).tiny)
    variance = (variance * w + max(pooled, least)) / (w + 1)
    return np.stack([mean, 0.5 * np.log(variance)], axis=1)


def class_predictive(probs: np.ndarray, classes: np.ndarray) -> Predictive:
    """Class probabilities as a distribution; none is quite impossible."""
    logits = np.log(np.maximum(probs, np.finfo(float).tiny))
    return Predictive(Categorical(len(classes)), logits, classes)
