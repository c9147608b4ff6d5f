r"""Bagging: the same learner on many bootstraps, averaged as distributions.

Member m sees each row as often as its bootstrap draws it, which is a weight, and a
subset of the columns, which is a mask. The prediction is the mixture of the members,
$p(y \mid x) = \frac1M \sum_m p_m(y \mid x)$. Averaging leaves the bias of a learner alone and takes
away the part of its variance that members do not share.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from likely.core.checks import InputError
from likely.estimators.host import (
    AbstractHostClassifier,
    Rows,
    positive,
    seed_of,
)
from likely.estimators.progress import Progress
from likely.estimators.trees.forest import _sample_size, draws
from likely.estimators.trees.outputs import AbstractOutputs
from likely.estimators.trees.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    class_predictive,
    feature_count,
)
from likely.families import Mixture, Normal, Predictive


def _fit_members(ensemble: Any, base: Any, rows: Rows, y: np.ndarray) -> np.ndarray:
    """Fit the members; which rows each of them has not seen, (members, n)."""
    if not has_fit_parameter(base, "sample_weight"):
        raise InputError(
            f"{type(base).__name__} takes no sample_weight, and a bootstrap is a weight; "
            "give an estimator whose fit takes one."
        )
    n, d = rows.X.shape
    total = positive("n_estimators", ensemble.n_estimators, least=1, whole=True)
    size = _sample_size(ensemble.max_samples, n)
    wanted = feature_count(ensemble.max_features, d)
    seed = seed_of(ensemble.random_state)
    ensemble.estimators_, ensemble.columns_ = [], []
    unseen = np.zeros((total, n), bool)
    with Progress(ensemble) as progress:
        for m in range(total):
            rng = np.random.default_rng([seed, m, 1])
            columns = np.sort(rng.permutation(d)[:wanted])
            counts = draws(seed, m, n, size) if ensemble.bootstrap else np.ones(n)
            unseen[m] = counts == 0
            member: Any = clone(base)
            if "random_state" in member.get_params(deep=False):
                member.set_params(random_state=int(rng.integers(2**31)))
            seen = counts > 0  # what is absent is left out: other libraries look at it
            X = np.ascontiguousarray(rows.X[seen][:, columns])
            member.fit(X, y[seen], sample_weight=(rows.w * counts)[seen])
            ensemble.estimators_.append(member)
            ensemble.columns_.append(columns)
            progress.told({"round": m + 1})
    return unseen


def _of_members(ensemble: Any, X: np.ndarray, method: str) -> list:
    """What each member says about its columns of X."""
    return [
        getattr(member, method)(np.ascontiguousarray(X[:, columns]))
        for member, columns in zip(ensemble.estimators_, ensemble.columns_, strict=True)
    ]


class BaggingClassifier(AbstractHostClassifier):
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
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit the members.

        Args:
            X: (n, d) inputs.
            y: (n,) classes.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight)
        base = DecisionTreeClassifier() if self.estimator is None else self.estimator
        codes = rows.y.astype(int)
        unseen = _fit_members(self, base, rows, codes)
        if self.oob_score:
            sums = np.zeros((len(rows.y), len(self.classes_)))
            for p, member, out in zip(
                _of_members(self, rows.X, "predict_proba"),
                self.estimators_,
                unseen,
                strict=True,
            ):
                sums[:, member.classes_] += p * out[:, None]
            judged = sums.any(axis=1)
            right = sums.argmax(axis=1) == codes
            self.oob_score_ = float(np.average(right[judged], weights=rows.w[judged]))
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """The mixture of the members for each row."""
        probs = self._probs(self._inputs(X))
        return class_predictive(probs, self.classes_)

    def _probs(self, X: np.ndarray) -> np.ndarray:
        sums = np.zeros((len(X), len(self.classes_)))
        said = _of_members(self, X, "predict_proba")
        for p, member in zip(said, self.estimators_, strict=True):
            sums[:, member.classes_] += p  # a member may have missed a class
        return sums / len(self.estimators_)


class BaggingRegressor(AbstractOutputs):
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
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit the members.

        Args:
            X: (n, d) inputs.
            y: (n,) numbers, or (n, q): a model for each column.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight)
        if self._has_columns(rows):
            return self._fit_each(X, y, sample_weight=sample_weight)
        base = DecisionTreeRegressor() if self.estimator is None else self.estimator
        unseen = _fit_members(self, base, rows, rows.y)
        said = np.stack(_of_members(self, rows.X, "predict"))
        out = unseen if unseen.any() else np.ones_like(unseen)
        votes = out.sum(axis=0)
        judged = votes > 0
        mean = (said * out).sum(axis=0)[judged] / votes[judged]
        y, w = rows.y[judged], rows.w[judged]
        error = float(np.average((y - mean) ** 2, weights=w))
        self.scale_ = float(np.sqrt(max(error, np.finfo(float).tiny)))
        if self.oob_score:
            spread = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
            self.oob_score_ = float(1 - error / spread) if spread > 0 else 0.0
        return self

    def _one_dist(self, X: np.ndarray) -> Predictive:
        """The mixture of the members for each row."""
        if hasattr(self.estimators_[0], "predict_dist"):
            said = _of_members(self, X, "predict_dist")
            families = {type(dist.family) for dist in said}
            if len(families) == 1 and not isinstance(said[0].family, Mixture):
                family = said[0].family
                parts = np.stack([dist.eta for dist in said], axis=1)
                return _mixture(family, parts)
        mean = np.stack(_of_members(self, X, "predict"), axis=1)
        log_scale = np.full(mean.shape, np.log(self.scale_))
        return _mixture(Normal(), np.stack([mean, log_scale], axis=2))

    def _one_mean(self, X: np.ndarray) -> np.ndarray:
        return np.mean(_of_members(self, X, "predict"), axis=0)


def _mixture(family: Any, parts: np.ndarray) -> Predictive:
    """Equal parts of (n, members, k) members of a family."""
    n, members, _ = parts.shape
    eta = np.concatenate([np.zeros((n, members)), parts.reshape(n, -1)], axis=1)
    return Predictive(Mixture(family, members), eta)
