r"""The dense layer: $XW + 1b$."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.layers.composition.layer import AbstractLayer
from likely.layers.units.initializers import Initializer, initializer
from likely.layers.units.product import product
from likely.typing import Key


class Dense(AbstractLayer):
    r"""$XW + 1b$ with W ~ (d, k): d·k + k parameters, or d·k where `bias` is None.

    W and b come from the initialiser: by default W ~ $N(0, 2/d)$ (He) and b = 0.

    See `product` for how its derivative is computed.

    Examples:
        >>> import jax.numpy as jnp
        >>> import jax
        >>> layer = lk.layers.Dense(3, 2, key=jax.random.key(0))
        >>> layer(jnp.ones((4, 3)))[0].shape
        (4, 2)
    """

    weight: Float[Array, "d k"]
    bias: Float[Array, " k"] | None

    def __init__(
        self,
        n_in: int,
        n_out: int,
        *,
        bias: bool = True,
        init: Initializer = "he",
        key: Key,
    ):
        draw = initializer(init)
        self.weight = draw(n_in, n_out, key=key)
        self.bias = draw.bias(n_in, n_out, key=key) if bias else None

    def of(self, X: Float[Array, "*n d"]) -> Float[Array, "*n k"]:
        """XW + 1b, along the last axis.

        Positions become rows: the gradient of W is one product of two matrices, which takes
        half as long on CPUs as a sum over two axes.
        """
        rows = product(X.reshape(-1, X.shape[-1]), self.weight)
        return add_bias(rows.reshape(*X.shape[:-1], rows.shape[-1]), self.bias)


def add_bias(Z: Array, bias: Any) -> Array:
    """Z + 1b, with b along the last axis, or Z where b is None."""
    return Z if bias is None else Z + jnp.expand_dims(bias, range(Z.ndim - 1))
