"""The skip connection that concatenates: (f(x), x) side by side."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.composition.chain import initial_state
from likely.typing import Key, Model, State


class Concatenated(eqx.Module):
    """What the block makes, and after it what came in, along the last axis.

    As `Residual` adds, this one keeps both: an hourglass inside another one sees coarse
    features and fine ones together.
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
        made, state = self.block(X, w=w, key=key, state=state)
        if made.shape[:-1] != X.shape[:-1]:
            raise InputError(
                f"the block makes shape {made.shape} of {X.shape}; to stand side by "
                "side they need the same positions. Give sizes that can be halved as "
                "often as the network does."
            )
        return jnp.concatenate([made, X], -1), state
