"""Frozen dataclasses as JSON and back, and the JSON Schema that describes them."""

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from likely.core.checks import InputError

SCHEMA_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def plain(value: Any) -> Any:
    """A value as JSON has it: lists, numbers of twelve digits, null for NaN, ISO dates."""
    if dataclasses.is_dataclass(value):
        return {
            f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.12g}") if np.isfinite(value) else None
    if value is None or isinstance(value, str):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def typed(kind: Any, value: Any, where: str = "the report") -> Any:
    """The value of a type that `plain` turned into JSON.

    Args:
        kind: a dataclass, or a type made of tuples, dictionaries and basic types.
        value: what JSON holds.
        where: the place in the file, for errors.

    Raises:
        InputError: names the entry that is missing or of another type.
    """
    if kind is Any:
        return value
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in inner:
            return None
        kinds = [k for k in inner if k is not type(None)]
        return typed(kinds[0], value, where) if len(kinds) == 1 else value
    if origin is tuple and isinstance(value, list):
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
        if len(kinds) == len(value):
            pairs = enumerate(zip(kinds, value, strict=True))
            return tuple(typed(k, v, f"{where}[{i}]") for i, (k, v) in pairs)
    if origin in (dict, Mapping) and isinstance(value, dict):
        return {k: typed(inner[1], v, f"{where}.{k}") for k, v in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        return _record(kind, value, where)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(kind, type) and isinstance(value, kind):
        return value
    raise InputError(f"{where} is {str(value)[:40]!r}, which is no {_name(kind)}.")


def _record(kind: Any, value: dict, where: str) -> Any:
    hints = get_type_hints(kind)
    unknown = sorted(set(value) - set(hints))
    if unknown:
        raise InputError(f"{where} has the unknown entry {unknown[0]!r}.")
    found = {}
    for field in dataclasses.fields(kind):
        if field.name in value:
            place = f"{where}.{field.name}"
            found[field.name] = typed(hints[field.name], value[field.name], place)
        elif not _has_default(field):
            raise InputError(f"{where} has no entry {field.name!r}.")
    return kind(**found)


def _has_default(field: dataclasses.Field) -> bool:
    missing = dataclasses.MISSING
    return field.default is not missing or field.default_factory is not missing


def _name(kind: Any) -> str:
    return SCHEMA_TYPES.get(kind, getattr(kind, "__name__", str(kind)))


def records(kind: Any) -> list[type]:
    """A dataclass and all dataclasses inside of it, in the order in which they appear."""
    found: list[type] = []

    def visit(kind: Any) -> None:
        if (
            isinstance(kind, type)
            and dataclasses.is_dataclass(kind)
            and kind not in found
        ):
            found.append(kind)
            for hint in get_type_hints(kind).values():
                visit(hint)
        for part in get_args(kind):
            visit(part)

    visit(kind)
    return found


def described(kind: Any) -> dict[str, str]:
    """What the docstring of a dataclass says about each of its attributes."""
    text = (kind.__doc__ or "").partition("Attributes:")[2]
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        head, colon, rest = line.strip().partition(": ")
        if line.startswith(" " * 8) and not line.startswith(" " * 9) and colon:
            name = head
            found[name] = rest
        elif name and line.strip():
            found[name] += " " + line.strip()
    return found


def json_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a dataclass."""
    rooms = {record.__name__: _object(record) for record in records(kind)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.__name__,
        **rooms.pop(kind.__name__),
        "$defs": rooms,
    }


def _object(kind: Any) -> dict[str, Any]:
    hints, words = get_type_hints(kind), described(kind)
    fields = dataclasses.fields(kind)
    return {
        "type": "object",
        "description": (kind.__doc__ or "").split("\n\n")[0].strip(),
        "properties": {
            f.name: {**_schema(hints[f.name]), "description": words[f.name]}
            for f in fields
        },
        "required": [f.name for f in fields if not _has_default(f)],
    }


def _schema(kind: Any) -> dict[str, Any]:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(k) for k in inner]}
    if origin is tuple:
        return {"type": "array", "items": _schema(inner[0])}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _schema(inner[1])}
    if dataclasses.is_dataclass(kind):
        return {"$ref": f"#/$defs/{getattr(kind, '__name__', '')}"}
    return {"type": "null" if kind is type(None) else SCHEMA_TYPES[kind]}
