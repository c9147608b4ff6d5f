"""Data sets by name, for the command line."""

from collections.abc import Callable
from typing import Any

from likely.core.checks import InputError
from likely.data import bundled, classes, curves, dependence, remote, series

_BUNDLED = (
    bundled.iris,
    bundled.wine,
    bundled.breast_cancer,
    bundled.digits,
    bundled.diabetes,
    bundled.linnerud,
)
_SYNTHETIC = (
    curves.linear,
    curves.curve,
    curves.polynomial,
    curves.heteroscedastic,
    curves.counts,
    curves.correlated,
    classes.moons,
    classes.rings,
    classes.spirals,
    classes.disc,
    classes.mixture,
    classes.separable,
    classes.inseparable,
    series.signals,
    dependence.couples,
    dependence.drift,
    dependence.biased,
)
_DOWNLOADED = (
    remote.mnist,
    remote.fashion_mnist,
    remote.cifar10,
    remote.tinyshakespeare,
)
SETS: dict[str, Callable[..., Any]] = {
    make.__name__: make for make in (*_BUNDLED, *_SYNTHETIC, *_DOWNLOADED)
}


def names() -> dict[str, str]:
    """The names of all data sets, each with its first sentence."""
    return {
        name: (make.__doc__ or "").strip().partition("\n")[0]
        for name, make in SETS.items()
    }


def load(name: str, **options: Any) -> Any:
    """The data set of this name.

    Args:
        name: one of `names()`.
        **options: what the function of that name takes: `n`, `random_state`, `path`, ...
    """
    if name not in SETS:
        raise InputError(f"there is no data set {name!r}; there are {', '.join(SETS)}.")
    return SETS[name](**options)
