"""How plain values are saved: floats that JSON lacks, tuples, dicts."""

import math
import struct
from typing import Any

import numpy as np

from likely.files.walk import Kind, Loading, Node, Saving


def _encode_float(value: float, walk: Saving) -> str:
    """The bits of a float, so that a NaN keeps its payload."""
    return struct.pack(">d", value).hex()


def _decode_float(node: Node, walk: Loading) -> float:
    bits = bytes.fromhex(node) if isinstance(node, str) else b""
    if len(bits) != 8:
        raise walk.error("is not the 64 bits of a float.")
    return struct.unpack(">d", bits)[0]


def _encode_dict(value: dict, walk: Saving) -> list[list[Node]]:
    """Pairs of keys and values, since keys need not be text."""
    odd = [key for key in value if not _is_key(key)]
    if odd:
        kind = type(odd[0]).__name__
        raise walk.error(f"is a dict with a {kind} as a key; use text or numbers.")
    return [[walk(k, "key"), walk(v, str(k)[:60])] for k, v in value.items()]


def _decode_dict(node: Node, walk: Loading) -> dict[Any, Any]:
    pairs = [items(pair, walk) for pair in items(node, walk, deep=False)]
    if any(len(pair) != 2 for pair in pairs):
        raise walk.error("is a dict without pairs.")
    if not all(_is_key(key) for key, _ in pairs):
        raise walk.error("is a dict with a key that cannot be one.")
    found = {key: value for key, value in pairs}
    if len(found) != len(pairs):
        raise walk.error("is a dict with a key twice.")
    return found


def _is_key(key: Any) -> bool:
    """Whether a key is text or a number: hostile tuples could all collide."""
    if isinstance(key, np.generic):
        return key.dtype.kind in "biufU"
    return type(key) in (type(None), bool, int, float, str)


def items(node: Node, walk: Loading, *, deep: bool = True) -> list[Any]:
    """The values of a list of nodes, or the nodes themselves."""
    if not isinstance(node, list):
        raise walk.error("is not a list.")
    return walk(node) if deep else node


KINDS = {
    "float": Kind(
        lambda v: type(v) is float and not math.isfinite(v),
        _encode_float,
        _decode_float,
    ),
    "tuple": Kind(
        lambda v: type(v) is tuple,
        lambda value, walk: walk(list(value)),
        lambda node, walk: tuple(items(node, walk)),
    ),
    "dict": Kind(lambda v: type(v) is dict, _encode_dict, _decode_dict),
}
