"""Checked rows: what scikit-learn's contract asks of X, y and sample_weight.

Rows of weight 0 are absent: whatever they hold, they are replaced by a copy of a present
row (`check_rows`), or left out (`Rows.present`).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.core.checks import InputError, check_finite, check_weights
from likely.typing import Batch

MIN_SPARSE_SIZE = 200_000
"""Numbers, zeros among them, from which a sparse matrix is kept as it is."""
MAX_DENSITY = 0.1
"""The share of numbers that are not 0 up to which products are quicker without zeros."""


class Rows(NamedTuple):
    """Inputs, targets and weights that were checked."""

    X: Any
    y: Any
    w: np.ndarray

    @property
    def batch(self) -> Batch:
        """The rows as the `Batch` that learners take."""
        return Batch(*self)

    @property
    def is_present(self) -> np.ndarray:
        """(n,) booleans: the rows of positive weight."""
        return self.w > 0

    def present(self) -> "Rows":
        """The rows of positive weight alone."""
        mask = self.is_present
        return self if mask.all() else Rows(*(a[mask] for a in self))


def dense(X: Any) -> Any:
    """The array of a sparse matrix; anything else as it is."""
    return X.toarray() if issparse(X) else X


def keep_sparse(X: Any) -> bool:
    """Whether a sparse matrix is worth keeping: large, and zero almost everywhere."""
    if not issparse(X) or X.ndim != 2:
        return False
    size = X.shape[0] * X.shape[1]
    return size >= MIN_SPARSE_SIZE and X.nnz <= MAX_DENSITY * size


def check_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    reset: bool = True,
    sparse: bool = False,
) -> Rows:
    """The rows of a fit; absent ones hold what a present one holds.

    What is allowed follows from the estimator's tags: missing values in X, several
    outputs.

    Args:
        estimator: whose `n_features_in_` and `feature_names_in_` are set or compared.
        X: (n, d) inputs.
        y: (n,) or (n, q) targets.
        sample_weight: how often each row counts, or None.
        reset: whether these rows decide what the columns are.
        sparse: whether a large sparse matrix may stay what it is.
    """
    sparse = sparse and keep_sparse(X)
    tags = get_tags(estimator)
    if sample_weight is not None:
        y = fill_absent_targets(y, np.asarray(sample_weight))
    X, y = validate_data(
        estimator,
        X if sparse else dense(X),
        y,
        reset=reset,
        dtype=np.float64,
        accept_sparse="csr" if sparse else False,
        ensure_all_finite=False,
        multi_output=tags.target_tags.multi_output,
    )
    w = weights_of(sample_weight, X.shape[0])
    if sparse:
        X = _checked_csr(X, w, getattr(estimator, "feature_names_in_", None))
        return Rows(X, y, w)
    if not tags.input_tags.allow_nan:
        check_finite("X", X, w, names=getattr(estimator, "feature_names_in_", None))
    return Rows(_filled(X, w), y, w)


def check_inputs(
    estimator: Any, X: Any, *, allow_nan: bool = False, sparse: bool = False
) -> Any:
    """Inputs to predict from, checked against those of the fit.

    A plain array of the right shape skips scikit-learn's checks, which take longer than
    a small prediction.

    Args:
        estimator: the fitted one.
        X: (n, d) inputs.
        allow_nan: whether values may be missing.
        sparse: whether a large sparse matrix may stay what it is.
    """
    fitted = vars(estimator)
    plain = (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and len(X)
        and X.shape[1] == fitted.get("n_features_in_")
        and "feature_names_in_" not in fitted
    )
    if not plain:
        check_is_fitted(estimator)
        check: Any = validate_data
        sparse = sparse and keep_sparse(X)
        X = check(
            estimator,
            X if sparse else dense(X),
            reset=False,
            dtype=np.float64,
            accept_sparse="csr" if sparse else False,
            ensure_all_finite=False,
        )
        if sparse:
            return _checked_csr(X, np.ones(X.shape[0]), fitted.get("feature_names_in_"))
    if not allow_nan:
        check_finite("X", X, names=fitted.get("feature_names_in_"))
    return X


def weights_of(sample_weight: Any, n: int) -> np.ndarray:
    """Checked weights of n rows; ones where none are given."""
    return check_weights(np.ones(n) if sample_weight is None else sample_weight, n)


def fill_absent_targets(y: Any, w: np.ndarray) -> Any:
    """The targets with those of weight zero replaced by one that counts."""
    values, absent = np.asarray(y), w == 0
    if w.shape != values.shape[:1] or not absent.any() or absent.all():
        return y
    mask = absent.reshape((-1,) + (1,) * (values.ndim - 1))
    return np.where(mask, values[np.argmin(absent)], values)


def check_numbers(estimator: Any, y: Any) -> np.ndarray:
    """Targets as float64 numbers, all finite."""
    y = np.asarray(y)
    try:
        numbers = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"y holds {y.dtype}, not numbers; {type(estimator).__name__} predicts "
            "numbers: encode y, or use a classifier."
        ) from error
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argwhere(~finite)[0, 0])
        found = "NaN" if np.isnan(numbers[row]).any() else "infinity"
        raise InputError(
            f"y contains {found} (row {row}); remove the row, or give it weight 0."
        )
    return numbers


def _checked_csr(X: Any, w: np.ndarray, names: Any) -> Any:
    """The matrix without duplicates, absent rows copies of a present one."""
    absent = w == 0
    if absent.any():
        X = X[np.where(absent, np.argmin(absent), np.arange(len(w)))]
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if not np.isfinite(X.data).all():
        row = int(np.searchsorted(X.indptr, np.argmin(np.isfinite(X.data)), "right"))
        check_finite("X", X[: max(row, 1)].toarray(), names=names)
    return X


def _filled(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    absent = w == 0
    if not absent.any():
        return X
    return np.where(absent[:, None], X[np.argmin(absent)], X)
