"""The skip connection that concatenates: (f(x), x) along the channels."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.composition.chain import initial_state
from likely.typing import Key, Model, State


class Concatenated(eqx.Module):
    """The output of the block followed by its input, concatenated along the last axis.

    `Residual` adds the two instead. In a U-Net this lets later layers use coarse and fine
    features together.
    """

    block: Model

    def initial_state(self) -> State:
        """The state of the block."""
        return initial_state(self.block)

    def __call__(
        self,
        X: Float[Array, "n ..."],
        *,
        w: Float[Array, " n"] | None = None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "n ..."], State]:
        """(f(x), x)."""
        output, state = self.block(X, w=w, key=key, state=state)
        if output.shape[:-1] != X.shape[:-1]:
            raise InputError(
                f"the block turns shape {X.shape} into {output.shape}; to be concatenated "
                "they need the same positions. Give sizes that can be halved as often as "
                "the network halves them."
            )
        return jnp.concatenate([output, X], -1), state
