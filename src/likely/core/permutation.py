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
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt

from likely.typing import Key

ROUNDS = 4
FEW = 64
"""Rows up to which numbers are sorted: few enough to count all orders."""


def permutation(
    key: Key, n: int, there: Int[Array, ""] | None = None
) -> Int[Array, " n"]:
    """The numbers 0, ..., n − 1 in an order that is a function of the key.

    Args:
        key: as in `jax.random`.
        n: how many.
        there: how many come first, in any order; those after them stay where they are.
    """
    if there is not None:
        return _of_the_first(key, n, there)
    if n <= FEW:
        return jax.random.permutation(key, n)
    a = isqrt(n - 1) + 1
    b = -(-n // a)
    lead = _led_by(key, a, b)
    places = lead(jnp.arange(n, dtype=jnp.uint32))
    if a * b > n:
        beyond = jnp.arange(n, a * b, dtype=jnp.uint32)
        places = _kept_below(places, _led_on(beyond, lead, n), n)
    return places.astype(jnp.int32)


def _of_the_first(key: Key, n: int, there: Int[Array, ""]) -> Int[Array, " n"]:
    """The same where only at run time is known how many there are."""
    k = there.astype(jnp.uint32)
    sides = jnp.arange(1, isqrt(n - 1) + 2, dtype=jnp.uint32)
    a = 1 + (sides * sides < k).sum(dtype=jnp.uint32)
    b = (k + a - 1) // a
    lead, at = _led_by(key, a, b), jnp.arange(n, dtype=jnp.uint32)
    beyond = jnp.minimum(k + sides - 1, a * b - 1)
    places = _kept_below(lead(at), _led_on(beyond, lead, k), k)
    return jnp.where(at < k, places, at).astype(jnp.int32)


def _led_by(key: Key, a: Any, b: Any) -> Callable[[Array], Array]:
    """Where each of 0, ..., ab − 1 leads."""
    keys = round_keys(key)

    def lead(i: UInt[Array, " n"]) -> UInt[Array, " n"]:
        q, r = i // b, i % b
        for of_r, of_q in keys:
            q = _shifted(q, _hash(r ^ of_r), a)
            r = _shifted(r, _hash(q ^ of_q), b)
        return q * b + r

    return lead


def _kept_below(
    places: UInt[Array, " n"], below: UInt[Array, " e"], n: Any
) -> UInt[Array, " n"]:
    """Those beyond lead on to where that leads."""
    on = jnp.take(below, places - n, mode="clip")
    return jnp.where(places >= n, on, places)


def round_keys(key: Key) -> UInt[Array, "rounds 2"]:
    """What the hashes of each round are mixed with: all that an order depends on."""
    return jax.random.bits(key, (ROUNDS, 2), jnp.uint32)


def _led_on(
    start: UInt[Array, " e"], lead: Callable[[Array], Array], n: Any
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
    x: UInt[Array, " n"], h: UInt[Array, " n"], size: Any
) -> UInt[Array, " n"]:
    """x + h modulo `size`, with the 16 bits of h spread over it."""
    x = x + ((h * jnp.asarray(size, jnp.uint32)) >> 16)
    return jnp.where(x >= size, x - size, x)
