"""The members of a bag: each on its own draw of the rows and columns."""

from typing import Any

import numpy as np
from jaxtyping import Bool
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from likely.base.outputs import ABOUT_COLUMNS
from likely.base.progress import Rounds
from likely.base.rows import Rows
from likely.base.settings import at_least, column_mask
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.estimators.trees.bootstrap import bootstrap_counts, bootstrap_size
from likely.estimators.trees.limits import feature_count


def fit_members(
    ensemble: Any, base: Any, rows: Rows, y: np.ndarray
) -> Bool[np.ndarray, "m n"]:
    """Fit the members to bootstraps; which rows each of them has not seen.

    A draw of a single class has no member: it is a vote for that class. These draws come
    last, in the order of their classes.

    Args:
        ensemble: gets `estimators_` and `columns_`; a classifier `single_votes_` too.
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
    categorical = np.zeros(d, bool)
    if "categorical_features" in vars(base):
        names = getattr(ensemble, "feature_names_in_", None)
        categorical = column_mask(base.categorical_features, d, names)
        categorical[vars(ensemble).get("category_columns_", [])] = True
    ensemble.estimators_, ensemble.columns_ = [], []
    single: list[tuple[int, int]] = []
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
            if categorical.any():
                member.set_params(
                    categorical_features=np.flatnonzero(categorical[columns]).tolist()
                )
            seen = counts > 0  # absent rows are left out: other libraries look at them
            X = np.ascontiguousarray(rows.X[seen][:, columns])
            if is_classifier(base) and (y[seen] == y[seen][0]).all():
                single.append((y[seen][0], m))
                continue
            fit = getattr(member, "_fit_votes", member.fit)
            fit(X, y[seen], sample_weight=(rows.w * counts)[seen])
            ensemble.estimators_.append(member)
            ensemble.columns_.append(columns)
            rounds.update({"round": m + 1})
    if not is_classifier(base):
        return unseen
    single.sort()
    codes = np.array([code for code, _ in single], int)
    ensemble.single_votes_ = np.bincount(codes, minlength=len(ensemble.classes_))
    last = [m for _, m in single]
    first = [m for m in range(total) if m not in last]
    return unseen[[*first, *last]]


def unfitted(ensemble: Any) -> Any:
    """A copy without members that knows the classes and columns."""
    part: Any = clone(ensemble)
    part.set_params(verbose=False)
    for name in ("classes_", *ABOUT_COLUMNS):
        if name in vars(ensemble):
            setattr(part, name, getattr(ensemble, name))
    return part


def single_votes(ensemble: Any) -> np.ndarray:
    """(c,) the draws that had one class only."""
    none = np.zeros(len(ensemble.classes_), int)
    return vars(ensemble).get("single_votes_", none)


def member_predictions(ensemble: Any, X: np.ndarray, method: str) -> list:
    """The predictions of each member from its columns of X."""
    return [
        getattr(member, method)(np.ascontiguousarray(X[:, columns]))
        for member, columns in zip(ensemble.estimators_, ensemble.columns_, strict=True)
    ]
