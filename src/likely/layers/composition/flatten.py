"""Flattening: all positions and channels as one vector of features."""

import math

from jaxtyping import Array, Float

from likely.layers.composition.layer import AbstractLayer


class Flatten(AbstractLayer):
    """(n, h, w, c) as (n, h·w·c): the channels of a position stay together."""

    def of(self, X: Float[Array, "n ..."]) -> Float[Array, "n d"]:
        """Flatten each row."""
        return X.reshape(len(X), math.prod(X.shape[1:]))
