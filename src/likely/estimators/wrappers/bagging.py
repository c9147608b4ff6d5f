r"""Bagging: the same learner on many bootstraps, averaged as distributions.

Member m sees each row as often as its bootstrap draws it, which is a weight, and a
subset of the columns. The prediction is the mixture of the members,
$p(y \mid x) = \frac1M \sum_m p_m(y \mid x)$, calibrated by the rows that members have not
seen. Averaging keeps the bias of a learner and takes away the part of its variance that
members do not share.
"""

from typing import Any, ClassVar, no_type_check

import numpy as np
from jaxtyping import Bool
from sklearn.base import ClassifierMixin, RegressorMixin

from likely.base.calibration import calibrate, keep, log_of, probabilities, votes_of
from likely.base.held_out import (
    fit_parts,
    unseen_with_twins,
)
from likely.base.labels import frequency_distribution
from likely.base.outputs import (
    fit_each,
    forget_fit,
    joint_distribution,
)
from likely.base.predictor import Predictor
from likely.base.rows import Rows
from likely.base.settings import at_least, store
from likely.base.words import learn_words, word_codes
from likely.estimators.trees.held_out import spread_and_scale
from likely.estimators.trees.tree import DecisionTreeClassifier, DecisionTreeRegressor
from likely.estimators.wrappers.bagged_members import (
    fit_members,
    member_predictions,
    single_votes,
    unfitted,
)
from likely.evaluate.scores import r_squared
from likely.families import Mixture, Normal, Predictive, mix

JOINED = {
    "oob_score_": lambda parts: float(np.mean(parts)),
    "scale_": np.array,
    "spread_": np.array,
}
"""How the fitted attributes of several outputs become one."""
MAX_ROWS_FOR_PARTS = 500
"""Rows up to which, without bootstraps, members are fitted to all parts of the rows."""


class Bagging(Predictor):
    """Members of one kind on bootstraps; you write `fit` and `predict_dist`.

    Where members are trees, columns may hold words.
    """

    _allows_missing: ClassVar[bool] = True
    estimator: Any
    n_estimators: Any
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

    def _rows(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        if self.estimator is None or "categorical_features" in vars(self.estimator):
            X = learn_words(self, X, sample_weight)
        return super()._rows(X, y, sample_weight)

    def _inputs(self, X: Any) -> np.ndarray:
        return super()._inputs(word_codes(self, X))


class BaggingClassifier(ClassifierMixin, Bagging):
    r"""Any classifier on bootstraps: the mean f of what the members say.

    Trees, forests and neighbours say frequencies, others probabilities. The class of the
    largest mean is predicted. Probabilities keep the order of the means:
    $p_c = (1 - λ) f_c^{1/T} / \sum_b f_b^{1/T} + λ π_c$ with T and λ of largest likelihood
    out of bag (without bootstraps, on rows that further members have not seen) and π the
    base rates.

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
        estimators_: the members, but for those whose draw had a single class.
        columns_: the columns of each.
        single_votes_: (c,) how many draws had this class only; each is a vote for it.
        temperature_: T, by which votes are made less (above 1) or more extreme.
        base_share_: λ, how much of a probability is the base rate of its class.
        base_rates_: (c,) π, the shares of the classes in all rows.
        oob_score_: accuracy out of bag.

    Examples:
        >>> X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
        >>> model = lk.BaggingClassifier(lk.DecisionTreeClassifier(), 5).fit(X, y)
        >>> print(model.predict([[1.0], [18.0]]))
        [0 1]
    """

    single_votes_: np.ndarray
    temperature_: float
    base_share_: float
    base_rates_: np.ndarray

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
        c, w = len(self.classes_), rows.w
        unseen = fit_members(self, base, rows, codes)
        without_twins = unseen_with_twins(unseen, rows.X, w)
        if without_twins.any():
            sums, w_out = self._sum_of_members(rows.X, without_twins), w
        else:
            sums, w_out = self._held_out_sums(base, rows)
        judged = sums.any(axis=1)
        votes = log_of(sums[judged] / sums[judged].sum(axis=1, keepdims=True))
        rates = np.bincount(codes, w, c) / w.sum()
        keep(self, calibrate(votes, codes[judged], w_out[judged], rates))
        if self.oob_score:
            sums = self._sum_of_members(rows.X, unseen)
            judged = sums.any(axis=1)
            right = sums.argmax(axis=1) == codes
            self.oob_score_ = float(np.average(right[judged], weights=w[judged]))
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """The calibrated mean of the members for each row."""
        return frequency_distribution(self._probs(X), self.classes_)

    def votes(self, X: Any) -> np.ndarray:
        """(n, c) the mean of what the members say; `predict_proba` is calibrated."""
        X = self._inputs(X)
        sums = self._sum_of_members(X)
        return sums / (len(self.estimators_) + single_votes(self).sum())

    def _probs(self, X: Any) -> np.ndarray:
        return probabilities(self, log_of(self.votes(X)))

    def _decide(self, X: Any) -> np.ndarray:
        return self.votes(X).argmax(1)

    def _sum_of_members(
        self, X: np.ndarray, mask: Bool[np.ndarray, "m n"] | None = None
    ) -> np.ndarray:
        """(n, c) the sum of what those members say that a row counts for.

        Args:
            X: checked rows.
            mask: whether a row counts for a draw; first those of the members, then those
                of a single class. None: every row for all.
        """
        sums = np.zeros((len(X), len(self.classes_)))
        single = np.repeat(np.arange(sums.shape[1]), single_votes(self))
        if mask is None:
            mask = np.ones((len(self.estimators_) + len(single), len(X)), bool)
        each = zip(self.estimators_, self.columns_, strict=True)
        for (member, columns), rows in zip(each, mask, strict=False):
            if not rows.any():
                continue
            votes = votes_of(member, np.ascontiguousarray(X[rows][:, columns]))
            sums[np.ix_(rows, member.classes_)] += votes  # it may have missed a class
        for code, rows in zip(single, mask[len(self.estimators_) :], strict=True):
            sums[rows, code] += 1
        return sums

    def _held_out_sums(self, base: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """(n, c) what members say about rows that are held out, and the weights of these."""
        sums, w = np.zeros((len(rows.y), len(self.classes_))), np.zeros(len(rows.y))
        for share in fit_parts(rows.X, rows.y, rows.w, max_rows=MAX_ROWS_FOR_PARTS):
            kept = rows._replace(w=rows.w * (1 - share)).present()
            part = unfitted(self)
            fit_members(part, base, kept, kept.y.astype(int))
            out = share > 0
            sums[out] += part._sum_of_members(rows.X[out])
            w += rows.w * share
        return sums, w


class BaggingRegressor(RegressorMixin, Bagging):
    r"""Any regressor on bootstraps: the mixture of the members' distributions.

    Members that give no distribution, and trees of squared error, whose leaves know a row
    or two, count as normals: member m as $N(\bar μ + s(μ_m - \bar μ),\, τ^2)$, $\bar μ$ the
    mean over the members, with s and τ of largest likelihood out of bag (without
    bootstraps, on rows that further members have not seen).
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
        scale_: τ, of each output.
        spread_: s, of each output.
        oob_score_: R² out of bag, the mean over outputs.

    Examples:
        >>> X, y = np.arange(20.0)[:, None], np.repeat([0.0, 8.0], 10)
        >>> model = lk.BaggingRegressor(lk.DecisionTreeRegressor(), 5).fit(X, y)
        >>> print(model.predict([[1.0], [18.0]]).round())
        [0. 8.]
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
        unseen = fit_members(self, base, rows, rows.y)
        means, w = np.stack(member_predictions(self, rows.X, "predict"), axis=1), rows.w
        if self.oob_score:
            out = unseen if unseen.any() else np.ones_like(unseen)
            judged = out.any(axis=0)
            mean = np.average(means[judged], axis=1, weights=out.T[judged])
            score = r_squared(rows.y[judged], mean, w[judged])
            self.oob_score_ = float(np.nan_to_num(score))  # 0 where y is constant
        out = unseen_with_twins(unseen, rows.X, w).T
        if not out.any():
            means, w = self._held_out_means(base, rows)
            out = np.ones(means.shape, bool) & (w > 0)[:, None]
        judged = out.any(axis=1)
        self.spread_, self.scale_ = spread_and_scale(
            rows, rows.y[judged], w[judged], out[judged], means[judged]
        )
        return self

    def predict_dist(self, X: Any) -> Any:
        """The mixture of the members for each row; outputs are independent given x."""
        X, models = self._inputs(X), vars(self).get("outputs_")
        if models:
            return joint_distribution([model._dist(X) for model in models])
        return self._dist(X)

    def _dist(self, X: np.ndarray) -> Any:
        """p(y | x) of checked rows, y a single output."""
        if self._has_distributions:
            dists = member_predictions(self, X, "predict_dist")
            families = {type(dist.family) for dist in dists}
            if len(families) == 1 and not isinstance(dists[0].family, Mixture):
                return mix(dists[0].family, np.stack([dist.eta for dist in dists]))
        mean = np.stack(member_predictions(self, X, "predict"))
        centre = mean.mean(axis=0)
        mean = centre + getattr(self, "spread_", 1.0) * (mean - centre)
        log_scale = np.full(mean.shape, np.log(self.scale_))
        return mix(Normal(), np.stack([mean, log_scale], axis=2))

    @property
    def _has_distributions(self) -> bool:
        """Whether what the members say of y is worth more than its mean."""
        member = self.estimators_[0]
        if not hasattr(member, "predict_dist"):
            return False
        squared = getattr(member, "criterion", None) == "squared_error"
        return not (
            squared and hasattr(member, "_fit_votes") and "spread_" in vars(self)
        )

    def _held_out_means(self, base: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """(n, m) predictions of members that have not seen a row, and the rows' weights."""
        total = at_least("n_estimators", self.n_estimators, 1, whole=True)
        means, w = np.zeros((len(rows.y), total)), np.zeros(len(rows.y))
        for share in fit_parts(rows.X, rows.y, rows.w, max_rows=MAX_ROWS_FOR_PARTS):
            kept = rows._replace(w=rows.w * (1 - share)).present()
            part = unfitted(self)
            fit_members(part, base, kept, kept.y)
            own = np.stack(member_predictions(part, rows.X, "predict"), axis=1)
            means += share[:, None] * own
            w += rows.w * share
        return means / np.maximum(w / rows.w, 1e-300)[:, None], w

    def _mean(self, X: Any, **known: Any) -> np.ndarray:
        X = self._inputs(X)
        if "outputs_" in vars(self):
            return np.column_stack([m._mean_of_one(X) for m in self.outputs_])
        return self._mean_of_one(X)

    def _mean_of_one(self, X: np.ndarray) -> np.ndarray:
        """E[y | x] of checked rows, y a single output."""
        return np.mean(member_predictions(self, X, "predict"), axis=0)
