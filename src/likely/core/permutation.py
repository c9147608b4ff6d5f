r"""A random order of n rows, without a sort.

Sorting random numbers, as JAX's permutation does twice, takes longer than the training
steps of a small network that it serves. Here each index is permuted on its own by a Feistel
network: write i = q·b + r with q < a, r < b and a·b ≥ n, and shift q by a hash of r and r
by a hash of q in turn, each modulo its range. Every shift can be undone, so the whole is
one-to-one on {0, ..., ab − 1}. An index that is mapped to n or beyond is mapped again until
it is below n (cycle walking); at most a indices are beyond, so their images are found once
and looked up.
"""

from collections.abc import Callable
from math import isqrt
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt

from likely.typing import Key

FEISTEL_ROUNDS = 4
MAX_SORTED_ROWS = 64
"""Rows up to which random numbers are sorted, so that every order is possible."""


def permutation(
    key: Key, n: int, n_present: Int[Array, ""] | None = None
) -> Int[Array, " n"]:
    """The numbers 0, ..., n − 1 in an order that is a function of the key.

    Args:
        key: as in `jax.random`.
        n: how many numbers.
        n_present: how many of the first numbers are permuted; the others stay in place.
    """
    if n_present is not None:
        return _permute_first(key, n, n_present)
    if n <= MAX_SORTED_ROWS:
        return jax.random.permutation(key, n)
    a = isqrt(n - 1) + 1
    b = -(-n // a)
    feistel = _feistel(key, a, b)
    image = feistel(jnp.arange(n, dtype=jnp.uint32))
    if a * b > n:
        beyond = jnp.arange(n, a * b, dtype=jnp.uint32)
        image = _look_up(image, _walk(beyond, feistel, n), n)
    return image.astype(jnp.int32)


def _permute_first(key: Key, n: int, n_present: Int[Array, ""]) -> Int[Array, " n"]:
    """A random order of the first rows, where their number is known only at run time."""
    k = n_present.astype(jnp.uint32)
    sides = jnp.arange(1, isqrt(n - 1) + 2, dtype=jnp.uint32)
    a = 1 + (sides * sides < k).sum(dtype=jnp.uint32)
    b = (k + a - 1) // a
    feistel, index = _feistel(key, a, b), jnp.arange(n, dtype=jnp.uint32)
    beyond = jnp.minimum(k + sides - 1, a * b - 1)
    image = _look_up(feistel(index), _walk(beyond, feistel, k), k)
    return jnp.where(index < k, image, index).astype(jnp.int32)


def _feistel(key: Key, a: Any, b: Any) -> Callable[[Array], Array]:
    """A random one-to-one map of 0, ..., ab − 1."""
    keys = jax.random.bits(key, (FEISTEL_ROUNDS, 2), jnp.uint32)

    def image(i: UInt[Array, " n"]) -> UInt[Array, " n"]:
        q, r = i // b, i % b
        for r_key, q_key in keys:
            q = _shift(q, _hash(r ^ r_key), a)
            r = _shift(r, _hash(q ^ q_key), b)
        return q * b + r

    return image


def _look_up(
    image: UInt[Array, " n"], walked: UInt[Array, " e"], n: Any
) -> UInt[Array, " n"]:
    """The images below n as they are, and those from n on replaced by where they walk to."""
    below = jnp.take(walked, image - n, mode="clip")
    return jnp.where(image >= n, below, image)


def _walk(
    start: UInt[Array, " e"], feistel: Callable[[Array], Array], n: Any
) -> UInt[Array, " e"]:
    """The first image below n of numbers from n on; a cycle that stays above is left."""

    def moves(i: Array) -> Array:
        return (i >= n) & (i != start)

    return jax.lax.while_loop(
        lambda i: moves(i).any(),
        lambda i: jnp.where(moves(i), feistel(i), i),
        feistel(start),
    )


def _hash(x: UInt[Array, " n"]) -> UInt[Array, " n"]:
    """16 bits that depend on every bit of x."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x >> 16


def _shift(x: UInt[Array, " n"], h: UInt[Array, " n"], size: Any) -> UInt[Array, " n"]:
    """x + h modulo `size`, with the 16 bits of h spread over the range."""
    x = x + ((h * jnp.asarray(size, jnp.uint32)) >> 16)
    return jnp.where(x >= size, x - size, x)
