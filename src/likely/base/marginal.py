"""The maximum-likelihood parameters of a family without inputs."""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.rows import pad
from likely.families import AbstractFamily, Product
from likely.families.negative_binomial_slopes import marginal_on_host
from likely.typing import Batch


def family_of(
    given: Any, named: Mapping[str, Callable[[], AbstractFamily]]
) -> AbstractFamily:
    """The family that a setting means: a name of one, or a family itself.

    Args:
        given: the setting.
        named: how the families that have a name are made.
    """
    if isinstance(given, AbstractFamily):
        return given
    if isinstance(given, str) and given in named:
        return named[given]()
    raise InputError(
        f"family is {given!r}; give one of {', '.join(named)}, or a family of "
        "likely.families, such as Gamma()."
    )


def for_columns(family: AbstractFamily, d: int, name: str = "y") -> AbstractFamily:
    """The family of d columns: independent ones where the family has one output.

    Args:
        family: that was given.
        d: the number of columns.
        name: what the columns are called in the message.
    """
    if not family.multivariate:
        return family if d == 1 else Product(*[family] * d)
    if family.n_outputs != d:
        columns = "1 column" if d == 1 else f"{d} columns"
        raise InputError(
            f"{type(family).__name__} has {family.n_outputs} outputs, but {name} has "
            f"{columns}; give a family with as many."
        )
    return family


def fit_marginal(family: AbstractFamily, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(k,) η of largest likelihood for weighted observations."""
    family.check(y, w)
    found = marginal_on_host(family, y, w)
    if found is not None:
        return found
    with float64():
        return np.asarray(_maximum(family, pad(Batch(None, y, w))))


@lean_jit
def _maximum(family: AbstractFamily, batch: Batch) -> Array:
    return family.marginal(jnp.asarray(batch.y), jnp.asarray(batch.w))
