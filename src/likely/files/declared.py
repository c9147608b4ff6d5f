"""The type hints of a class, checked against the values of its fields in a file.

Hints may be types and unions, `tuple[Model, ...]`, protocols, and jaxtyping's
`Float[Array, "d k"]` with its dtype and axes, where the same letter is the same length
throughout an object. Two things are allowed everywhere: None, which `eqx.partition`
leaves in place of a leaf, and more leading axes, which `vmap` adds.
"""

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import jax
import numpy as np
from jaxtyping import AbstractArray, PyTree

from likely.files.walk import Loading, Saving


def check(cls: type, values: Mapping[str, Any], walk: Saving | Loading) -> None:
    """Refuse values that are not what the class declares."""
    hints, axes = _hints(cls), {}
    for name, value in values.items():
        if not _fits(value, hints.get(name, Any), axes):
            wanted = str(hints[name]).replace("typing.", "")[:120]
            raise walk.error(f"has a {name} that is not what it declares: {wanted}.")


@cache
def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except NameError:  # a hint that only type checkers can read
        return {}


def _fits(value: Any, hint: Any, axes: dict[str, int]) -> bool:
    """Whether a value is of the hinted type, as far as it can be checked."""
    if value is None or hint in (Any, PyTree) or isinstance(hint, typing.TypeVar):
        return True
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, option, axes) for option in typing.get_args(hint))
    if origin is typing.Literal:
        return value in typing.get_args(hint)
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return _is_array(value, hint, axes)
    if origin in (tuple, list, dict):
        inside = typing.get_args(hint)
        return isinstance(value, origin) and _entries_fit(value, inside, axes)
    return _is_instance(value, origin or hint)


def _is_array(value: Any, hint: Any, axes: dict[str, int]) -> bool:
    """Whether a value is an array of this dtype and these axes, or more leading ones."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    kind = jax.Array if isinstance(value, jax.Array) else np.ndarray
    if not isinstance(value, hint.dtype[kind, "..."]):
        return False
    wanted = hint.dim_str.split()
    if any(name.startswith(("*", "...")) for name in wanted):
        return True
    found = value.shape[len(value.shape) - len(wanted) :]
    pairs = [
        (n, s)
        for n, s in zip(wanted, found, strict=False)
        if n.isidentifier() and n != "_"
    ]
    return len(found) == len(wanted) and all(
        axes.setdefault(n, s) == s for n, s in pairs
    )


def _entries_fit(value: Any, hints: tuple[Any, ...], axes: dict[str, int]) -> bool:
    """Whether the entries of a tuple, list or dict are what their hints say."""
    if not hints:
        return True
    if isinstance(value, dict):
        keys, entries = hints
        return _all_fit(value, keys, axes) and _all_fit(value.values(), entries, axes)
    if isinstance(value, list) or hints[-1] is Ellipsis:
        return _all_fit(value, hints[0], axes)
    pairs = zip(value, hints, strict=False)
    return len(value) == len(hints) and all(_fits(v, h, axes) for v, h in pairs)


def _all_fit(values: Iterable[Any], hint: Any, axes: dict[str, int]) -> bool:
    return all(_fits(value, hint, axes) for value in values)


def _is_instance(value: Any, hint: Any) -> bool:
    """`isinstance`, where a NumPy number is a number and either array is an array."""
    number = isinstance(value, np.generic)
    plain = value.item() if number else value
    if hint in (bool, str):
        return isinstance(plain, hint)
    if hint in (int, float):
        allowed = (int,) if hint is int else (int, float)
        return isinstance(plain, allowed) and not isinstance(plain, bool)
    if hint in (np.ndarray, jax.Array):
        return isinstance(value, np.ndarray | np.generic | jax.Array)
    if hint is Callable or hint is typing.Callable:
        return callable(value)
    try:
        return isinstance(value, hint)
    except TypeError:  # not a type that `isinstance` can check
        return True
