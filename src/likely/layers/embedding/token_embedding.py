"""Token embeddings: a learned vector for each entry of a vocabulary."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.layers.composition.layer import AbstractLayer
from likely.layers.units.product import product
from likely.typing import Key

MAX_COMPARED_TOKENS = 2**13
"""Tokens of a vocabulary up to which a GPU sums gradients by a product with zeros and ones:
adding them one by one to few rows takes longer there, and in an order that varies."""


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
        few = len(self.weight) <= MAX_COMPARED_TOKENS
        if few and jax.default_backend() == "gpu":
            return compared_rows(self.weight, X)
        return jnp.take(self.weight, X, axis=0, mode="clip")

    def logits(self, H: Float[Array, "*n d"]) -> Float[Array, "*n v"]:
        """The match of each state with each token: tied output weights."""
        rows = product(H.reshape(-1, H.shape[-1]), self.weight.T)
        return rows.reshape(*H.shape[:-1], rows.shape[-1])


@jax.custom_vjp
def compared_rows(
    weight: Float[Array, "v d"], X: Int[Array, "*n"]
) -> Float[Array, "*n d"]:
    """Rows of a matrix, whose gradient is a product with (row number = token)."""
    return jnp.take(weight, X, axis=0, mode="clip")


def _forward(weight: Array, X: Array) -> tuple[Array, tuple]:
    return compared_rows(weight, X), (X, weight)


def _backward(kept: tuple, g: Array) -> tuple[Array, None]:
    X, v = kept[0], len(kept[1])
    token = jnp.clip(X.reshape(-1), 0, v - 1)
    chosen = (jnp.arange(v)[:, None] == token[None]).astype(g.dtype)
    return chosen @ g.reshape(-1, g.shape[-1]), None


compared_rows.defvjp(_forward, _backward)
