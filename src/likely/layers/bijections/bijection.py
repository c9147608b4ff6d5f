r"""The base of invertible layers: a map $z = f(x)$ of rows, its inverse and its Jacobian.

If x has the density $p$ and z the density $q$, then by the change of variables
$$\log p(x) = \log q(f(x)) + \log\,\lvert\det \partial f/\partial x\rvert .$$
"""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.typing import Key


class AbstractBijection(eqx.Module):
    """An invertible map of rows; you write `forward` and `inverse`.

    `given` (n, g) is a condition that the map may depend on; it is not mapped itself.
    """

    @abstractmethod
    def forward(
        self,
        X: Float[Array, "n ..."],
        given: Float[Array, "n g"] | None = None,
        *,
        key: Key | None = None,
    ) -> tuple[Float[Array, "n ..."], Float[Array, " n"]]:
        """z = f(x) of each row, and log |det ∂z/∂x|; `key` is for dropout in training."""

    @abstractmethod
    def inverse(
        self, Z: Float[Array, "n ..."], given: Float[Array, "n g"] | None = None
    ) -> Float[Array, "n ..."]:
        """x = f⁻¹(z) of each row."""


def row_sums(values: Float[Array, "n ..."]) -> Float[Array, " n"]:
    """The sum of all numbers of each row."""
    return values.reshape(len(values), -1).sum(1)


def joined(
    X: Float[Array, "n *positions d"], given: Float[Array, "n g"] | None
) -> Float[Array, "n *positions e"]:
    """What a network of a bijection reads: x, and at each position the condition.

    Where there is neither, it reads the constant 1.
    """
    places = X.shape[:-1]
    if given is not None:
        c = given.reshape(len(X), *[1] * (X.ndim - 2), -1).astype(X.dtype)
        c = jnp.broadcast_to(c, (*places, c.shape[-1]))
        return jnp.concatenate([X, c], -1)
    return X if X.shape[-1] else jnp.ones((*places, 1), X.dtype)


def joined_width(d: int, n_given: int) -> int:
    """How many numbers `joined` has at each position."""
    return max(d + n_given, 1)
