r"""The units of a target: which entries of η move when y is shifted or stretched.

A network learns best where its target is about 0 and spreads about 1. Where the family
allows, $z = (y - s)/u$ is what it is taught, and each entry of η goes back to the data by

$$η_{\text{data}} = a\,η + b, \qquad
  (a, b) = (u, s)\ \text{of a place},\quad (1, \log u)\ \text{of the log of a size},$$

and (1, 0) of anything else. Counts and classes have no units that could change.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.families import (
    AbstractFamily,
    Gamma,
    Laplace,
    Mixture,
    Normal,
    Product,
    StudentT,
)

PLACE, SIZE, NONE = "place", "size", ""


def outputs_of(family: AbstractFamily) -> tuple[AbstractFamily, ...]:
    """The families of the outputs: those of a product, else the one."""
    return family.families if isinstance(family, Product) else (family,)


def units_of(family: AbstractFamily) -> tuple[str, ...]:
    """What each entry of η of one output is: a place, the log of a size, or neither."""
    if isinstance(family, Mixture):
        m = family.n_components
        return (NONE,) * m + units_of(family.family) * m
    if isinstance(family, Normal | Laplace | StudentT) and family.scale is None:
        return (PLACE, SIZE, NONE)[: family.n_eta]
    if isinstance(family, Gamma):
        return (SIZE, NONE)[: family.n_eta]
    return (NONE,) * family.n_eta


def target_units(
    family: AbstractFamily,
    y: Float[Array, "n ..."],
    w: Float[Array, " n"],
    moments: Any,
    *,
    positions: bool = False,
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """s and u of each output; a scalar each where there is one output.

    Args:
        family: p(y | θ).
        y: the targets.
        w: their weights.
        moments: mean and spread of values with weights.
        positions: whether y has a value for each position of a row.
    """
    shifts, spreads = [], []
    y, w = _flat(y, w) if positions else (y, w)
    for values, member in zip(_columns(y), outputs_of(family), strict=True):
        kinds = units_of(member)
        zero, one = jnp.zeros((), values.dtype), jnp.ones((), values.dtype)
        mean, spread = moments(values, w)
        shifts.append(mean if PLACE in kinds else zero)
        size = mean if SIZE in kinds else one  # of what is above 0 the mean
        spreads.append(spread if PLACE in kinds else size)
    if y.ndim == 1:
        return shifts[0], spreads[0]
    return jnp.stack(shifts), jnp.stack(spreads)


def in_data_units(
    family: AbstractFamily,
    shift: Float[Array | np.ndarray, "..."],
    spread: Float[Array | np.ndarray, "..."],
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """a and b of each entry of η."""
    kinds = [units_of(member) for member in outputs_of(family)]
    output = np.repeat(np.arange(len(kinds)), [len(k) for k in kinds])
    flat = np.array([kind for member in kinds for kind in member])
    s = jnp.atleast_1d(jnp.asarray(shift))[output]
    u = jnp.atleast_1d(jnp.asarray(spread))[output]
    a = jnp.where(flat == PLACE, u, 1.0)
    b = jnp.where(flat == PLACE, s, jnp.where(flat == SIZE, jnp.log(u), 0.0))
    return a, b


def first_eta(
    family: AbstractFamily,
    y: Float[Array, "n ..."],
    w: Float[Array, " n"],
    *,
    positions: bool = False,
) -> Float[Array, " k"]:
    """Where a network starts: near the null model, on targets in their units.

    A normal one starts at (0, 0), which it is. Sizes stay within a factor of 20, so that
    no gradient is endless where all targets are equal.
    """
    parts = []
    y, w = _flat(y, w) if positions else (y, w)
    for values, member in zip(_columns(y), outputs_of(family), strict=True):
        kinds = np.array(units_of(member))
        if isinstance(member, Normal) and member.scale is None:
            parts.append(jnp.zeros(member.n_eta, w.dtype))
            continue
        start = member.marginal(values, w).astype(w.dtype)
        parts.append(jnp.where(kinds == SIZE, jnp.clip(start, -3.0, 3.0), start))
    return jnp.concatenate(parts)


def _flat(y: Float[Array, "n ..."], w: Float[Array, " n"]) -> tuple[Array, Array]:
    """The values of images and sequences with the weights of their rows; NaN has none."""
    here = ~jnp.isnan(y)
    w = jnp.repeat(w, y.size // len(y)) * here.reshape(-1)
    return jnp.where(here, y, 0.0).reshape(-1), w


def _columns(y: Float[Array, "n ..."]) -> list[Array]:
    return [y] if y.ndim == 1 else [y[:, j] for j in range(y.shape[1])]
