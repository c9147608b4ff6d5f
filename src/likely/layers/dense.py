r"""The dense layer: $XW + 1b$ (D2, D3)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.typing import Key, State


class Dense(eqx.Module):
    r"""$XW + 1b$ with W ~ (d, k), so d·k + k numbers.

    Starts with W ~ N(0, 2/d) (He) and b = 0.
    """

    weight: Float[Array, "d k"]
    bias: Float[Array, " k"]

    def __init__(self, n_in: int, n_out: int, *, key: Key):
        self.weight = jax.random.normal(key, (n_in, n_out)) * (2 / n_in) ** 0.5
        self.bias = jnp.zeros(n_out)

    def __call__(
        self, X: Float[Array, "n d"], *, w=None, key=None, state: State = None
    ) -> tuple[Float[Array, "n k"], State]:
        """XW + 1b."""
        return X @ self.weight + self.bias[None], state
