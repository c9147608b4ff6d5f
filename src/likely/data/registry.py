"""Data sets by name, for the command line."""

from collections.abc import Callable
from inspect import isfunction
from types import ModuleType
from typing import Any

from likely.core.checks import InputError
from likely.data import bundled, classes, curves, dependence, remote, series


def _makers(*modules: ModuleType) -> tuple[Callable[..., Any], ...]:
    """The public functions that these modules define, each of which makes a data set."""
    return tuple(
        make
        for module in modules
        for name, make in vars(module).items()
        if isfunction(make)
        and make.__module__ == module.__name__
        and not name.startswith("_")
    )


_BUNDLED = _makers(bundled)
_SYNTHETIC = _makers(curves, classes, series, dependence)
_DOWNLOADED = _makers(remote)
SETS: dict[str, Callable[..., Any]] = {
    make.__name__: make for make in (*_BUNDLED, *_SYNTHETIC, *_DOWNLOADED)
}


def names() -> dict[str, str]:
    """The names of all data sets, each with its first sentence.

    Examples:
        >>> "diabetes" in lk.data.names()
        True
    """
    return {
        name: (make.__doc__ or "").strip().partition("\n")[0]
        for name, make in SETS.items()
    }


def load(name: str, **options: Any) -> Any:
    """The data set of this name.

    Args:
        name: one of `names()`.
        **options: what the function of that name takes: `n`, `random_state`, `path`, ...

    Examples:
        >>> lk.data.load("iris").X.shape
        (150, 4)
    """
    if name not in SETS:
        raise InputError(f"there is no data set {name!r}; there are {', '.join(SETS)}.")
    return SETS[name](**options)
