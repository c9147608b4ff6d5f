"""Token embeddings: a learned vector for each entry of a vocabulary."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.layers.composition.layer import AbstractLayer
from likely.typing import Key


class TokenEmbedding(AbstractLayer):
    """Token i becomes row i of a matrix; `logits` uses the same matrix backwards.

    Args:
        vocabulary: the number of tokens.
        size: of the vectors.
        scale: the standard deviation of the initial vectors.
        key: the random key of the initial vectors.
    """

    weight: Float[Array, "v d"]

    def __init__(self, vocabulary: int, size: int, *, scale: float = 0.02, key: Key):
        self.weight = scale * jax.random.normal(key, (vocabulary, size))

    def of(self, X: Int[Array, "*n"]) -> Float[Array, "*n d"]:
        """The vectors of the tokens; tokens beyond the vocabulary count as the last."""
        return jnp.take(self.weight, X, axis=0, mode="clip")

    def logits(self, H: Float[Array, "*n d"]) -> Float[Array, "*n v"]:
        """The match of each state with each token: tied output weights."""
        return H @ self.weight.T
