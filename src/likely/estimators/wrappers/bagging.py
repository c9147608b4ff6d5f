r"""Bagging: the same learner on many bootstraps, averaged as distributions.

Member m sees each row as often as its bootstrap draws it, which is a weight, and a
subset of the columns. The prediction is the mixture of the members,
$p(y \mid x) = \frac1M \sum_m p_m(y \mid x)$. Averaging keeps the bias of a learner and takes
away the part of its variance that members do not share.
"""

from typing import Any, ClassVar, no_type_check

import numpy as np
from jaxtyping import Bool
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import has_fit_parameter

from likely.base.labels import frequency_distribution
from likely.base.outputs import fit_each, forget_fit, joint_distribution
from likely.base.predictor import Predictor
from likely.base.progress import Rounds
from likely.base.rows import Rows
from likely.base.settings import at_least, store
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.estimators.trees.bootstrap import bootstrap_counts, bootstrap_size
from likely.estimators.trees.limits import feature_count
from likely.estimators.trees.tree import DecisionTreeClassifier, DecisionTreeRegressor
from likely.evaluate.scores import r_squared
from likely.families import Mixture, Normal, Predictive, mix

JOINED = {"oob_score_": lambda parts: float(np.mean(parts)), "scale_": np.array}
"""How the fitted attributes of several outputs become one."""


class Bagging(Predictor):
    """Members of one kind on bootstraps; you write `fit` and `predict_dist`."""

    _allows_missing: ClassVar[bool] = True
    estimator: Any
    oob_score: Any
    estimators_: list
    columns_: list

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = None,
        max_features: Any = None,
        bootstrap: bool = True,
        oob_score: bool = False,
        random_state: Any = 0,
        verbose: bool = False,
    ):
        store(self, locals())


class BaggingClassifier(ClassifierMixin, Bagging):
    """Any classifier on bootstraps: the mean of the members' probabilities.

    Args:
        estimator: a classifier with `predict_proba` whose `fit` takes `sample_weight`;
            a decision tree unless given.
        n_estimators: the number of members.
        max_samples: draws of each bootstrap: a number, a share, or None for all.
        max_features: columns of each member: a number, a share, "sqrt", None for all.
        bootstrap: whether each member sees its own draw of the rows.
        oob_score: whether to judge each row by the members that have not seen it.
        random_state: for the bootstraps, the columns and the members.
        verbose: show a progress bar.

    Attributes:
        classes_: the labels, sorted.
        estimators_: the members.
        columns_: the columns of each.
        oob_score_: accuracy out of bag.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit the members.

        Args:
            X: (n, d) inputs.
            y: (n,) classes.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight).present()
        base = DecisionTreeClassifier() if self.estimator is None else self.estimator
        codes = rows.y.astype(int)
        unseen = _fit_members(self, base, rows, codes)
        if self.oob_score:
            sums = self._sum_of_members(rows.X, unseen)
            judged = sums.any(axis=1)
            right = sums.argmax(axis=1) == codes
            self.oob_score_ = float(np.average(right[judged], weights=rows.w[judged]))
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """The mixture of the members for each row."""
        return frequency_distribution(self._probs(X), self.classes_)

    def _probs(self, X: Any) -> np.ndarray:
        X = self._inputs(X)
        everywhere = np.ones((len(self.estimators_), len(X)), bool)
        return self._sum_of_members(X, everywhere) / len(self.estimators_)

    def _sum_of_members(
        self, X: np.ndarray, mask: Bool[np.ndarray, "m n"]
    ) -> np.ndarray:
        """(n, c) the sum of the probabilities of those members that a row counts for."""
        sums = np.zeros((len(X), len(self.classes_)))
        each = _member_predictions(self, X, "predict_proba")
        for p, member, rows in zip(each, self.estimators_, mask, strict=True):
            sums[:, member.classes_] += p * rows[:, None]  # it may have missed a class
        return sums


class BaggingRegressor(RegressorMixin, Bagging):
    """Any regressor on bootstraps: the mixture of the members' distributions.

    Members that give no distribution count as normals with the error seen out of bag.
    Several outputs, y of shape (n, q), get members of their own, on the same bootstraps,
    and are independent given x.

    Args:
        estimator: a regressor whose `fit` takes `sample_weight`; a decision tree unless
            given.
        n_estimators: the number of members.
        max_samples: draws of each bootstrap: a number, a share, or None for all.
        max_features: columns of each member: a number, a share, "sqrt", None for all.
        bootstrap: whether each member sees its own draw of the rows.
        oob_score: whether to judge each row by the members that have not seen it.
        random_state: for the bootstraps, the columns and the members.
        verbose: show a progress bar.

    Attributes:
        estimators_: the members.
        columns_: the columns of each.
        outputs_: with several outputs, the fitted bag of each (and no `estimators_`).
        scale_: root of the mean squared error, out of bag where there is such a row; of
            each output.
        oob_score_: R² out of bag, the mean over outputs.
    """

    _allows_outputs: ClassVar[bool] = True
    outputs_: list

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit the members.

        Args:
            X: (n, d) inputs.
            y: (n,) numbers, or (n, q): a model for each column.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight).present()
        forget_fit(self)
        if rows.y.ndim == 2:
            Y = np.asarray(y)
            fit_each(self, X, Y, join=JOINED, sample_weight=sample_weight)
            return self
        base = DecisionTreeRegressor() if self.estimator is None else self.estimator
        unseen = _fit_members(self, base, rows, rows.y)
        out = unseen if unseen.any() else np.ones_like(unseen)
        counts = out.sum(axis=0)
        judged = counts > 0
        each = np.stack(_member_predictions(self, rows.X, "predict"))
        sums = (each * out).sum(axis=0)
        y, mean, w = rows.y[judged], sums[judged] / counts[judged], rows.w[judged]
        error = float(np.average((y - mean) ** 2, weights=w))
        self.scale_ = float(np.sqrt(max(error, np.finfo(float).tiny)))
        if self.oob_score:
            found = r_squared(y, mean, w)
            self.oob_score_ = float(np.nan_to_num(found))  # 0 where y is constant
        return self

    def predict_dist(self, X: Any) -> Any:
        """The mixture of the members for each row; outputs are independent given x."""
        X, models = self._inputs(X), vars(self).get("outputs_")
        if models:
            return joint_distribution([model._dist(X) for model in models])
        return self._dist(X)

    def _dist(self, X: np.ndarray) -> Any:
        """p(y | x) of checked rows, y a single output."""
        if hasattr(self.estimators_[0], "predict_dist"):
            dists = _member_predictions(self, X, "predict_dist")
            families = {type(dist.family) for dist in dists}
            if len(families) == 1 and not isinstance(dists[0].family, Mixture):
                return mix(dists[0].family, np.stack([dist.eta for dist in dists]))
        mean = np.stack(_member_predictions(self, X, "predict"))
        log_scale = np.full(mean.shape, np.log(self.scale_))
        return mix(Normal(), np.stack([mean, log_scale], axis=2))

    def _mean(self, X: Any, **known: Any) -> np.ndarray:
        X = self._inputs(X)
        if "outputs_" in vars(self):
            return np.column_stack([m._mean_of_one(X) for m in self.outputs_])
        return self._mean_of_one(X)

    def _mean_of_one(self, X: np.ndarray) -> np.ndarray:
        """E[y | x] of checked rows, y a single output."""
        return np.mean(_member_predictions(self, X, "predict"), axis=0)


def _fit_members(
    ensemble: Any, base: Any, rows: Rows, y: np.ndarray
) -> Bool[np.ndarray, "m n"]:
    """Fit the members to bootstraps; which rows each of them has not seen.

    Args:
        ensemble: gets `estimators_` and `columns_`.
        base: the estimator that is copied.
        rows: rows that all have weight.
        y: (n,) targets, as the members take them.
    """
    if not has_fit_parameter(base, "sample_weight"):
        raise InputError(
            f"{type(base).__name__} takes no sample_weight, and a bootstrap is a weight; "
            "give an estimator whose fit takes one."
        )
    n, d = rows.X.shape
    total = at_least("n_estimators", ensemble.n_estimators, 1, whole=True)
    size = bootstrap_size(ensemble.max_samples, n)
    n_columns = feature_count(ensemble.max_features, d)
    seed = seed_of(ensemble.random_state)
    ensemble.estimators_, ensemble.columns_ = [], []
    unseen = np.zeros((total, n), bool)
    with Rounds(total, ensemble.verbose) as rounds:
        for m in range(total):
            rng = np.random.default_rng([seed, m, 1])
            columns = np.sort(rng.permutation(d)[:n_columns])
            counts = np.ones(n)
            if ensemble.bootstrap:
                counts = bootstrap_counts(seed, m, n, size)
            unseen[m] = counts == 0
            member: Any = clone(base)
            if "random_state" in member.get_params(deep=False):
                member.set_params(random_state=int(rng.integers(2**31)))
            seen = counts > 0  # absent rows are left out: other libraries look at them
            X = np.ascontiguousarray(rows.X[seen][:, columns])
            member.fit(X, y[seen], sample_weight=(rows.w * counts)[seen])
            ensemble.estimators_.append(member)
            ensemble.columns_.append(columns)
            rounds.update({"round": m + 1})
    return unseen


def _member_predictions(ensemble: Any, X: np.ndarray, method: str) -> list:
    """The predictions of each member from its columns of X."""
    return [
        getattr(member, method)(np.ascontiguousarray(X[:, columns]))
        for member, columns in zip(ensemble.estimators_, ensemble.columns_, strict=True)
    ]
