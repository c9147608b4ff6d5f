"""The table of tensors in a safetensors header, checked before it is used."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from likely.files.errors import FileError

MAX_AXES = 32
"""The largest number of axes of a tensor."""
MAX_SIZE = 2**48
"""The largest size or offset."""
DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
}
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}


class Span(NamedTuple):
    """A tensor and the range of bytes it occupies in the data."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


def table(tensors: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The entries of the header, in the order of the data."""
    entries, end = {}, 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        kind, shape = NAMES[tensor.dtype], list(tensor.shape)
        entries[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    return entries


def spans(entries: Mapping[str, Any], size: int) -> Iterator[Span]:
    """The tensors: each begins where the last one ended, the last ends at `size`."""
    end = 0
    for name, entry in entries.items():
        span = _span(name, entry)
        length = math.prod(span.shape) * span.dtype.itemsize
        if span.begin != end or span.end != end + length or span.end > size:
            raise FileError(f"the tensor {name[:40]!r} is not where it should be.")
        end = span.end
        yield span
    if end != size:
        raise FileError(f"its tensors end at {end:,} of {size:,} bytes.")


def _span(name: str, entry: Any) -> Span:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise FileError(f"the tensor {name[:40]!r} has no dtype, shape or offsets.")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise FileError(f"the tensor {name[:40]!r} has an unknown dtype.")
    if not (are_sizes(shape, MAX_AXES) and are_sizes(offsets, 2) and len(offsets) == 2):
        raise FileError(f"the tensor {name[:40]!r} has an impossible shape or offset.")
    return Span(name, np.dtype(DTYPES[dtype]), tuple(shape), *offsets)


def are_sizes(value: Any, limit: int) -> bool:
    """Whether a value is a list of at most so many sizes."""
    if not isinstance(value, list) or len(value) > limit:
        return False
    return all(type(v) is int and 0 <= v <= MAX_SIZE for v in value)
