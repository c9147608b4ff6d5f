"""How distributions of `scipy.stats` are saved: by their name and parameters."""

import importlib
from numbers import Real
from typing import Any

from likely.files.walk import Kind, Loading, Node, Saving

CLASSES = ("rv_continuous_frozen", "rv_discrete_frozen")
"""The classes of distributions with parameters."""


def _is_frozen(value: Any) -> bool:
    cls = type(value)
    return cls.__name__ in CLASSES and cls.__module__.startswith("scipy.stats.")


def _encode(value: Any, walk: Saving) -> dict[str, Node]:
    return {
        "name": value.dist.name,
        "args": walk(list(value.args), "args"),
        "kwds": walk(dict(value.kwds), "kwds"),
    }


def _decode(node: Node, walk: Loading) -> Any:
    if not isinstance(node, dict) or set(node) != {"name", "args", "kwds"}:
        raise walk.error("is not a distribution.")
    args, kwds = walk(node["args"], "args"), walk(node["kwds"], "kwds")
    stats: Any = importlib.import_module("scipy.stats")
    named = isinstance(node["name"], str)
    known: Any = getattr(stats, node["name"], None) if named else None
    if not isinstance(known, stats.rv_continuous | stats.rv_discrete):
        raise walk.error("is a distribution that scipy.stats does not have.")
    plain = isinstance(args, list) and isinstance(kwds, dict)
    numbers = [*args, *kwds.values()] if plain else [None]
    if not all(isinstance(number, Real) for number in numbers):
        raise walk.error("is a distribution with parameters that are no numbers.")
    try:
        return known(*args, **kwds)
    except (TypeError, ValueError):
        raise walk.error("is a distribution with other parameters.") from None


KINDS = {"distribution": Kind(_is_frozen, _encode, _decode)}
