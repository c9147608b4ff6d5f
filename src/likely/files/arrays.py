"""How arrays are saved: NumPy and JAX arrays, scalars, keys, arrays of objects.

A JAX array of 64 bits comes back as a NumPy array: outside the float64 scope a JAX
array would silently lose half of them. Other JAX arrays come back as JAX arrays.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from likely.core.checks import concrete
from likely.core.random import is_key
from likely.files.header import MAX_AXES, are_sizes
from likely.files.plain import items
from likely.files.views import EXTENDED, decode_array, encode_array
from likely.files.walk import Kind, Loading, Node, Saving

KEY_LENGTHS = {"threefry2x32": 2, "rbg": 4, "unsafe_rbg": 4}
"""The length of the keys of each random generator of JAX."""


def _decode_scalar(node: Node, walk: Loading) -> Any:
    array = decode_array(node, walk)
    if array.ndim:
        raise walk.error("is a scalar with axes.")
    return array[()]


def _encode_objects(array: np.ndarray, walk: Saving) -> dict[str, Node]:
    """An array of text, numbers and None that pandas made, entry by entry."""
    entries = [walk(v, str(i)) for i, v in enumerate(array.ravel().tolist())]
    return {"shape": list(array.shape), "items": entries}


def _decode_objects(node: Node, walk: Loading) -> np.ndarray:
    if not isinstance(node, dict) or set(node) != {"shape", "items"}:
        raise walk.error("is not an array of objects.")
    entries = items(node["items"], walk)
    shape = node["shape"]
    if not are_sizes(shape, MAX_AXES) or math.prod(shape) != len(entries):
        raise walk.error("is an array of objects of another size.")
    array = np.empty(len(entries), object)
    for i, entry in enumerate(entries):  # all at once, NumPy would unpack a list
        array[i] = entry
    return array.reshape(shape)


def _encode_jax(array: jax.Array | np.ndarray, walk: Saving) -> dict[str, Node]:
    if not concrete(array):
        raise walk.error("has no value yet: save outside of jit, vmap and grad.")
    return encode_array(np.asarray(array), walk)


def _decode_jax(node: Node, walk: Loading) -> jax.Array:
    array = decode_array(node, walk)
    if not _fits_jax(array.dtype):
        raise walk.error(f"is a JAX array of {array.dtype}.")
    return jnp.asarray(array)


def _fits_jax(dtype: Any) -> bool:
    """Whether JAX has this dtype inside and outside of the float64 scope."""
    wide = dtype.name in ("float64", "int64", "uint64", "complex128")
    return dtype.kind in "biuf" and not wide or dtype.name in ("complex64", *EXTENDED)


def _encode_key(key: jax.Array, walk: Saving) -> dict[str, Node]:
    numbers = _encode_jax(jax.random.key_data(key), walk)
    return {"generator": str(jax.random.key_impl(key)), "numbers": numbers}


def _decode_key(node: Node, walk: Loading) -> jax.Array:
    if not isinstance(node, dict) or set(node) != {"generator", "numbers"}:
        raise walk.error("is not a key.")
    numbers, name = decode_array(node["numbers"], walk), node["generator"]
    length = KEY_LENGTHS.get(name) if isinstance(name, str) else None
    if numbers.dtype != np.uint32 or numbers.shape[-1:] != (length,):
        raise walk.error("is not the key of a known generator.")
    return jax.random.wrap_key_data(jnp.asarray(numbers), impl=name)


def _is_array(value: Any) -> bool:
    if isinstance(value, jax.Array):
        return not is_key(value) and not _fits_jax(value.dtype)
    return type(value) in (np.ndarray, np.memmap)


KINDS = {
    "objects": Kind(
        lambda v: type(v) is np.ndarray and v.dtype == object,
        _encode_objects,
        _decode_objects,
    ),
    "array": Kind(_is_array, _encode_jax, decode_array),
    "scalar": Kind(
        lambda v: isinstance(v, np.generic),
        lambda v, walk: encode_array(np.asarray(v), walk),
        _decode_scalar,
    ),
    "key": Kind(is_key, _encode_key, _decode_key),
    "jax": Kind(lambda v: isinstance(v, jax.Array), _encode_jax, _decode_jax),
}
