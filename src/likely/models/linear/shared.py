"""Parameters shared by all rows: one scale, one shape, learned beside the model."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.layers.composition.chain import initial_state
from likely.typing import Key, Model, State


class Shared(eqx.Module):
    """η = (f(x), tail): the last entries of η are the same for every row.

    `Shared(Linear.zeros(d, 1), tail=[0.0])` under `Normal()` is linear regression with one
    learned standard deviation. `order` permutes the entries, so that each of several
    outputs can have its own shared entries.
    """

    model: Model
    tail: Float[Array, " t"]
    order: tuple[int, ...] | None = eqx.field(static=True, default=None)

    def initial_state(self) -> State:
        """The state of the model inside."""
        return initial_state(self.model)

    def __call__(
        self, X, *, w=None, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, "n k"], State]:
        """f(x) with the tail appended."""
        eta, state = self.model(X, w=w, key=key, state=state)
        tail = jnp.broadcast_to(self.tail, (*eta.shape[:-1], len(self.tail)))
        eta = jnp.concatenate([eta, tail.astype(eta.dtype)], axis=-1)
        return eta if self.order is None else eta[..., np.array(self.order)], state
