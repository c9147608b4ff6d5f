"""The null model: the same η for every row."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.typing import State


class Null(eqx.Module):
    """η = b for every x: the baseline that every model has to beat."""

    bias: Float[Array, " k"]

    def __call__(
        self, X, *, w=None, key=None, state: State = None
    ) -> tuple[Float[Array, "n k"], State]:
        """b for each row."""
        n = len(jax.tree.leaves(X)[0])
        return jnp.broadcast_to(self.bias, (n, len(self.bias))), state
