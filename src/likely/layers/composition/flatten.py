"""Flattening: all positions and channels as one vector of features."""

import math

import equinox as eqx
from jaxtyping import Array, Float

from likely.typing import State


class Flatten(eqx.Module):
    """(n, h, w, c) as (n, h·w·c): the channels of a position stay together."""

    def __call__(
        self, X: Float[Array, "n ..."], *, w=None, key=None, state: State = None
    ) -> tuple[Float[Array, "n d"], State]:
        """Flatten each row."""
        return X.reshape(len(X), math.prod(X.shape[1:])), state
