r"""Gradient boosting of any family: $η(x) = η_0 + ν \sum_r t_r(x)$."""

from typing import Any, no_type_check
from zlib import crc32

import numpy as np
from sklearn.utils.validation import check_array

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
from likely.estimators.trees.tree import AbstractOfTrees, code_table
from likely.families import AbstractFamily, Bernoulli, Categorical, Normal, Predictive
from likely.models.trees.ensemble import sum_leaves
from likely.typing import Batch

UNLIMITED = 2**31 - 1


def _settings(estimator: Any, d: int, w: np.ndarray) -> Any:
    """The settings of an estimator, checked."""
    from likely.models.trees.boosted import Limits
    from likely.models.trees.boosting import Settings

    get = estimator.get_params(deep=False).get
    depth, leaves = get("max_depth"), get("max_leaf_nodes")
    if leaves is None:
        leaves = 1024 if depth is None else min(2 ** min(int(depth), 16), 4096)
    leaf = positive("min_samples_leaf", get("min_samples_leaf"))
    limits = Limits(
        max_leaves=positive("max_leaf_nodes", leaves, least=2, whole=True),
        max_depth=UNLIMITED
        if depth is None
        else positive("max_depth", depth, least=1, whole=True),
        min_leaf=0.0 if leaf <= 1 else leaf,
        min_gain=positive("min_impurity_decrease", get("min_impurity_decrease"))
        * float(w.sum()),
        l2=positive("l2_regularization", get("l2_regularization")),
    )
    for name in ("subsample", "max_features"):
        if not 0 < get(name) <= 1:
            raise InputError(f"{name} is {get(name)}; give a share above 0, up to 1.")
    return Settings(
        rounds=positive("n_estimators", get("n_estimators"), least=1, whole=True),
        rate=positive("learning_rate", get("learning_rate")),
        limits=limits,
        subsample=float(get("subsample")),
        colsample=float(get("max_features")),
        patience=positive(
            "n_iter_no_change", get("n_iter_no_change"), least=1, whole=True
        ),
        signs=_signs(get("monotone_constraints"), d, estimator),
        seed=seed_of(get("random_state")),
        n_jobs=get("n_jobs"),
    )


FEW = 10_000
"""Rows up to which a second fit finds the scale."""


def _signs(constraints: Any, d: int, estimator: Any) -> np.ndarray:
    """Monotone constraints as −1, 0 or 1 for each feature."""
    signs = np.zeros(d, np.int64)
    if constraints is None:
        return signs
    if isinstance(constraints, dict):
        names = list(getattr(estimator, "feature_names_in_", range(d)))
        for name, sign in constraints.items():
            if name not in names:
                raise InputError(
                    f"monotone_constraints has {name!r}, which is no column of X."
                )
            signs[names.index(name)] = sign
    else:
        signs = np.asarray(constraints)
    if signs.shape != (d,) or not np.isin(signs, (-1, 0, 1)).all():
        raise InputError(
            f"monotone_constraints is {constraints!r}; give -1, 0 or 1 for each of the "
            f"{d} columns, or a dict of columns."
        )
    if signs.any() and len(getattr(estimator, "classes_", ())) > 2:
        raise InputError("monotone_constraints need a number or two classes.")
    return signs


def _validation(estimator: Any, rows: Rows, X_val: Any, y_val: Any, seed: int):
    """Training and validation rows: those given, or a share held out."""
    if X_val is not None:
        check: Any = check_array
        X_val = check(X_val, dtype=np.float64, ensure_all_finite=False)
        if (
            X_val.shape[1] != rows.X.shape[1]
            or y_val is None
            or len(y_val) != len(X_val)
        ):
            raise InputError(
                f"X_val has shape {X_val.shape}; give X_val with {rows.X.shape[1]} "
                "columns, and y_val with as many rows."
            )
        y_val = estimator._targets(y_val)
        return rows, Batch(X_val, y_val, np.ones(len(y_val)))
    if not estimator.early_stopping:
        return rows, None
    share = float(estimator.validation_fraction)
    n = len(rows.y)
    held = np.zeros(n, bool)
    order = np.random.default_rng([seed, 2**32]).permutation(n)
    held[order[: max(1, round(share * n))]] = True
    if held.all():
        raise InputError(f"validation_fraction is {share}; no row is left to learn.")
    kept = Rows(*(a[~held] for a in rows))
    return kept, Batch(*(a[held] for a in rows))


def _boost(estimator: Any, family: AbstractFamily, rows: Rows, X_val: Any, y_val: Any):
    """Fit, with a progress bar."""
    with Progress(estimator) as progress:
        from likely.models.trees.boosting import boost

        seed = seed_of(estimator.random_state)
        rows, held = _validation(estimator, rows, X_val, y_val, seed)
        bins, codes = code_table(estimator, rows)
        settings = _settings(estimator, rows.X.shape[1], rows.w)
        family.check(rows.y, rows.w)
        data = Batch(rows.X, rows.y, rows.w)
        found = boost(family, bins, codes, data, settings, held, progress.told)
    estimator.n_estimators_ = found.rounds
    estimator.history_ = {k: np.array(v) for k, v in found.history.items()}
    alone = found.alone
    return found.trees, data, held, alone


class GradientBoostingClassifier(AbstractHostClassifier, AbstractOfTrees):
    """Boosted trees for classes: log-odds, or one logit for each class.

    Args:
        n_estimators: the most rounds.
        learning_rate: ν, how much of each tree counts.
        max_leaf_nodes: the most leaves of a tree; the best splits first.
        max_depth: the most questions on the way to a leaf.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_impurity_decrease: the least gain of a split, nats per unit of all weight.
        l2_regularization: λ, added to the curvature of each leaf.
        subsample: share of the rows that each round sees.
        max_features: share of the features that each tree sees.
        early_stopping: hold out `validation_fraction` of the rows, unless `X_val` is
            given, and stop after `n_iter_no_change` rounds without a lower loss there.
        n_iter_no_change: patience.
        validation_fraction: of the rows.
        categorical_features: columns whose numbers are names: split as sets.
        monotone_constraints: −1, 0 or 1 for each column, or a dict; two classes only.
        class_weight: None, "balanced" or a dict.
        n_jobs: threads; all processors unless given. No bit depends on it.
        random_state: for the samples.
        verbose: show a progress bar.
        callbacks: functions of a dict with round, loss and val_loss; True stops.

    Attributes:
        classes_: the labels, sorted.
        trees_: the trees as flat arrays.
        n_estimators_: rounds that were kept.
        history_: the losses of each round, nats per unit of weight: `loss` (followed on
            up to 10,000 training rows) and `val_loss`.
        feature_importances_: share of all gain, on the training rows; it favours
            features with many values: see `selection.permutation_importance`.
    """

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
        callbacks: Any = (),
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.monotone_constraints = monotone_constraints
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(  # noqa: PLR0917
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
    ):
        """Boost.

        Args:
            X: (n, d) inputs; NaN is "missing".
            y: (n,) classes.
            sample_weight: how often each row counts.
            X_val: rows to stop by.
            y_val: their classes.
        """
        rows = self._rows(X, y, sample_weight)
        w = class_weights(self.class_weight, self.classes_, rows.y, rows.w)
        rows = Rows(*(a[w > 0] for a in (rows.X, rows.y, w)))
        c = len(self.classes_)
        self.family_ = Bernoulli() if c == 2 else Categorical(c)
        self.trees_, _, _, _ = _boost(self, self.family_, rows, X_val, y_val)
        return self

    def _targets(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        place = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if not (self.classes_[place] == y).all():
            raise InputError(f"y_val has labels not among {self.classes_.tolist()}.")
        return place.astype(np.float64)

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-odds of the second class, or the logits of all."""
        X = self._inputs(X)
        eta = sum_leaves(self.trees_, X, self.n_jobs)
        return eta[:, 0] if eta.shape[1] == 1 else eta

    def predict_dist(self, X: Any) -> Predictive:
        """The distribution over classes for each row."""
        X = self._inputs(X)
        eta = sum_leaves(self.trees_, X, self.n_jobs)
        return Predictive(self.family_, eta, self.classes_)

    def _probs(self, X: np.ndarray) -> np.ndarray:
        eta = sum_leaves(self.trees_, X, self.n_jobs)
        if eta.shape[1] == 1:
            with np.errstate(over="ignore"):
                odds = np.exp(np.concatenate([eta, -eta], axis=1))
            return 1 / (1 + odds)
        p = np.exp(eta - eta.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)


class GradientBoostingRegressor(AbstractOutputs, AbstractOfTrees):
    """Boosted trees for numbers: the parameters of any family.

    Several outputs, y of shape (n, q), are boosted one by one (each stops for itself) and
    are independent given x.

    Args:
        family: of `likely.families`: `Normal()` models mean and scale, `Poisson()`,
            `Gamma()`, `NegativeBinomial()`, ... one tree for each entry of η in each
            round. None: squared error, a normal with one scale for all rows: that of
            the validation rows; or of a third of the rows by a fit to the others (up to
            10,000 rows); or of the training rows by leaves without them.
        n_estimators: the most rounds.
        learning_rate: ν, how much of each tree counts.
        max_leaf_nodes: the most leaves of a tree; the best splits first.
        max_depth: the most questions on the way to a leaf.
        min_samples_leaf: the least weight of a leaf; 1 is one row of any weight.
        min_impurity_decrease: the least gain of a split, nats per unit of all weight.
        l2_regularization: λ, added to the curvature of each leaf.
        subsample: share of the rows that each round sees.
        max_features: share of the features that each tree sees.
        early_stopping: hold out `validation_fraction` of the rows, unless `X_val` is
            given, and stop after `n_iter_no_change` rounds without a lower loss there.
        n_iter_no_change: patience.
        validation_fraction: of the rows.
        categorical_features: columns whose numbers are names: split as sets.
        monotone_constraints: −1, 0 or 1 for each column, or a dict; they bind the
            first entry of η.
        n_jobs: threads; all processors unless given. No bit depends on it.
        random_state: for the samples.
        verbose: show a progress bar.
        callbacks: functions of a dict with round, loss and val_loss; True stops.

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
    """

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
        callbacks: Any = (),
    ):
        self.family = family
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.monotone_constraints = monotone_constraints
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(  # noqa: PLR0917
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
    ):
        """Boost.

        Args:
            X: (n, d) inputs; NaN is "missing".
            y: (n,) numbers, or (n, q): a model for each column.
            sample_weight: how often each row counts.
            X_val: rows to stop by.
            y_val: their numbers, in as many columns as y.
        """
        rows = self._rows(X, y, sample_weight)
        if self._has_columns(rows):
            return self._fit_each(
                X, y, sample_weight=sample_weight, X_val=X_val, y_val=y_val
            )
        if self.family is not None and not isinstance(self.family, AbstractFamily):
            raise InputError(
                f"family is {self.family!r}; give one of likely.families, or None."
            )
        family = Normal(1.0) if self.family is None else self.family
        trees, data, held, alone = _boost(self, family, rows, X_val, y_val)
        self.family_ = family if self.family is not None else Normal()
        if self.family is None:
            apart = None if held is not None else _left_out(self, rows)
            trees = _scaled(trees, held or data, alone, apart)
        self.trees_ = trees
        return self

    def _targets(self, y: Any) -> np.ndarray:
        return self._encode(y)

    def _one_dist(self, X: np.ndarray) -> Predictive:
        """p(y | x) for each row."""
        return Predictive(self.family_, sum_leaves(self.trees_, X, self.n_jobs))

    def _one_mean(self, X: np.ndarray) -> np.ndarray:
        eta = sum_leaves(self.trees_, X, self.n_jobs)
        if type(self.family_) is Normal:
            return eta[:, 0]
        return Predictive(self.family_, eta).mean


def _left_out(estimator: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray] | None:
    """Residuals and weights of a third of the rows, from a fit to the others.

    Where rows are few, those of the fit itself are much too small. Which third is
    decided by what a row contains, so that equal rows stay together.
    """
    if len(rows.y) > FEW:
        return None
    from likely.models.trees.boosting import boost

    table = np.column_stack([rows.X, rows.y])
    held = np.array([crc32(row.tobytes()) % 3 == 0 for row in table])
    if held.sum() < 5 or (~held).sum() < 10:
        return None
    kept = Rows(*(a[~held] for a in rows))
    bins, codes = code_table(estimator, kept)
    settings = _settings(estimator, rows.X.shape[1], kept.w)
    found = boost(Normal(1.0), bins, codes, Batch(*kept), settings)
    return rows.y[held] - found.trees.eta(rows.X[held])[:, 0], rows.w[held]


def _scaled(trees: Any, rows: Batch, alone: np.ndarray | None, apart: Any) -> Any:
    """The trees with log σ of their residuals as a second, constant entry of η.

    `apart` has residuals of rows that a fit has not seen. Where there are none, `alone`
    has what leaves without the row itself say of it: residuals from that are nearer to
    those of new rows.
    """
    import equinox as eqx

    if apart is not None:
        r, w = apart
    else:
        r = rows.y - (trees.eta(rows.x)[:, 0] if alone is None else alone)
        w = rows.w
    variance = max(np.average(r * r, weights=w), np.finfo(float).tiny)
    start = np.append(trees.start, 0.5 * np.log(variance))
    return eqx.tree_at(lambda t: t.start, trees, start)
