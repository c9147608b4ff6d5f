"""Values to JSON and back: the recursion over nested values.

None, truth values, whole numbers, finite floats, text and lists are themselves. Every
other value is an object with one key, its kind: `{"tuple": [1, 2]}`. A `Kind` says
which values belong to it, and how they are encoded and decoded.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from likely.files.errors import FileError
from likely.files.strict import MAX_DEPTH

Node = Any
"""JSON, as Python's parser gives it."""
_INT64 = 2**63
MAX_PADDING = 2**26
"""Bytes of padding that the arrays of one file may have altogether."""


class Kind(NamedTuple):
    """A kind of value in a file."""

    matches: Callable[[Any], bool]
    encode: Callable[[Any, "Saving"], Node]
    decode: Callable[[Node, "Loading"], Any]


class AbstractWalk(ABC):
    """The recursion over a value, with the path to where it is.

    Args:
        kinds: the kinds of values, by name.
        tensors: the arrays of the file, by name.
    """

    def __init__(self, kinds: Mapping[str, Kind], tensors: dict[str, np.ndarray]):
        self.kinds, self.tensors = kinds, tensors
        self.steps: list[str] = []
        self.padding_left = MAX_PADDING

    @abstractmethod
    def _convert(self, value: Any, /) -> Any:
        """The node of a value, or the value of a node."""

    def __call__(self, value: Any, step: str | None = None) -> Any:
        """Convert what is one step further into the whole."""
        self.steps += [] if step is None else [step]
        converted = self._convert(value)
        if step is not None:
            self.steps.pop()
        return converted

    def error(self, problem: str) -> FileError:
        """The error about the current value, with its path."""
        return FileError(f"{_path(self.steps)} {problem}")


class Saving(AbstractWalk):
    """Encodes a value as a JSON node and tensors."""

    def tensor(self, array: np.ndarray) -> str:
        """Keep a tensor under the path of the current value."""
        name = _path(self.steps).encode("ascii", "backslashreplace").decode()[:200]
        while name in self.tensors or name == "__metadata__":
            name = f"{name}#{len(self.tensors)}"
        self.tensors[name] = np.ascontiguousarray(array).reshape(array.shape)
        return name

    def _convert(self, value: Any, /) -> Node:
        if len(self.steps) > MAX_DEPTH:
            raise FileError("it is nested too deeply, or contains itself.")
        if _plain(value):
            return value
        if type(value) is list:
            return [self(v, str(i)) for i, v in enumerate(value)]
        for name, kind in self.kinds.items():
            if kind.matches(value):
                return {name: kind.encode(value, self)}
        raise self.error(_refusal(value))


class Loading(AbstractWalk):
    """Decodes a value from a JSON node and tensors, each of which is used once."""

    def tensor(self, name: Any) -> np.ndarray:
        """The tensor of this name, which no other node may have."""
        if not isinstance(name, str) or name not in self.tensors:
            raise self.error("has no tensor of its own.")
        return self.tensors.pop(name)

    def _convert(self, node: Node, /) -> Any:
        if isinstance(node, list):
            return [self(n, str(i)) for i, n in enumerate(node)]
        if not isinstance(node, dict):
            return node
        name = next(iter(node), "")
        if len(node) != 1 or name not in self.kinds:
            raise self.error("is of a kind that this version does not know.")
        return self.kinds[name].decode(node[name], self)


def _path(steps: list[str]) -> str:
    """The path of a value, such as `phi_.model.weight`."""
    return ".".join(steps) or "value"


def _plain(value: Any) -> bool:
    """Whether a value is JSON as it is."""
    kind = type(value)
    if kind is int:
        return -_INT64 <= value < 2 * _INT64
    if kind is float:
        return math.isfinite(value)
    return value is None or kind in (bool, str)


def _refusal(value: Any) -> str:
    """Why a value cannot be saved, and what to do."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if kind is int:
        return "is a whole number of more than 64 bits; keep it as text."
    if callable(value) and not isinstance(value, type):
        return (
            f"is a function or object of your own ({name}), and a file never holds "
            "code; use one of `likely.files.FUNCTIONS`, or save the numbers and build "
            "the object again in your program."
        )
    return (
        f"is a {name}, which files do not hold; save its numbers (arrays, lists, "
        "dicts, text) and build the object again in your program."
    )
