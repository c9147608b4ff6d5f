"""Whether two values are the same to the last bit."""

import struct
from typing import Any

import jax
import numpy as np
from sklearn.base import BaseEstimator


def same(a: Any, b: Any) -> bool:
    """Type by type, field by field, bit by bit."""
    if isinstance(a, jax.Array) and jax.numpy.issubdtype(a.dtype, jax.dtypes.prng_key):
        return a.dtype == b.dtype and same(
            jax.random.key_data(a), jax.random.key_data(b)
        )
    if isinstance(a, jax.Array) and a.dtype.name in ("float64", "int64"):
        a = np.asarray(a)  # comes back as NumPy
    if type(a) is not type(b):
        return isinstance(a, np.memmap) and same(np.asarray(a), b)
    if isinstance(a, np.ndarray | np.generic | jax.Array):
        return _same_arrays(np.asarray(a), np.asarray(b))
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if callable(a) and not hasattr(a, "__dict__") or a is None:
        return a is b
    has_fields = hasattr(a, "__dict__") and vars(a) and not isinstance(a, type)
    if has_fields or isinstance(a, BaseEstimator):
        return a is b or same(_state(a), _state(b))
    return a is b or a == b


def _state(value: Any) -> list:
    """The attributes of an object; of an estimator those that a pickle would hold."""
    if hasattr(value, "dist") and hasattr(value, "kwds"):  # of scipy.stats
        return [value.dist.name, value.args, value.kwds]
    kept = isinstance(value, BaseEstimator)
    return sorted((value.__getstate__() if kept else vars(value)).items())


def _same_arrays(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype == object:
        return same(a.ravel().tolist(), b.ravel().tolist())
    order = a.flags.c_contiguous == b.flags.c_contiguous or not a.flags.f_contiguous
    return order and a.tobytes() == b.tobytes()
