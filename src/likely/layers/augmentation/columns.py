r"""Random changes of the rows of a table in training.

Noise is in units of the columns' standard deviations, since the columns that a network gets
are standardised. A swapped value is that of another row in the same column: a value that
exists, also in a column of categories.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from likely.core.checks import InputError
from likely.core.permutation import permutation
from likely.core.precision import number
from likely.layers.units.dropout import LEVELS, random_bits
from likely.typing import Batch, Key


def _amount(value: Any) -> Any:
    """An amount as an array, so that another value compiles nothing."""
    return value if isinstance(value, jax.Array) else number(value)


class ColumnNoise(eqx.Module):
    """Gaussian noise on the values of a table, and values of other rows.

    Args:
        noise: the standard deviation of what is added to each value.
        swap: the probability that a value is that of another row.
        categories: numbers of columns that hold codes, to which nothing is added.
    """

    noise: Any = eqx.field(default=0.2, converter=_amount)
    swap: Any = eqx.field(default=0.0, converter=_amount)
    categories: tuple[int, ...] = eqx.field(static=True, default=())

    def __check_init__(self):
        for name, largest in (("noise", float("inf")), ("swap", 1.0)):
            value = getattr(self, name)
            if not isinstance(value, jax.Array) and not 0 <= value <= largest:
                high = " and at most 1" if name == "swap" else ""
                raise InputError(
                    f"{name} is {value:g}; give a number of at least 0{high}."
                )

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """The parameters and the disturbed rows: a `Perturbation` of first-order solvers."""
        return params, batch._replace(x=self.rows(batch.x, key))

    def rows(self, X: Float[Array, "n ..."], key: Key) -> Float[Array, "n ..."]:
        """The disturbed rows."""
        if X.ndim != 2:
            raise InputError(
                f"ColumnNoise needs the rows of a table (n, d), but rows have shape "
                f"{X.shape[1:]}; images have `layers.Augmentation`."
            )
        k_noise, k_other, k_swap = jax.random.split(key, 3)
        other = X[permutation(k_other, len(X))]
        share = random_bits(k_swap, X.shape).astype(X.dtype) / LEVELS
        X = jnp.where(share < jnp.asarray(self.swap, X.dtype), other, X)
        more = jnp.asarray(self.noise, X.dtype) * jax.random.normal(
            k_noise, X.shape, X.dtype
        )
        if self.categories:
            more = more.at[:, jnp.asarray(self.categories)].set(0.0)
        return X + more
