"""Sequences of observations in their forms, as one array of positions.

Sequences come as a table (n, t) of one number at each of t positions, as an array (n, t, d), as
a list of arrays (t_i, d) or (t_i,) of different lengths, or as all positions one after another,
(positions, d), with the `lengths` of the sequences.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from likely.base.rows import dense
from likely.core.checks import InputError

TABLE, ARRAY, LIST, FLAT = "table", "array", "list", "flat"


class Positions(NamedTuple):
    """The positions of all sequences, one after another, and where each sequence begins."""

    values: np.ndarray
    """(positions, d); NaN where a value is missing."""
    ends: np.ndarray
    """(n + 1,)"""
    form: str

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def lengths(self) -> np.ndarray:
        """(n,) the number of positions of each sequence."""
        return np.diff(self.ends)

    @property
    def is_seen(self) -> np.ndarray:
        """(positions,) whether there is an observation: no value is missing."""
        return ~np.any(np.isnan(self.values), axis=1)

    def keep(self, mask: np.ndarray) -> "Positions":
        """Some of the sequences."""
        if mask.all():
            return self
        lengths = self.lengths
        values = self.values[np.repeat(mask, lengths)]
        return Positions(values, _ends(lengths[mask]), self.form)

    def restore(self, rows: np.ndarray) -> Any:
        """Something of each position, in the form in which the sequences came."""
        if self.form == FLAT:
            return rows
        if self.form == LIST:
            return np.split(rows, self.ends[1:-1])
        return rows.reshape(len(self), -1, *rows.shape[1:])


def positions_of(estimator: Any, X: Any, lengths: Any, *, reset: bool) -> Positions:
    """The sequences of any form; a fit decides whether an array (n, t) is a table.

    Args:
        estimator: whose `form_` and `n_features_in_` are set or compared.
        X: the sequences.
        lengths: of the sequences where X is all their positions, or None.
        reset: whether these are the sequences of a fit.
    """
    form = _form_of(X, lengths)
    if form == TABLE and not reset and estimator.form_ != TABLE:
        form, lengths = FLAT, [len(X)]
    if form == TABLE:
        check: Any = validate_data
        X = check(
            estimator,
            dense(X),
            reset=reset,
            dtype=np.float64,
            ensure_all_finite=False,
        )
        values = np.ascontiguousarray(X).reshape(-1, 1)
        return _of_fit(
            estimator, values, _ends(np.full(len(X), X.shape[1])), form, reset
        )
    if form == LIST:
        rows = [_two_axes(row, i) for i, row in enumerate(X)]
        _check_rows(rows)
        ends = _ends(np.array([len(row) for row in rows]))
        return _of_fit(estimator, np.concatenate(rows), ends, form, reset)
    X = np.asarray(X, np.float64)
    if form == ARRAY:
        if not X.size:
            raise InputError(f"X has shape {X.shape}; give at least one position.")
        ends = _ends(np.full(len(X), X.shape[1]))
        values = np.ascontiguousarray(X).reshape(-1, X.shape[2])
        return _of_fit(estimator, values, ends, form, reset)
    values = np.ascontiguousarray(X if X.ndim > 1 else X[:, None])
    return _of_fit(estimator, values, _checked(lengths, len(values)), form, reset)


def _form_of(X: Any, lengths: Any) -> str:
    if lengths is not None:
        return FLAT
    if isinstance(X, list | tuple):
        arrays = any(isinstance(row, np.ndarray) and row.ndim for row in X)
        ragged = len(
            {np.size(row[0:1][0]) if len(row) else 0 for row in X if _is_list(row)}
        )
        different = len({len(row) for row in X if _is_list(row)}) > 1
        nested = any(_is_list(row) and len(row) and _is_list(row[0]) for row in X)
        return LIST if arrays or different or nested or ragged > 1 else TABLE
    return ARRAY if getattr(X, "ndim", 2) == 3 else TABLE


def _is_list(row: Any) -> bool:
    return isinstance(row, list | tuple) or (
        isinstance(row, np.ndarray) and row.ndim > 0
    )


def _two_axes(row: Any, number: int) -> np.ndarray:
    try:
        row = np.asarray(row, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"sequence {number} of X is not an array of numbers; give each sequence as an "
            "array (t, d), or as a list of t numbers."
        ) from error
    if row.ndim not in (1, 2) or not row.size:
        raise InputError(
            f"sequence {number} of X has shape {row.shape}; give an array (t, d) of at least "
            "one position, or leave the sequence out."
        )
    return row if row.ndim == 2 else row[:, None]


def _check_rows(rows: list[np.ndarray]) -> None:
    for i, row in enumerate(rows):
        if row.shape[1] != rows[0].shape[1]:
            raise InputError(
                f"the positions of sequence {i} have {row.shape[1]} numbers, those of "
                f"sequence 0 {rows[0].shape[1]}; give each position as many."
            )


def _checked(lengths: Any, positions: int) -> np.ndarray:
    found = np.asarray(lengths)
    whole = found.ndim == 1 and found.size and found.dtype.kind in "iu"
    if not whole or found.min() < 1 or found.sum() != positions:
        raise InputError(
            f"lengths are {lengths}, but X has {positions} positions; give the length of each "
            "sequence, whole numbers of at least 1 that add up to the number of positions."
        )
    return _ends(found)


def _ends(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _of_fit(
    estimator: Any, values: np.ndarray, ends: np.ndarray, form: str, reset: bool
) -> Positions:
    """The positions; their form and number of columns are kept, or compared with the fit's."""
    d = values.shape[1]
    if reset:
        estimator.form_, estimator.n_channels_ = form, d
        if form != TABLE:
            estimator.n_features_in_ = d
    elif d != estimator.n_channels_:
        raise InputError(
            f"the positions of X have {d} numbers, those of the fit {estimator.n_channels_}; "
            "give the same columns."
        )
    return Positions(values, ends, form)
