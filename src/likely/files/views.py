"""Arrays as tensors of the file: views, and the order of their axes.

A tensor has one of the twelve dtypes that every safetensors reader knows; other dtypes
(text, dates, complex numbers, bfloat16) are stored as a view of one of these, named by
`as`. An array in Fortran's order stays in it, since the rounding of a sum depends on it.

Arrays are often padded, so that programs have few shapes: the trace of a solver with NaN, the
cuts of a tree with infinity. Of the columns at the end that hold one and the same number only
the first is stored, and `length` says how many columns there are.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from likely.files.header import NAMES, are_sizes
from likely.files.walk import MAX_PADDING, Loading, Node, Saving

_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")
_DATES = [f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in _UNITS]
_NARROW = ("float8_e4m3fn", "float8_e5m2")
EXTENDED = ("bfloat16", *_NARROW)
"""Dtypes that NumPy has only with JAX."""
VIEWS = {
    "complex64": np.dtype("<f4"),
    "complex128": np.dtype("<f8"),
    "bfloat16": np.dtype("<u2"),
    "str": np.dtype("<u4"),
    "bytes": np.dtype("u1"),
    **{name: np.dtype("u1") for name in _NARROW},
    **{name: np.dtype("<i8") for name in _DATES},
}
"""Dtypes that are stored as another one: a name -> the dtype it is stored as."""
MIN_PADDING = 512
"""Bytes of padding from which an array is cut."""
_EXTRA_AXIS = ("complex64", "complex128", "str", "bytes")
"""Views with one more axis: real and imaginary part, characters, bytes."""


def encode_array(array: np.ndarray, walk: Saving) -> dict[str, Node]:
    """The tensor name, view and order of an array, whose numbers become a tensor."""
    node: dict[str, Node] = {}
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        array, node["order"] = array.T, "F"
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype not in NAMES:
        node["as"] = _view_name(array, walk)
        array = np.ascontiguousarray(array).reshape(array.shape)
        wide = array[..., None] if node["as"] in _EXTRA_AXIS else array
        array = wide.view(VIEWS[node["as"]])
    columns = _own_columns(array)
    padding = array.nbytes - array[..., :columns].nbytes if array.ndim else 0
    if MIN_PADDING <= padding <= walk.padding_left:
        walk.padding_left -= padding
        array, node["length"] = array[..., :columns], array.shape[-1]
    return {"tensor": walk.tensor(array), **node}


def _own_columns(array: np.ndarray) -> int:
    """How many columns there are up to the first of those that pad the array."""
    if array.ndim == 0 or not array.size:
        return array.shape[-1] if array.ndim else 0
    bits = np.ascontiguousarray(array).view(f"u{array.itemsize}")
    bits = bits.reshape(-1, bits.shape[-1])
    last = bits[-1, -1]
    if (bits[:, -2:] != last).any():
        return bits.shape[1]
    other = np.flatnonzero((bits != last).any(0))
    return int(other[-1]) + 2 if len(other) else 1


def _view_name(array: np.ndarray, walk: Saving) -> str:
    name = {"U": "str", "S": "bytes"}.get(array.dtype.kind, array.dtype.name)
    if name not in VIEWS:
        raise walk.error(f"is an array of {array.dtype}, which files do not hold.")
    return name


def decode_array(node: Node, walk: Loading) -> np.ndarray:
    """The array of a node."""
    known = {"tensor", "as", "order", "length"}
    if not isinstance(node, dict) or not set(node) <= known:
        raise walk.error("is not an array.")
    array = walk.tensor(node.get("tensor"))
    if "length" in node:
        array = _padded(array, node["length"], walk)
    if "as" in node:
        array = _viewed(array, node["as"], walk)
    if node.get("order", "F") != "F":
        raise walk.error("is an array in an unknown order.")
    return array.T if "order" in node else array


def _padded(array: np.ndarray, length: Any, walk: Loading) -> np.ndarray:
    """The array with its last column repeated; memory is taken up to a limit."""
    if not are_sizes([length], 1) or not array.ndim or not 0 < array.shape[-1] < length:
        raise walk.error("is an array of an impossible length.")
    extra = length - array.shape[-1]
    walk.padding_left -= array[..., 0].size * extra * array.itemsize
    if walk.padding_left < 0:
        raise walk.error(f"is an array with more padding than {MAX_PADDING:,} bytes.")
    padding = np.broadcast_to(array[..., -1:], (*array.shape[:-1], extra))
    return np.concatenate([array, padding], -1)


def _viewed(array: np.ndarray, name: Any, walk: Loading) -> np.ndarray:
    """The array of the named dtype that a tensor was a view of."""
    if not isinstance(name, str) or name not in VIEWS or VIEWS[name] != array.dtype:
        raise walk.error("is an array of an unknown kind.")
    if name == "str" and array.size and array.max() > 0x10FFFF:
        raise walk.error("is text with characters that do not exist.")
    if name not in _EXTRA_AXIS:
        return array.view(jnp.dtype(name) if name in EXTENDED else np.dtype(name))
    width = array.shape[-1] if array.ndim else 0
    if width < 1 or name.startswith("complex") and width != 2:
        raise walk.error("is an array of an impossible width.")
    text = {"str": f"<U{width}", "bytes": f"S{width}"}
    return array.view(text.get(name, name))[..., 0]
