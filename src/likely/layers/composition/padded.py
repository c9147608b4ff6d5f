"""Sequences of different lengths: padded to the longest, with a mask of what is there."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Shaped

from likely.core.checks import InputError


class Padded(eqx.Module):
    """Rows of positions, some of which are absent, whatever they contain.

    Args:
        values: (n, t, ...) the positions of each row.
        present: (n, t) which of them are there.
    """

    values: Shaped[Array | np.ndarray, "n t ..."]
    present: Bool[Array | np.ndarray, "n t"]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.values.shape

    @property
    def clean(self) -> Any:
        """The values, zero where they are absent."""
        values = jnp.asarray(self.values)
        here = jnp.expand_dims(self.present, tuple(range(2, values.ndim)))
        return jnp.where(here, values, jnp.zeros((), values.dtype))

    def map(self, function: Callable[[Any], Any]) -> "Padded":
        """A function of the values; the same positions are present after it."""
        return Padded(function(self.values), self.present)


def unpack(X: Any) -> tuple[Any, Any]:
    """Values without garbage, and which are present; None where all are."""
    return (X.clean, jnp.asarray(X.present)) if isinstance(X, Padded) else (X, None)


def repack(values: Any, like: Any) -> Any:
    """Values in the form of the input they come from."""
    return Padded(values, like.present) if isinstance(like, Padded) else values


def pad_sequences(rows: Any, length: int | None = None) -> Padded:
    """Sequences of different lengths as one array, on the host.

    Args:
        rows: one array (t_i, ...) for each row.
        length: of the result; that of the longest row where None.
    """
    arrays = [np.asarray(row) for row in rows]
    for i, row in enumerate(arrays):
        if row.ndim < 1 or not len(row):
            raise InputError(f"sequence {i} is empty; give at least one position.")
        if row.shape[1:] != arrays[0].shape[1:]:
            raise InputError(
                f"the positions of sequence {i} have shape {row.shape[1:]}, those of the "
                f"first {arrays[0].shape[1:]}; all need the same."
            )
    longest = max(map(len, arrays))
    length = longest if length is None else length
    if longest > length:
        raise InputError(f"a sequence has {longest} positions; at most {length} fit.")
    kind = np.result_type(*arrays)
    values = np.zeros((len(arrays), length, *arrays[0].shape[1:]), kind)
    present = np.zeros((len(arrays), length), bool)
    for i, row in enumerate(arrays):
        values[i, : len(row)], present[i, : len(row)] = row, True
    return Padded(values, present)
