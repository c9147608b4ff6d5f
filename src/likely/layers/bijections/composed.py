"""Bijections one after another, and on images: blocks of pixels to channels, scales."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.bijections.bijection import AbstractBijection
from likely.layers.bijections.linear import ActNorm


class Composed(AbstractBijection):
    """x → f₁ → ... → f_l; log-determinants add up."""

    parts: tuple[AbstractBijection, ...]

    def __init__(self, *parts: AbstractBijection):
        self.parts = parts

    def forward(self, X, given=None, *, key=None):
        keys = [None] * len(self.parts)
        if key is not None:
            keys = list(jax.random.split(key, len(self.parts)))
        total = jnp.zeros(len(X), X.dtype)
        for part, k in zip(self.parts, keys, strict=True):
            X, log_det = part.forward(X, given, key=k)
            total = total + log_det
        return X, total

    def inverse(self, Z, given=None):
        for part in reversed(self.parts):
            Z = part.inverse(Z, given)
        return Z


class Squeeze(AbstractBijection):
    """Blocks of pixels become channels: (h, w, c) → (h/r, w/s, r·s·c).

    Args:
        block: (r, s), which divide the height and the width.
    """

    block: tuple[int, int] = eqx.field(static=True, default=(2, 2))

    def forward(self, X, given=None, *, key=None):
        (n, h, w, c), (r, s) = X.shape, self.block
        if h % r or w % s:
            raise InputError(
                f"images of {h} × {w} pixels have no blocks of {r} × {s}; give a block "
                "whose sides divide theirs."
            )
        Z = X.reshape(n, h // r, r, w // s, s, c).transpose(0, 1, 3, 2, 4, 5)
        return Z.reshape(n, h // r, w // s, r * s * c), jnp.zeros(n, X.dtype)

    def inverse(self, Z, given=None):
        (n, h, w, c), (r, s) = Z.shape, self.block
        X = Z.reshape(n, h, w, r, s, c // (r * s)).transpose(0, 1, 3, 2, 4, 5)
        return X.reshape(n, h * r, w * s, c // (r * s))


class FlatRows(AbstractBijection):
    """Rows of any shape as rows of numbers.

    Args:
        shape: of a row.
    """

    shape: tuple[int, ...] = eqx.field(static=True)

    def forward(self, X, given=None, *, key=None):
        return X.reshape(len(X), -1), jnp.zeros(len(X), X.dtype)

    def inverse(self, Z, given=None):
        return Z.reshape(len(Z), *self.shape)


class Factored(AbstractBijection):
    """Of the channels of an image the first half is mapped further, the rest is done.

    What comes out is flat: the mapped half, then the rest. A flow of several scales is
    this inside of itself.

    Args:
        inner: a bijection of the first half, with rows of numbers as its result.
        shape: (h, w, c) of an image.
    """

    inner: AbstractBijection
    shape: tuple[int, int, int] = eqx.field(static=True)

    def forward(self, X, given=None, *, key=None):
        k = self.shape[-1] // 2
        Z, log_det = self.inner.forward(X[..., :k], given, key=key)
        return jnp.concatenate([Z, X[..., k:].reshape(len(X), -1)], 1), log_det

    def inverse(self, Z, given=None):
        h, w, c = self.shape
        size = math.prod((h, w, c // 2))
        X = self.inner.inverse(Z[:, :size], given)
        rest = Z[:, size:].reshape(len(Z), h, w, c - c // 2)
        return jnp.concatenate([X, rest], -1)


def standardized(
    bijection: AbstractBijection,
    X: Float[Array, "n ..."],
    w: Float[Array, " n"],
    given: Float[Array, "n g"] | None = None,
) -> tuple[AbstractBijection, Float[Array, "n ..."]]:
    """The bijection with every `ActNorm` begun on these rows, and what it maps them to."""
    if isinstance(bijection, Composed):
        parts = []
        for part in bijection.parts:
            part, X = standardized(part, X, w, given)
            parts.append(part)
        return Composed(*parts), X
    if isinstance(bijection, Factored):
        k = bijection.shape[-1] // 2
        inner, Z = standardized(bijection.inner, X[..., :k], w, given)
        rest = X[..., k:].reshape(len(X), -1)
        return Factored(inner, bijection.shape), jnp.concatenate([Z, rest], 1)
    if isinstance(bijection, ActNorm):
        bijection = ActNorm.of(X, w)
    return bijection, bijection.forward(X, given)[0]
