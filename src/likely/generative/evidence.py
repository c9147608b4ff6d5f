"""Conditions on some columns of a table, as rows of codes with NaN in the other columns."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from likely.base.table_rows import fill_missing, is_frame
from likely.core.checks import InputError, suggestion
from likely.data.frames import to_arrow
from likely.preprocess import TableCodec
from likely.preprocess.codec.container import Container


def evidence_codes(codec: TableCodec, given: Any, n: int | None = None) -> np.ndarray:
    """(n, q) codes of what is known, NaN elsewhere.

    Args:
        codec: of the fit.
        given: values of some columns: a mapping from names to a value or to n values, a
            frame of some columns, or an array of all columns with NaN where nothing is known.
        n: how many rows there have to be; one row is repeated. None takes any number.
    """
    if given is None:
        return np.full((1 if n is None else n, codec.q), np.nan)
    if is_frame(given):
        found = _columns(codec, given)
    else:
        found = codec.encode(np.atleast_2d(np.asarray(given)))
    if n is None or len(found) == n:
        return found
    if len(found) != 1:
        raise InputError(
            f"given has {len(found)} rows, and there are {n}; give one row, or {n}."
        )
    return np.repeat(found, n, axis=0)


def column_names(codec: TableCodec, names: Any) -> tuple[str, ...]:
    """Names of modelled columns, or a sentence about one that is not."""
    found = (names,) if isinstance(names, str) else tuple(names)
    for name in found:
        if name in codec.names:
            continue
        if name in {c.name for c in codec.constants} or name in codec.dropped:
            raise InputError(
                f"column {name!r} is not modelled: it had one value in the rows of the fit, "
                "or is an identifier or prose."
            )
        near = suggestion(name, codec.names, "the columns are")
        raise InputError(f"there is no column {name!r}; {near}")
    return found


def filled_rows(codec: TableCodec, X: Any, V: np.ndarray) -> Any:
    """The rows X with missing cells taken from codes, in the container that X came in.

    Args:
        codec: of the fit.
        X: rows of any make.
        V: (n, q) codes without NaN.
    """
    if is_frame(X):
        codec = dataclasses.replace(codec, container=Container.of(X, to_arrow(X)))
    return fill_missing(codec, X, V)


def _columns(codec: TableCodec, given: Any) -> np.ndarray:
    """The codes of a mapping or a frame of some columns."""
    if isinstance(given, Mapping):
        lists = {k: [v] if np.ndim(v) == 0 else list(v) for k, v in given.items()}
        n = max((len(v) for v in lists.values()), default=1)
        given = {k: v * n if len(v) == 1 else v for k, v in lists.items()}
        if len({len(v) for v in given.values()}) > 1:
            raise InputError("the columns of given have different lengths.")
        names = list(given)
    else:
        names, n = list(given.columns), len(given)
    chosen = column_names(codec, names)
    found = np.full((n, codec.q), np.nan)
    if chosen:
        columns = tuple(c for c in codec.columns if c.name in chosen)
        at = [codec.names.index(c.name) for c in columns]
        found[:, at] = codec.encode_columns(given, columns)
    return found
