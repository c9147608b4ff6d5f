"""Settings and estimators as JSON: the same text in every process, for the same thing."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def describe(value: Any) -> Any:
    """A value as JSON: numbers and text as they are, anything else by what it is made of."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): describe(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray):
        return {"array": digest(value)} if value.size > 20 else describe(value.tolist())
    if isinstance(value, list | tuple | set | frozenset | range):
        return [describe(entry) for entry in value]
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {type(value).__qualname__: describe(value.get_params(deep=False))}
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "dist") and hasattr(value, "kwds"):  # of scipy.stats
        return {value.dist.name: describe([value.args, value.kwds])}
    return ADDRESS.sub("", repr(value))


def text_of(value: Any) -> str:
    """The JSON of a value as text, which can be compared."""
    return json.dumps(describe(value))


def digest(*tables: Any) -> str:
    """A hash of arrays, sparse matrices, frames and lists."""
    found = hashlib.sha256()
    for table in tables:
        for name, part in _parts(table):
            array = np.asarray(part)
            if array.dtype == object:
                array = np.array([f"{type(v).__name__} {v}" for v in array.ravel()])
            found.update(f"{name} {array.dtype} {array.shape}".encode())
            found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:32]


def _parts(table: Any) -> list[tuple[str, Any]]:
    """The arrays that a table is made of, by name."""
    if table is None:
        return []
    if issparse(table):
        rows: Any = table.tocsr()
        return [("data", rows.data), ("columns", rows.indices), ("rows", rows.indptr)]
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):
        return [(str(name), table[name]) for name in table.columns]
    return [("", table)]
