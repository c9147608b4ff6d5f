r"""A random order of n rows, without a sort.

Sorting random numbers, as JAX's permutation does twice, takes longer than the training
steps of a small network that it serves. Here each place is computed on its own: write
i = q·b + r with q < a, r < b and a·b ≥ n, and shift q by a hash of r and r by a hash of
q in turn, each modulo its range. Every shift can be undone, so the whole is one-to-one
on {0, ..., ab − 1}; a place that leads to n or beyond is led on until it is below. Those
beyond are at most a, so where they lead is found once and looked up.
"""

from collections.abc import Callable
from math import isqrt

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt

from likely.typing import Key

ROUNDS = 4
FEW = 64
"""Rows up to which numbers are sorted: few enough to count all orders."""


def permutation(key: Key, n: int) -> Int[Array, " n"]:
    """The numbers 0, ..., n − 1 in an order that is a function of the key."""
    if n <= FEW:
        return jax.random.permutation(key, n)
    a = isqrt(n - 1) + 1
    b = -(-n // a)
    keys = round_keys(key)

    def lead(i: UInt[Array, " n"]) -> UInt[Array, " n"]:
        q, r = i // b, i % b
        for of_r, of_q in keys:
            q = _shifted(q, _hash(r ^ of_r), a)
            r = _shifted(r, _hash(q ^ of_q), b)
        return q * b + r

    places = lead(jnp.arange(n, dtype=jnp.uint32))
    if a * b > n:
        beyond = jnp.arange(n, a * b, dtype=jnp.uint32)
        below = _led_on(beyond, lead, n)
        places = jnp.where(
            places >= n, jnp.take(below, places - n, mode="clip"), places
        )
    return places.astype(jnp.int32)


def round_keys(key: Key) -> UInt[Array, "rounds 2"]:
    """What the hashes of each round are mixed with: all that an order depends on."""
    return jax.random.bits(key, (ROUNDS, 2), jnp.uint32)


def _led_on(
    start: UInt[Array, " e"], lead: Callable[[Array], Array], n: int
) -> UInt[Array, " e"]:
    """Where the few numbers from n on lead to below n; a circle among them is left."""

    def moves(i: Array) -> Array:
        return (i >= n) & (i != start)

    return jax.lax.while_loop(
        lambda i: moves(i).any(),
        lambda i: jnp.where(moves(i), lead(i), i),
        lead(start),
    )


def _hash(x: UInt[Array, " n"]) -> UInt[Array, " n"]:
    """16 bits that depend on every bit of x."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x >> 16


def _shifted(
    x: UInt[Array, " n"], h: UInt[Array, " n"], size: int
) -> UInt[Array, " n"]:
    """x + h modulo `size`, with the 16 bits of h spread over it."""
    x = x + ((h * jnp.uint32(size)) >> 16)
    return jnp.where(x >= size, x - size, x)
