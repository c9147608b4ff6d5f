"""How objects are saved: those of classes in the table, and functions in the table.

An object is the values of the fields that its class declares; no `__init__` runs.

Files outlive changes of classes. A field that is added needs a default, which is used
for older files. A class that renames or drops fields says how to read the old ones:

    @staticmethod
    def __upgrade__(fields: dict) -> dict: ...
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any

from likely.core.checks import InputError
from likely.files import table
from likely.files.declared import check
from likely.files.walk import Kind, Loading, Node, Saving

# Functions ----------------------------------------------------------------------------


def _decode_function(node: Node, walk: Loading) -> Callable:
    if not isinstance(node, str) or node not in table.FUNCTIONS:
        raise walk.error("is a function that this version does not know.")
    return table.function_of(node)


# Objects: the fields of a class -------------------------------------------------------


def _encode_object(value: Any, walk: Saving) -> dict[str, Node]:
    values = {name: getattr(value, name) for name in _fields(type(value))}
    check(type(value), values, walk)
    nodes = {name: walk(v, name) for name, v in values.items()}
    return {"class": type(value).__name__, "fields": nodes}


def _decode_object(node: Node, walk: Loading) -> Any:
    cls = class_in(node, ("fields",), walk)
    if is_estimator(cls):
        raise walk.error(f"is not how a {cls.__name__} is saved.")
    names = _fields(cls)
    values = values_in(node["fields"], cls, walk)
    refuse_unknown(values, names, walk)
    if len(values) < len(names):
        values = _defaults(cls) | values
    missing = [name for name in names if name not in values]
    if missing:
        raise walk.error(f"has no {missing[0]}.")
    check(cls, values, walk)
    if issubclass(cls, tuple):
        return cls(*(values[name] for name in names))
    return _assembled(cls, values, walk)


def _fields(cls: Any) -> tuple[str, ...]:
    """The names of the fields of a class."""
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    return table.ATTRIBUTES.get(cls.__name__) or cls._fields


def _defaults(cls: Any) -> dict[str, Any]:
    """The fields that have a default, converted as the class would."""
    if not dataclasses.is_dataclass(cls):
        return getattr(cls, "_field_defaults", {})
    found = {}
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
        if field.name in found and "converter" in field.metadata:
            found[field.name] = field.metadata["converter"](found[field.name])
    return found


def _assembled(cls: type, values: Mapping[str, Any], walk: Loading) -> Any:
    """An object with these fields, as Equinox makes one from its leaves.

    The checks of its class are those that Equinox runs after `__init__`.
    """
    made = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    for base in cls.__mro__:
        if "__check_init__" in vars(base):
            try:
                vars(base)["__check_init__"](made)
            except InputError as error:
                raise walk.error(f"is refused by its class: {error}") from error
    return made


# Shared with estimators ---------------------------------------------------------------


def is_estimator(cls: type) -> bool:
    """Whether a class keeps scikit-learn's contract of parameters."""
    return hasattr(cls, "get_params")


def class_in(node: Node, parts: tuple[str, ...], walk: Loading) -> type:
    """The class of an object in a file."""
    if not isinstance(node, dict) or set(node) != {"class", *parts}:
        raise walk.error("is not an object.")
    name = node["class"]
    if not isinstance(name, str) or name not in table.CLASSES:
        raise walk.error("is of a class that this version does not know.")
    return table.class_of(name)


def values_in(nodes: Node, cls: Any, walk: Loading) -> dict[str, Any]:
    """The values of named nodes; those of older files under their present names."""
    if not isinstance(nodes, dict):
        raise walk.error("is an object without fields.")
    values = {name: walk(node, name) for name, node in nodes.items()}
    return cls.__upgrade__(values) if hasattr(cls, "__upgrade__") else values


def refuse_unknown(
    values: Mapping[str, Any], known: Collection[str], walk: Loading
) -> None:
    """Refuse names that the class does not have."""
    for name in values:
        if name not in known:
            raise walk.error(
                f"has a field {name[:40]!r} that this version does not know."
            )


KINDS = {
    "object": Kind(table.is_class, _encode_object, _decode_object),
    "function": Kind(table.is_function, lambda f, walk: f.__name__, _decode_function),
}
