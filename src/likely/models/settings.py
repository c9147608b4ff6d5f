"""The settings of networks as plain data: fields that hash and compare by value."""

from typing import Any

import equinox as eqx


def as_tuple(value: Any) -> Any:
    """Lists as tuples, so that settings from a file hash like those from code."""
    return tuple(map(as_tuple, value)) if isinstance(value, list | tuple) else value


def setting(default: Any) -> Any:
    """A field of plain data with this default value."""
    return eqx.field(static=True, converter=as_tuple, default=default)
