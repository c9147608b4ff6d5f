r"""Linear bijections: permutations, invertible matrices by their LU factors, and scaling."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.core.rows import weighted_mean
from likely.layers.bijections.bijection import AbstractBijection


class Permutation(AbstractBijection):
    """The numbers of the last axis in another order.

    Args:
        order: `order[j]` is the number that comes to place j.
    """

    order: tuple[int, ...] = eqx.field(static=True)

    def __check_init__(self):
        check_order(self.order)

    def forward(self, X, given=None, *, key=None):
        return X[..., np.array(self.order)], jnp.zeros(len(X), X.dtype)

    def inverse(self, Z, given=None):
        return Z[..., np.argsort(self.order)]


class LULinear(AbstractBijection):
    r"""$z = x_π L U$ with a fixed order π and learned triangular matrices L and U.

    L has ones on its diagonal and U has $e^{s_j}$, so that $\log\lvert\det\rvert = \sum_j s_j$
    (times the positions of an image), and the inverse is two triangular systems. At first
    the map is the permutation alone.

    Args:
        order: π.
    """

    weight: Float[Array, "d d"]
    """L below the diagonal and U above it; the diagonal is not used."""
    log_scale: Float[Array, " d"]
    order: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, order: tuple[int, ...]):
        check_order(order)
        self.order = tuple(order)
        self.weight = jnp.zeros((len(order), len(order)))
        self.log_scale = jnp.zeros(len(order))

    def forward(self, X, given=None, *, key=None):
        L, U = self._factors
        positions = X[0].size // X.shape[-1]
        Z = X[..., np.array(self.order)] @ (L @ U)
        return Z, jnp.full(len(X), positions * self.log_scale.sum())

    def inverse(self, Z, given=None):
        L, U = self._factors
        rows = Z.reshape(-1, Z.shape[-1]).T  # z = x L U, so zᵀ = Uᵀ Lᵀ xᵀ
        rows = solve_triangular(U, rows, trans=1)
        rows = solve_triangular(L, rows, trans=1, lower=True, unit_diagonal=True)
        return rows.T.reshape(Z.shape)[..., np.argsort(self.order)]

    @property
    def _factors(self) -> tuple[Float[Array, "d d"], Float[Array, "d d"]]:
        eye = jnp.eye(len(self.order), dtype=self.weight.dtype)
        U = jnp.triu(self.weight, 1) + eye * jnp.exp(self.log_scale)[None]
        return jnp.tril(self.weight, -1) + eye, U


class ActNorm(AbstractBijection):
    r"""$z = e^{s} x + t$ with s and t for each number of the last axis, or each channel.

    `of` begins where z has mean 0 and variance 1 on given rows; from there on s and t are
    learned (Kingma and Dhariwal 2018).
    """

    log_scale: Float[Array, " d"]
    shift: Float[Array, " d"]

    @classmethod
    def identity(cls, d: int) -> "ActNorm":
        """The layer that changes nothing."""
        return cls(jnp.zeros(d), jnp.zeros(d))

    @classmethod
    def of(cls, X: Float[Array, "n ... d"], w: Float[Array, " n"]) -> "ActNorm":
        """The layer that makes the columns, or channels, of these rows standard."""
        rows = X.reshape(len(X), -1, X.shape[-1])
        mean = weighted_mean(rows.mean(1), w)
        square = weighted_mean(((rows - mean[None, None]) ** 2).mean(1), w)
        scale = jnp.sqrt(jnp.where(square > 0, square, 1.0))
        return cls(-jnp.log(scale), -mean / scale)

    def forward(self, X, given=None, *, key=None):
        scale, shift = (
            self._along(X, jnp.exp(self.log_scale)),
            self._along(X, self.shift),
        )
        positions = X[0].size // X.shape[-1]
        return X * scale + shift, jnp.full(len(X), positions * self.log_scale.sum())

    def inverse(self, Z, given=None):
        return (Z - self._along(Z, self.shift)) * self._along(
            Z, jnp.exp(-self.log_scale)
        )

    @staticmethod
    def _along(X: Array, values: Float[Array, " d"]) -> Array:
        return jnp.expand_dims(values, range(X.ndim - 1))


def check_order(order: tuple[int, ...]) -> None:
    """Refuse what is no order of 0, 1, ..., d − 1."""
    if sorted(order) != list(range(len(order))):
        raise InputError(
            f"order is {order}; give each of 0, 1, ..., {len(order) - 1} once."
        )
