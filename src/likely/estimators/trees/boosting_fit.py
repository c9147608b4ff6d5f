"""A boosting fit: settings and validation rows checked, the rounds, the scale of errors."""

from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import numpy as np
from sklearn.utils.validation import check_array

from likely.base.calibration import Calibration, calibrate
from likely.base.held_out import effective_rows, error_variance, held_out_shares
from likely.base.labels import codes_of
from likely.base.progress import Rounds
from likely.base.rows import Rows, check_numbers, dense
from likely.base.settings import at_least
from likely.base.words import word_codes
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.estimators.trees.limits import bin_rows, least_leaf_weight, whole_limit
from likely.evaluate.assignment import early_stopping_split
from likely.families import AbstractFamily, Normal
from likely.models.trees import Trees
from likely.typing import Batch

if TYPE_CHECKING:  # they load numba
    from likely.models.trees.boosting import Boosted, Settings

MAX_REFIT_ROWS = 10_000
"""Rows up to which a second fit finds the scale of the errors."""
REFIT_ROWS = 1000
"""Rows that all further fits hold together, if one has fewer."""


class BoostingFit(NamedTuple):
    """Boosted trees with the rows that they were fitted to and stopped by."""

    boosted: "Boosted"
    data: Batch
    validation: Batch | None


def boosting_settings(estimator: Any, d: int, w: np.ndarray) -> "Settings":
    """The settings of boosting, from the checked settings of an estimator.

    Args:
        estimator: a boosting estimator.
        d: number of columns.
        w: row weights.
    """
    from likely.models.trees.boosted import Limits
    from likely.models.trees.boosting import Settings

    get = estimator.get_params(deep=False).get
    depth, leaves = get("max_depth"), get("max_leaf_nodes")
    if leaves is None:
        leaves = 1024 if depth is None else min(2 ** min(int(depth), 16), 4096)
    gain = at_least("min_impurity_decrease", get("min_impurity_decrease"))
    limits = Limits(
        max_leaves=at_least("max_leaf_nodes", leaves, 2, whole=True),
        max_depth=whole_limit("max_depth", depth, 1),
        min_leaf=least_leaf_weight(get("min_samples_leaf")),
        min_gain=gain * float(w.sum()),
        l2=at_least("l2_regularization", get("l2_regularization")),
    )
    for name in ("subsample", "max_features"):
        if not 0 < get(name) <= 1:
            raise InputError(f"{name} is {get(name)}; give a share above 0, up to 1.")
    return Settings(
        rounds=at_least("n_estimators", get("n_estimators"), 1, whole=True),
        rate=at_least("learning_rate", get("learning_rate")),
        limits=limits,
        subsample=float(get("subsample")),
        colsample=float(get("max_features")),
        patience=at_least("n_iter_no_change", get("n_iter_no_change"), 1, whole=True),
        signs=monotone_signs(get("monotone_constraints"), d, estimator),
        seed=seed_of(get("random_state")),
        n_jobs=get("n_jobs"),
    )


def monotone_signs(constraints: Any, d: int, estimator: Any) -> np.ndarray:
    """(d,) monotone constraints: −1 falling, 0 free, 1 rising in each column."""
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


def validation_rows(
    estimator: Any, rows: Rows, X_val: Any, y_val: Any
) -> tuple[Rows, Batch | None]:
    """Rows to learn from and rows to stop by: those given, a share of them, or none."""
    if X_val is None and not estimator.early_stopping:
        return rows, None
    if X_val is None:
        share, n = float(estimator.validation_fraction), len(rows.y)
        seeds = [seed_of(estimator.random_state), 2**32]
        train, stop = early_stopping_split(n, share, seeds)
        return Rows(*(a[train] for a in rows)), Batch(*(a[stop] for a in rows))
    check: Any = check_array
    X_val = word_codes(estimator, X_val)
    X_val = check(dense(X_val), dtype=np.float64, ensure_all_finite=False)
    d = rows.X.shape[1]
    if X_val.shape[1] != d or y_val is None or len(y_val) != len(X_val):
        raise InputError(
            f"X_val has shape {X_val.shape}; give X_val with {d} columns, and y_val with "
            "as many rows."
        )
    if estimator._predicts_classes:
        y_val = codes_of(y_val, estimator.classes_)
    else:
        y_val = check_numbers(estimator, y_val)
    return rows, Batch(X_val, y_val, np.ones(len(y_val)))


def fit_boosting(  # noqa: PLR0917
    estimator: Any,
    family: AbstractFamily,
    rows: Rows,
    X_val: Any,
    y_val: Any,
    callbacks: Any,
) -> BoostingFit:
    """Boost a family; the estimator gets `n_estimators_` and `history_`."""
    from likely.models.trees.boosting import boost

    rows, validation = validation_rows(estimator, rows, X_val, y_val)
    settings = boosting_settings(estimator, rows.X.shape[1], rows.w)
    family.check(rows.y, rows.w)
    with Rounds(settings.rounds, estimator.verbose, callbacks) as rounds:
        bins, codes = bin_rows(estimator, rows)
        data = rows.batch
        found = boost(family, bins, codes, data, settings, validation, rounds.update)
    estimator.n_estimators_ = found.rounds
    estimator.history_ = {k: np.array(v) for k, v in found.history.items()}
    return BoostingFit(found, data, validation)


def with_error_scale(estimator: Any, fit: BoostingFit) -> Trees:
    """The trees of squared error with log σ of their errors as second entry of η.

    σ is the root mean squared error on the validation rows; else on rows that further
    fits have not seen; else on the training rows, each predicted by leaves without it.
    """
    trees, data = fit.boosted.trees, fit.data
    apart = held_out_eta(estimator, Normal(1.0), fit)
    if apart is None:
        mean = fit.boosted.leave_one_out
        errors = data.y - (trees.eta(data.x)[:, 0] if mean is None else mean)
        w = data.w
    else:
        eta, y, w = apart
        errors = y - eta[:, 0]
    variance = error_variance(errors, w, data.y, data.w)
    start = np.append(trees.start, 0.5 * np.log(variance))
    return eqx.tree_at(lambda t: t.start, trees, start)


def calibration_of(estimator: Any, family: AbstractFamily, fit: BoostingFit):
    """How far the log-odds can be believed, by the rows that they were not fitted to.

    Where there are more rows than a second fit would help, they are believed, but for the
    share of the base rates that a class never seen somewhere would have by chance.
    """
    data, c = fit.data, len(estimator.classes_)
    rates = np.bincount(data.y.astype(int), data.w, c) / data.w.sum()
    apart = held_out_eta(estimator, family, fit)
    if apart is None:
        return Calibration(1.0, 1 / (effective_rows(data.w) + 2), rates)
    eta, y, w = apart
    return calibrate(log_odds(eta), y.astype(int), w, rates)


def log_odds(eta: np.ndarray) -> np.ndarray:
    """(n, c) the logits of the classes; two classes have those of the second only."""
    return np.c_[np.zeros(len(eta)), eta] if eta.shape[1] == 1 else eta


def held_out_eta(
    estimator: Any, family: AbstractFamily, fit: BoostingFit
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """η, targets and weights of the validation rows, or of rows by a fit to the others.

    Where rows are few, the errors of the fit itself are much too small. None where there
    are too few rows for it, or more than it needs.
    """
    trees, data = fit.boosted.trees, fit.data
    if fit.validation is not None:
        rows = fit.validation
        return trees.eta(rows.x), np.asarray(rows.y), rows.w
    if len(data.y) > MAX_REFIT_ROWS:
        return None
    from likely.models.trees.boosting import boost

    found = []
    X, y, w = data
    for share in held_out_shares(X, y, w)[: max(1, REFIT_ROWS // len(y))]:
        kept, out = Rows(X, y, w * (1 - share)).present(), share > 0
        if not out.any() or not len(kept.y):
            continue
        bins, codes = bin_rows(estimator, kept)
        settings = boosting_settings(estimator, kept.X.shape[1], kept.w)
        own = boost(family, bins, codes, kept.batch, settings).trees
        found.append((own.eta(X[out]), y[out], (w * share)[out]))
    if not found:
        return None
    eta, y, w = map(np.concatenate, zip(*found, strict=True))
    return eta, y, w
