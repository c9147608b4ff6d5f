"""What rows are conditioned on: labels, numbers or a frame, as columns of a design."""

import dataclasses
from typing import Any

import numpy as np

from likely.base.rows import weights_of
from likely.base.table_rows import is_frame, take
from likely.core.checks import InputError
from likely.preprocess import TableCodec

MAX_LABELS = 100
"""Different whole numbers up to which a list of numbers is one of labels."""


@dataclasses.dataclass(frozen=True)
class Given:
    """The design of conditions, learned from those of the rows of a fit."""

    codec: TableCodec

    @classmethod
    def fit(cls, given: Any, w: Any = None) -> "Given":
        """Learn which conditions there are.

        Args:
            given: (n,) labels or numbers, (n, g) numbers, or a frame.
            w: (n,) weights; rows of weight 0 are not looked at.
        """
        table = _as_table(given)
        kinds = {}
        if isinstance(table, dict):
            values = np.asarray(table["given"])
            present = values if w is None else values[np.asarray(w) > 0]
            labels = values.dtype.kind in "OUSb" or (
                values.dtype.kind in "iu" and len(np.unique(present)) <= MAX_LABELS
            )
            kinds = {"given": "category"} if labels else {"given": "number"}
        try:
            return cls(TableCodec.fit(table, w, kinds=kinds))
        except InputError as error:
            raise InputError(f"given cannot be used: {error}") from None

    @property
    def width(self) -> int:
        """How many columns the design has."""
        return self.codec.n_inputs

    def design(self, given: Any, n: int) -> np.ndarray:
        """(n, width) the design of n rows.

        Args:
            given: conditions of one row, which all share, or of n rows.
            n: how many rows there are.
        """
        if given is None:
            raise InputError(
                "the model was fitted with given=...; give what new rows are "
                "conditioned on, too."
            )
        if not is_frame(given) and np.ndim(given) == 0:
            given = np.asarray([given])
        try:
            found = self.codec.inputs(self.codec.encode(_as_table(given)))
        except InputError as error:
            raise InputError(f"given cannot be used: {error}") from None
        if len(found) not in (1, n):
            raise InputError(
                f"given has {len(found)} rows, and there are {n}; give one row, or {n}."
            )
        return np.broadcast_to(found, (n, found.shape[1]))


def fit_given(
    given: Any, present: np.ndarray, sample_weight: Any
) -> tuple[Given | None, np.ndarray | None]:
    """What is learned from the conditions of a fit, and their design; None without any.

    Args:
        given: the conditions of all rows, or None.
        present: (N,) booleans: the rows of positive weight.
        sample_weight: of all rows, or None.
    """
    if given is None:
        return None, None
    found = Given.fit(given, weights_of(sample_weight, len(present)))
    table = _as_table(given)
    rows = take(table, np.flatnonzero(present))
    return found, found.codec.inputs(found.codec.encode(rows))


def given_design(given: Given | None, values: Any, n: int) -> np.ndarray:
    """(n, g) the design of n rows; without columns where a model has no conditions.

    Args:
        given: what was learned in the fit, or None.
        values: the conditions, or None.
        n: how many rows there are.
    """
    if given is not None:
        return given.design(values, n)
    if values is not None:
        raise InputError(
            "given is not None, and the model was fitted without it; give it to fit too."
        )
    return np.zeros((n, 0))


def _as_table(given: Any) -> Any:
    """A frame as it is, an array of two axes as it is, and labels as a column."""
    if is_frame(given):
        return given
    found = np.asarray(given)
    return {"given": found} if found.ndim == 1 else found
