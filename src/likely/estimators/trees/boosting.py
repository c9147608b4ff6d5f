r"""Gradient boosting of any family: $η(x) = η_0 + ν \sum_r t_r(x)$."""

from typing import Any, ClassVar, no_type_check

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin

from likely.base.calibration import keep
from likely.base.labels import class_family
from likely.base.outputs import forget_fit
from likely.base.settings import store
from likely.core.checks import InputError
from likely.estimators.trees.boosting_fit import (
    calibration_of,
    fit_boosting,
    log_odds,
    with_error_scale,
)
from likely.estimators.trees.limits import class_rows
from likely.estimators.trees.model import TreeModel
from likely.families import AbstractFamily, Normal, Predictive


def _without_callbacks(fields: dict) -> dict:
    """The settings of files from before `callbacks` became an argument of `fit`."""
    return {name: value for name, value in fields.items() if name != "callbacks"}


class GradientBoostingClassifier(ClassifierMixin, TreeModel):
    r"""Boosted trees for classes: log-odds, or one logit for each class.

    Boosting goes on after it has learned what there is to learn. So probabilities are
    $(1 - λ) \operatorname{softmax}(η / T) + λ π$ with T and λ of largest likelihood on the
    validation rows, or on rows that further fits to the others have not seen (up to 10,000
    rows); π are the base rates. The class that is predicted is that of the largest η.

    Args:
        n_estimators: the largest number of rounds.
        learning_rate: ν, how much of each tree counts.
        max_leaf_nodes: the largest number of leaves of a tree; the best splits first.
        max_depth: the largest number of questions on the way to a leaf.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_impurity_decrease: the least gain of a split, nats per unit of all weight.
        l2_regularization: λ, added to the curvature of each leaf.
        subsample: share of the rows that each round sees.
        max_features: share of the features that each tree sees.
        early_stopping: hold out `validation_fraction` of the rows, unless `X_val` is
            given, and stop after `n_iter_no_change` rounds without a lower loss there.
        n_iter_no_change: rounds without a lower validation loss before it stops.
        validation_fraction: the share of the rows that is held out.
        categorical_features: columns whose numbers are names of categories: split as sets.
        monotone_constraints: −1, 0 or 1 for each column, or a dict; two classes only.
        class_weight: None, "balanced" or a dict.
        n_jobs: threads; all processors unless given. No bit depends on it.
        random_state: for the samples.
        verbose: show a progress bar.

    Attributes:
        classes_: the labels, sorted.
        trees_: the trees as flat arrays.
        temperature_: T, by which log-odds are divided.
        base_share_: λ, how much of a probability is the base rate of its class.
        base_rates_: (c,) π, the shares of the classes in all rows.
        n_estimators_: rounds that were kept.
        history_: the losses of each round, nats per unit of weight: `loss` (followed on
            up to 10,000 training rows) and `val_loss`.
        feature_importances_: share of all gain, on the training rows; it favours
            features with many values: see `selection.permutation_importance`.

    Examples:
        >>> X, y = np.arange(60.0)[:, None], np.repeat([0, 1], 30)
        >>> model = lk.GradientBoostingClassifier(n_estimators=20).fit(X, y)
        >>> print(model.predict([[1.0], [58.0]]))
        [0 1]
    """

    __upgrade__ = staticmethod(_without_callbacks)

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: float = 20,
        min_impurity_decrease: float = 0.0,
        l2_regularization: float = 0.0,
        subsample: float = 1.0,
        max_features: float = 1.0,
        early_stopping: bool = False,
        n_iter_no_change: int = 20,
        validation_fraction: float = 0.1,
        categorical_features: Any = None,
        monotone_constraints: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool = False,
    ):
        store(self, locals())

    def fit(  # noqa: PLR0917
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        callbacks: Any = (),
    ):
        """Boost.

        Args:
            X: (n, d) inputs; NaN is "missing", and columns may hold words.
            y: (n,) classes.
            sample_weight: how often each row counts.
            X_val: rows to stop by.
            y_val: their classes.
            callbacks: functions of a dict with the numbers of a round (`round`, `loss`
                and `val_loss`); the fit ends where one of them returns True.
        """
        rows = class_rows(self, X, y, sample_weight)
        self.family_ = class_family(len(self.classes_))
        fit = fit_boosting(self, self.family_, rows, X_val, y_val, callbacks)
        self.trees_ = fit.boosted.trees
        keep(self, calibration_of(self, self.family_, fit))
        return self

    def votes(self, X: Any) -> np.ndarray:
        """(n, c) the probabilities as boosted; `predict_proba` is calibrated."""
        return softmax(self._log_votes(self._inputs(X)), axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """(n,) log-odds of the second class, or (n, c) the logits of all, as boosted."""
        eta = self._leaf_total(self._inputs(X))
        return eta[:, 0] if eta.shape[1] == 1 else eta

    def _dist(self, X: np.ndarray) -> Predictive:
        return self._class_dist(X)

    def _decide(self, X: Any) -> np.ndarray:
        return self._log_votes(self._inputs(X)).argmax(1)

    def _log_votes(self, X: np.ndarray) -> np.ndarray:
        return log_odds(self._leaf_total(X))


class GradientBoostingRegressor(RegressorMixin, TreeModel):
    """Boosted trees for numbers: the parameters of any family.

    Several outputs, y of shape (n, q), are boosted one by one (each stops for itself) and
    are independent given x.

    Args:
        family: of `likely.families`: `Normal()` models mean and scale, `Poisson()`,
            `Gamma()`, `NegativeBinomial()`, ... one tree for each entry of η in each
            round. None: squared error, a normal with one scale for all rows: that of
            the validation rows; or of a fifth of the rows by a fit to the others (up to
            10,000 rows; every fifth in turn of up to 200); or of the training rows by
            leaves without them.
        n_estimators: the largest number of rounds.
        learning_rate: ν, how much of each tree counts.
        max_leaf_nodes: the largest number of leaves of a tree; the best splits first.
        max_depth: the largest number of questions on the way to a leaf.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_impurity_decrease: the least gain of a split, nats per unit of all weight.
        l2_regularization: λ, added to the curvature of each leaf.
        subsample: share of the rows that each round sees.
        max_features: share of the features that each tree sees.
        early_stopping: hold out `validation_fraction` of the rows, unless `X_val` is
            given, and stop after `n_iter_no_change` rounds without a lower loss there.
        n_iter_no_change: rounds without a lower validation loss before it stops.
        validation_fraction: the share of the rows that is held out.
        categorical_features: columns whose numbers are names of categories: split as sets.
        monotone_constraints: −1, 0 or 1 for each column, or a dict; they bind the
            first entry of η.
        n_jobs: threads; all processors unless given. No bit depends on it.
        random_state: for the samples.
        verbose: show a progress bar.

    Attributes:
        family_: the family of p(y | x).
        trees_: the trees as flat arrays.
        outputs_: with several outputs, the fitted model of each (and no `trees_` and
            `history_`).
        n_estimators_: rounds that were kept, of each output.
        history_: the losses of each round, nats per unit of weight: `loss` (followed on
            up to 10,000 training rows) and `val_loss`.
        feature_importances_: share of all gain, on the training rows; it favours
            features with many values: see `selection.permutation_importance`.

    Examples:
        >>> X, y = np.arange(60.0)[:, None], np.repeat([0.0, 8.0], 30)
        >>> model = lk.GradientBoostingRegressor(n_estimators=50).fit(X, y)
        >>> print(model.predict([[1.0], [58.0]]).round(1))
        [0. 8.]
    """

    __upgrade__ = staticmethod(_without_callbacks)
    _allows_outputs: ClassVar[bool] = True
    family: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        family: Any = None,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: float = 20,
        min_impurity_decrease: float = 0.0,
        l2_regularization: float = 0.0,
        subsample: float = 1.0,
        max_features: float = 1.0,
        early_stopping: bool = False,
        n_iter_no_change: int = 20,
        validation_fraction: float = 0.1,
        categorical_features: Any = None,
        monotone_constraints: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool = False,
    ):
        store(self, locals())

    def fit(  # noqa: PLR0917
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        callbacks: Any = (),
    ):
        """Boost.

        Args:
            X: (n, d) inputs; NaN is "missing", and columns may hold words.
            y: (n,) numbers, or (n, q): a model for each column.
            sample_weight: how often each row counts.
            X_val: rows to stop by.
            y_val: their numbers, in as many columns as y.
            callbacks: functions of a dict with the numbers of a round (`round`, `loss`
                and `val_loss`); the fit ends where one of them returns True.
        """
        rows = self._rows(X, y, sample_weight).present()
        forget_fit(self)
        if rows.y.ndim == 2:
            return self._fit_outputs(
                X,
                y,
                sample_weight=sample_weight,
                X_val=X_val,
                y_val=y_val,
                callbacks=callbacks,
            )
        if self.family is not None and not isinstance(self.family, AbstractFamily):
            raise InputError(
                f"family is {self.family!r}; give one of likely.families, or None."
            )
        family = Normal(1.0) if self.family is None else self.family
        fit = fit_boosting(self, family, rows, X_val, y_val, callbacks)
        self.family_ = Normal() if self.family is None else family
        self.trees_ = fit.boosted.trees
        if self.family is None:
            self.trees_ = with_error_scale(self, fit)
        return self

    def _dist(self, X: np.ndarray) -> Predictive:
        return Predictive(self.family_, self._leaf_total(X))
