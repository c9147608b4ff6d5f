r"""Random forests: bootstraps and feature subsets, averaged as distributions.

Each tree sees every row as often as a bootstrap draws it (a weight) and looks at a few
features at each split. The forest's prediction is the mixture of its leaves,
$p(y \mid x) = \frac1T \sum_t p_{l_t(x)}(y)$: for classes the mean frequency, for numbers a
mixture of normals. Rows that a tree has not drawn ("out of bag") judge it for free.

Leaves that are grown out know one class, and T of them may agree by chance: no frequency
is a probability of 0. So the mixture for classes has one more member, the tree without
splits, whose only leaf holds the frequencies π of all rows (the prior):
$p(y \mid x) = \frac{1}{T+1}\bigl(π_y + \sum_t p_{l_t(x)}(y)\bigr)$.
"""

from typing import Any, ClassVar, NamedTuple, no_type_check

import equinox as eqx
import numpy as np

from likely.core.checks import InputError
from likely.estimators.host import (
    AbstractHostClassifier,
    Rows,
    class_weights,
    positive,
    seed_of,
)
from likely.estimators.progress import Progress
from likely.estimators.trees.outputs import AbstractOutputs
from likely.estimators.trees.tree import (
    AbstractOfTrees,
    class_predictive,
    code_table,
    tree_limits,
)
from likely.families import Mixture, Normal, Predictive
from likely.models.trees import Trees
from likely.models.trees.ensemble import sum_leaves
from likely.models.trees.fitting import (
    Task,
    class_task,
    class_values,
    grow,
    moment_task,
    normal_values,
)

SPREADS = (0.0, 0.25, 0.5, 0.75, 1.0)
SHARES = (0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2)
"""What is tried for s, and for τ² as a share of the error out of bag."""
SOME = 500
"""Rows by which they are chosen."""


class _Grown(NamedTuple):
    """A forest, the sum and number of out-of-bag predictions of each row, its draws."""

    trees: Trees
    sums: np.ndarray
    votes: np.ndarray
    seed: int
    size: int


def draws(seed: int, t: int, n: int, size: int) -> np.ndarray:
    """How often the bootstrap of tree t draws each of n rows."""
    rng = np.random.default_rng([seed, t])
    return np.bincount(rng.integers(0, n, size), minlength=n)


def _grow_forest(estimator: Any, rows: Rows, task: Task, values: Any) -> _Grown:
    """Grow the trees in threads, each from its own seed."""
    from likely.core.compiled import share

    n, d = rows.X.shape
    total = positive("n_estimators", estimator.n_estimators, least=1, whole=True)
    bins, codes = code_table(estimator, rows)
    limits, seed = tree_limits(estimator, d, rows.w), seed_of(estimator.random_state)
    size = _sample_size(estimator.max_samples, n) if estimator.bootstrap else n
    n_jobs = estimator.n_jobs
    with Progress(estimator) as progress:

        def one(t: int):
            own = task
            if estimator.bootstrap:
                own = task.drawn(draws(seed, t, n, size))
            mixed = (seed + 0x9E3779B97F4A7C15 * (t + 1)) % 2**64
            tree = grow(bins, codes, own, limits, mixed, values)
            progress.told({"round": t + 1})
            return tree

        grown = share(one, range(total), n_jobs)
    m = grown[0].value.shape[1]
    trees = Trees.of(bins, grown, np.zeros(m))
    sums, votes = np.zeros((n, m)), np.zeros(n)
    if estimator.bootstrap and (estimator.oob_score or task.n_classes == 0):

        def judge(part: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
            own, count = np.zeros((n, m)), np.zeros(n)
            for t in range(*part):
                out = draws(seed, t, n, size) == 0
                own[out] += trees.eta_of(t, rows.X[out])
                count += out
            return own, count

        ends = [*range(0, total, 16), total]  # fixed blocks: the same sums in any case
        for own, count in share(judge, zip(ends[:-1], ends[1:], strict=True), n_jobs):
            sums += own
            votes += count
    return _Grown(trees, sums, votes, seed, size)


def _sample_size(max_samples: Any, n: int) -> int:
    """How many draws a bootstrap makes."""
    if max_samples is None:
        return n
    if isinstance(max_samples, float):
        if not 0 < max_samples <= 1:
            raise InputError(f"max_samples is {max_samples}; give a share up to 1.")
        return max(1, round(max_samples * n))
    return positive("max_samples", max_samples, least=1, whole=True)


class RandomForestClassifier(AbstractHostClassifier, AbstractOfTrees):
    r"""A random forest for classes: the mean frequency over the leaves of all trees.

    The frequencies π of all rows count as one more tree, so that no class that was seen
    is impossible: $p = (π + \sum_t p_t) / (T + 1)$.

    Args:
        n_estimators: the number of trees.
        criterion: "gini", or "entropy" (the information gain, in nats).
        max_depth: the most questions on the way to a leaf.
        min_samples_split: the least weight of a node that may be split.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_weight_fraction_leaf: the least weight of a leaf as a share of all.
        max_features: how many features a split looks at, drawn anew.
        max_leaf_nodes: the most leaves of a tree; the best splits first.
        min_impurity_decrease: the least gain of a split, per unit of all weight.
        bootstrap: whether each tree sees its own draw of the rows.
        max_samples: draws of each bootstrap: a number, a share, or None for all.
        oob_score: whether to judge each row by the trees that have not seen it.
        class_weight: None, "balanced" or a dict.
        categorical_features: columns whose numbers are names: split as sets.
        n_jobs: threads; all processors unless given. No bit depends on it.
        random_state: for the bootstraps and features.
        verbose: show a progress bar.

    Attributes:
        classes_: the labels, sorted.
        trees_: the trees as flat arrays.
        oob_score_: accuracy out of bag.
        oob_decision_function_: (n, c) frequencies out of bag, of the rows with weight;
            NaN where every tree has seen the row.
        feature_importances_: share of all gain. It favours features with many values,
            and is measured on the training rows: see `selection.permutation_importance`.
    """

    _averaged: ClassVar[bool] = True

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
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Grow the forest.

        Args:
            X: (n, d) inputs; NaN is "missing".
            y: (n,) classes.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight)
        w = class_weights(self.class_weight, self.classes_, rows.y, rows.w)
        rows = Rows(*(a[w > 0] for a in (rows.X, rows.y, w)))
        task = class_task(rows.y, rows.w, len(self.classes_), self.criterion)
        found = _grow_forest(self, rows, task, class_values)
        prior = np.bincount(rows.y.astype(int), rows.w, len(self.classes_))
        prior = prior / prior.sum()
        self.trees_ = eqx.tree_at(lambda t: t.start, found.trees, prior)
        if self.oob_score:
            with np.errstate(invalid="ignore"):
                self.oob_decision_function_ = found.sums / found.votes[:, None]
            judged = found.votes > 0
            right = found.sums.argmax(axis=1) == rows.y
            self.oob_score_ = float(np.average(right[judged], weights=rows.w[judged]))
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """The mixture of the leaves of each row."""
        probs = self._probs(self._inputs(X))
        return class_predictive(probs, self.classes_)

    def _probs(self, X: np.ndarray) -> np.ndarray:
        return sum_leaves(self.trees_, X, self.n_jobs) / self._members


class RandomForestRegressor(AbstractOutputs, AbstractOfTrees):
    r"""A random forest for numbers: a mixture of normals, one for each tree.

    A leaf with mean m, variance v and weight W is
    $N(\bar m + s(m - \bar m),\; (Wv + τ^2)/(W + 1))$, $\bar m$ the mean over the trees: its
    variance leans on τ² (trees that are grown out have v = 0 in every leaf), and as far as
    the trees differ by the noise of single rows only, s below 1 takes that back. Both are
    those of largest likelihood out of bag; the mean of the mixture depends on neither.
    Without bootstraps nothing is out of bag: s is 1 and τ the spread of y.

    Several outputs, y of shape (n, q), get a forest each, on the same bootstraps, and are
    independent given x.

    Args:
        n_estimators: the number of trees.
        criterion: "squared_error".
        max_depth: the most questions on the way to a leaf.
        min_samples_split: the least weight of a node that may be split.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_weight_fraction_leaf: the least weight of a leaf as a share of all.
        max_features: how many features a split looks at, drawn anew.
        max_leaf_nodes: the most leaves of a tree; the best splits first.
        min_impurity_decrease: the least gain of a split, per unit of all weight.
        bootstrap: whether each tree sees its own draw of the rows.
        max_samples: draws of each bootstrap: a number, a share, or None for all.
        oob_score: whether to judge each row by the trees that have not seen it.
        categorical_features: columns whose numbers are names: split as sets.
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
    """

    _averaged: ClassVar[bool] = True

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
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Grow the forest.

        Args:
            X: (n, d) inputs; NaN is "missing".
            y: (n,) numbers, or (n, q): a model for each column.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight)
        if self._has_columns(rows):
            return self._fit_each(X, y, sample_weight=sample_weight)
        if self.criterion != "squared_error":
            raise InputError(
                f"criterion is {self.criterion!r}; give 'squared_error' (for the "
                "likelihood of a family use Bagging of DecisionTreeRegressor)."
            )
        found = _grow_forest(self, rows, moment_task(rows.y, rows.w), normal_values)
        self.trees_ = found.trees
        self.family_ = Mixture(Normal(), len(found.trees))
        judged = found.votes > 0
        y, w = rows.y[judged], rows.w[judged]
        if judged.any():
            mean = found.sums[judged, 0] / found.votes[judged]
        else:
            judged = np.ones(len(rows.y), bool)
            y, w = rows.y, rows.w
            mean = self._one_mean(rows.X)
        self.spread_, self.scale_ = self._lean(rows, found)
        if self.oob_score:
            self.oob_prediction_ = np.full(len(rows.y), np.nan)
            self.oob_prediction_[judged] = mean
            spread = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
            error = np.average((y - mean) ** 2, weights=w)
            self.oob_score_ = float(1 - error / spread) if spread > 0 else 0.0
        return self

    def _lean(self, rows: Rows, found: _Grown) -> tuple[float, float]:
        """s and τ of the largest likelihood, each row by the trees that have not seen it."""
        n, T = len(rows.y), len(found.trees)
        part = np.linspace(0, n - 1, min(n, SOME)).astype(int)
        out = np.ones((len(part), T), bool)
        if self.bootstrap:
            drawn = (draws(found.seed, t, n, found.size)[part] for t in range(T))
            out = np.stack([own == 0 for own in drawn], axis=1)
        part, out = part[out.any(axis=1)], out[out.any(axis=1)]
        if not self.bootstrap or not len(part):
            return 1.0, float(np.std(rows.y)) or 1.0
        y, w = rows.y[part], rows.w[part]
        leaves = found.trees.leaves(rows.X[part], self.n_jobs)
        mean, variance = found.trees.value[leaves].transpose(2, 0, 1)
        weight = found.trees.weight[leaves]
        centre = np.average(mean, axis=1, weights=out)
        error = float(np.average((y - centre) ** 2, weights=w))
        error = max(error, np.finfo(float).tiny)
        unit = error / float((1 / (weight + 1)).mean())
        best = (np.inf, 1.0, 1.0)
        for s in SPREADS:
            square = (y[:, None] - centre[:, None] - s * (mean - centre[:, None])) ** 2
            for share in SHARES:
                v = (variance * weight + share * unit) / (weight + 1)
                logs = np.where(out, -0.5 * (square / v + np.log(v)), -np.inf)
                top = logs.max(axis=1)
                nats = -top - np.log(np.exp(logs - top[:, None]).sum(axis=1))
                loss = float(np.average(nats, weights=w))
                best = min(best, (loss, s, float(np.sqrt(share * unit))))
        return best[1], best[2]

    def _one_dist(self, X: np.ndarray) -> Predictive:
        """The mixture of the leaves of each row."""
        leaves = self.trees_.leaves(X, self.n_jobs)
        mean, variance = self.trees_.value[leaves].transpose(2, 0, 1)
        weight = self.trees_.weight[leaves]
        variance = (variance * weight + self.scale_**2) / (weight + 1)
        centre = mean.mean(axis=1, keepdims=True)
        mean = centre + getattr(self, "spread_", 1.0) * (mean - centre)
        parts = np.stack([mean, 0.5 * np.log(variance)], axis=2)
        logits = np.zeros(mean.shape)
        eta = np.concatenate([logits, parts.reshape(len(mean), -1)], axis=1)
        return Predictive(self.family_, eta)

    def _one_mean(self, X: np.ndarray) -> np.ndarray:
        return sum_leaves(self.trees_, X, self.n_jobs)[:, 0] / self._members
