"""The table of classes is complete, and names what is there."""

import dataclasses
import importlib
import inspect
import pkgutil

import equinox as eqx
import pytest
from sklearn.base import BaseEstimator

import likely
from likely.files import table


def modules():
    """Every module of the package, imported."""
    for found in pkgutil.walk_packages(likely.__path__, "likely."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def is_value(cls: type) -> bool:
    """Whether a class is made of values, so that someone may want to keep one."""
    kinds = (eqx.Module, BaseEstimator)
    return issubclass(cls, kinds) or dataclasses.is_dataclass(cls)


def savable() -> set[type]:
    """Concrete classes of values, and whatever classes a room shows to its users."""
    found = set()
    for module in modules():
        shown = [getattr(module, name) for name in getattr(module, "__all__", ())]
        found |= {c for c in shown if inspect.isclass(c)}
        own = [c for c in vars(module).values() if inspect.isclass(c)]
        found |= {c for c in own if c.__module__ == module.__name__ and is_value(c)}
    return {c for c in found if is_concrete(c) and not is_unsaved(c)}


def is_unsaved(cls: type) -> bool:
    name = f"{cls.__module__}.{cls.__qualname__}"
    return any(f"{name}.".startswith(f"{place}.") for place in table.UNSAVED)


def is_concrete(cls: type) -> bool:
    hidden = cls.__name__.startswith(("_", "Abstract")) or inspect.isabstract(cls)
    protocol = getattr(cls, "_is_protocol", False)
    return not (hidden or protocol or issubclass(cls, BaseException))


def test_every_savable_class_is_in_the_table():
    missing = [
        f"{c.__module__}.{c.__qualname__}"
        for c in savable()
        if c.__name__ not in table.CLASSES
    ]
    assert not missing, (
        "add these to CLASSES in src/likely/files/table.py, or to UNSAVED with the "
        f"reason: {sorted(missing)}"
    )


def test_the_table_names_the_classes_it_means():
    """A class that has the name of one in the table would not be saved."""
    for cls in savable():
        if cls.__name__ in table.CLASSES:
            assert table.class_of(cls.__name__) is cls


def test_no_class_is_in_both_tables_or_twice():
    assert not any(is_unsaved(table.class_of(name)) for name in table.CLASSES)
    listed = [name for names in table.PLACES.values() for name in names.split()]
    public = [name for room in table.ROOMS.split() for name in table._public(room)]
    assert len(table.CLASSES) == len(listed) + len(public)


@pytest.mark.parametrize("name", table.CLASSES)
def test_class_is_there(name):
    cls = table.class_of(name)
    assert cls.__name__ == name
    assert cls.__module__ == table.CLASSES[name]
    assert is_concrete(cls)


@pytest.mark.parametrize("name", table.FUNCTIONS)
def test_function_is_there_by_its_own_name(name):
    function = table.function_of(name)
    assert callable(function)
    assert table.is_function(function)
