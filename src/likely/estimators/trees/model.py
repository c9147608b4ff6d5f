"""What all tree models share: leaves, importances, SHAP values, several outputs."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from likely.base.calibration import log_of, probabilities
from likely.base.labels import frequency_distribution
from likely.base.outputs import fit_each, joint_distribution
from likely.base.predictor import Predictor, classifies
from likely.base.rows import Rows
from likely.base.words import learn_words, word_codes, words_by_column
from likely.core.checks import InputError
from likely.families import AbstractFamily, Normal, Predictive, Product
from likely.models.trees import Grown, Trees, pruning_path, tree_text
from likely.models.trees.ensemble import sum_leaves
from likely.models.trees.shap import shap_values
from likely.models.trees.text import question

JOINED = {
    "family_": lambda parts: Product(*parts),
    "n_estimators_": np.array,
    "oob_prediction_": np.column_stack,
    "oob_score_": lambda parts: float(np.mean(parts)),
    "scale_": np.array,
    "spread_": np.array,
}
"""How the fitted attributes of several outputs become one."""


def _is_single(model: Any) -> bool:
    return model._single_tree


class TreeModel(Predictor):
    """A predictor made of trees; you write `fit` and `_dist`.

    Columns of words (of text or categories in a frame, of text in an array) are split as
    sets; a word that the fit has not seen is missing.
    """

    _allows_missing: ClassVar[bool] = True
    _averaged: ClassVar[bool] = False
    """Whether the prediction is the mean of the trees, or their sum."""
    _single_tree: ClassVar[bool] = False
    """Whether there is one tree, which can be read and drawn."""
    trees_: Trees
    temperature_: float
    base_share_: float
    base_rates_: np.ndarray
    outputs_: list
    family_: AbstractFamily

    @abstractmethod
    def _dist(self, X: np.ndarray) -> Predictive:
        """p(y | x) of checked rows, y a single output."""

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) for each row; several outputs are independent given x."""
        X, models = self._inputs(X), self._output_models
        if models:
            return joint_distribution([model._dist(X) for model in models])
        return self._dist(X)

    @available_if(classifies)
    def votes(self, X: Any) -> np.ndarray:
        """(n, c) the mean frequencies of the classes over the leaves of each row.

        They are what scikit-learn calls probabilities; `predict_proba` is calibrated.
        """
        return self._leaf_total(self._inputs(X))

    @property
    def feature_importances_(self) -> np.ndarray:
        """(d,) each feature's share of the gain of all splits, on the training rows.

        It favours features with many values, and sees no new rows;
        `likely.selection.permutation_importance` measures on new rows what a model needs.
        With several outputs it is the mean over them.
        """
        if models := self._output_models:
            return np.mean([m.feature_importances_ for m in models], axis=0)
        trees = self.trees_
        is_split = trees.feature >= 0
        gains = np.maximum(trees.gain[is_split], 0.0)
        d = len(trees.bins.categorical)
        totals = np.bincount(trees.feature[is_split], gains, minlength=d)
        return totals / totals.sum() if totals.sum() > 0 else totals

    def apply(self, X: Any) -> np.ndarray:
        """(n, trees) the leaf of each row in each tree."""
        X = self._inputs(X)
        return self._trees_of_one_output.leaves(X)

    def shap_values(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Exact SHAP values (n, d, k) and their base (k,); they sum to the prediction.

        The prediction is η where trees are boosted, and otherwise what a leaf holds:
        class frequencies (`votes`), mean and variance, or η of the family. Those of several
        outputs stand side by side.
        """
        X, models = self._inputs(X), self._output_models or [self]
        pairs = [shap_values(model.trees_, X) for model in models]
        phi = [phi / m._divisor for m, (phi, _) in zip(models, pairs, strict=True)]
        base = [base / m._divisor for m, (_, base) in zip(models, pairs, strict=True)]
        return np.concatenate(phi, axis=2), np.concatenate(base)

    # A single tree ---------------------------------------------------------------------

    @property
    def tree_(self) -> Grown:
        """The one tree."""
        if not self._single_tree:
            raise AttributeError(f"{type(self).__name__} has more than one tree.")
        return self._trees_of_one_output.tree(0)

    @available_if(_is_single)
    def text(self) -> str:
        """The tree in words."""
        names = getattr(self, "feature_names_in_", None)
        return tree_text(
            self._trees_of_one_output,
            names=None if names is None else list(names),
            leaf=self._leaf_text,
            words=words_by_column(self),
        )

    @available_if(_is_single)
    def draw(self, *, max_depth: int = 4, title: str = "A decision tree") -> Any:
        """The tree as a Matplotlib figure, down to a depth."""
        from likely import plots

        trees = self._trees_of_one_output
        d = len(trees.bins.categorical)
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(d)]))
        left = trees.left
        words = [
            self._leaf_text(trees.value[i])
            if left[i] < 0
            else question(trees, i, names, words_by_column(self))
            for i in range(len(left))
        ]
        return plots.tree(left, words, trees.weight, max_depth=max_depth, title=title)

    @available_if(_is_single)
    def get_depth(self) -> int:
        """The largest number of questions on the way to a leaf."""
        return int(self._trees_of_one_output.depths.max())

    @available_if(_is_single)
    def get_n_leaves(self) -> int:
        """The number of leaves."""
        return int((self._trees_of_one_output.left < 0).sum())

    @available_if(_is_single)
    def pruning_path(self) -> tuple[np.ndarray, np.ndarray]:
        """The pruned subtrees: the `ccp_alpha` from which each holds, and its leaves."""
        alpha, count = pruning_path(self.tree_)
        cut = count > 0
        order = np.lexsort((-count[cut], alpha[cut]))
        alphas = np.append(0.0, alpha[cut][order])
        leaves = np.append(self.get_n_leaves(), count[cut][order])
        last = np.append(alphas[1:] != alphas[:-1], True)
        return alphas[last], leaves[last]

    def _leaf_text(self, value: np.ndarray) -> str:
        """The distribution of a leaf in words."""
        if self._predicts_classes:
            label = self.classes_[value.argmax()]
            return f"{label}, p = {np.array2string(value, precision=3)}"
        theta = Predictive(self.family_, value[None]).theta
        return ", ".join(f"{k} = {v[0]:.4g}" for k, v in theta.items())

    # Predictions -----------------------------------------------------------------------

    def _rows(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        return super()._rows(learn_words(self, X, sample_weight), y, sample_weight)

    def _inputs(self, X: Any) -> np.ndarray:
        return super()._inputs(word_codes(self, X))

    def _mean(self, X: Any, **known: Any) -> np.ndarray:
        X, models = self._inputs(X), self._output_models
        if models:
            return np.column_stack([model._mean_of_one(X) for model in models])
        return self._mean_of_one(X)

    def _probs(self, X: Any) -> np.ndarray:
        return probabilities(self, self._log_votes(self._inputs(X)))

    def _decide(self, X: Any) -> np.ndarray:
        return self._leaf_total(self._inputs(X)).argmax(1)

    def _log_votes(self, X: np.ndarray) -> np.ndarray:
        """(n, c) the logarithms of the votes of checked rows."""
        return log_of(self._leaf_total(X))

    def _mean_of_one(self, X: np.ndarray) -> np.ndarray:
        """E[y | x] of checked rows, y a single output."""
        total = self._leaf_total(X)
        if self._averaged or type(self.family_) is Normal:
            return total[:, 0]
        return Predictive(self.family_, total).mean

    def _class_dist(self, X: np.ndarray) -> Predictive:
        """p(y | x) of checked rows, y a class."""
        return frequency_distribution(
            probabilities(self, self._log_votes(X)), self.classes_
        )

    def _leaf_total(self, X: np.ndarray) -> np.ndarray:
        """(n, k) the sum of the leaves of each row over the trees, or their mean."""
        total = sum_leaves(self.trees_, X, getattr(self, "n_jobs", None))
        return total / self._divisor if self._averaged else total

    @property
    def _divisor(self) -> float:
        """What a mean divides by: the trees, and a prior that counts as one of them."""
        prior = float(self.trees_.start.sum())
        return len(self.trees_) + prior if self._averaged else 1.0

    # Several outputs -------------------------------------------------------------------

    @property
    def _output_models(self) -> list:
        """The models of the columns of y; none where y has no columns."""
        return vars(self).get("outputs_", [])

    @property
    def _trees_of_one_output(self) -> Trees:
        if self._output_models:
            raise InputError(
                "y has columns, and each of them has trees of its own; ask the model of "
                "one: outputs_[0]."
            )
        return self.trees_

    def _fit_outputs(self, X: Any, y: Any, **others: Any):
        """A model for each column of y, all of the same settings."""
        fit_each(self, X, np.asarray(y), join=JOINED, **others)
        return self
