"""Whether two values are the same to the last bit."""

import struct
from typing import Any

import jax
import numpy as np


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
    if hasattr(a, "__dict__") and vars(a) and not isinstance(a, type):
        return a is b or same(sorted(vars(a).items()), sorted(vars(b).items()))
    return a is b or a == b


def _same_arrays(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype == object:
        return same(a.ravel().tolist(), b.ravel().tolist())
    order = a.flags.c_contiguous == b.flags.c_contiguous or not a.flags.f_contiguous
    return order and a.tobytes() == b.tobytes()
