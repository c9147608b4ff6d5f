r"""Doubled precision: products of matrices to about twice the digits of the machine.

A value is held as a pair $hi + lo$. Two ideas suffice:

- *Error-free sums and products*: `two_sum` and `two_product` return a result and
  what rounding took away from it (Knuth, Dekker).
- *Slices* (Ozaki): a matrix with entries up to 1 is cut into $A = A_1 + A_2 + A_3$,
  where $A_1, A_2$ have so few bits that a sum of products of their entries does not
  round at all. So the products run at the speed of ordinary matrix products.

XLA does not reorder sums, but it may fuse a product with a sum, which skips a rounding.
So every product here either does not round or does not matter; and numbers are cut in
halves by bit masks, not by the usual c·a − (c·a − a).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Pair = tuple[Array, Array]
Slices = tuple[Array, Array, Array]
_MASKS = {"float64": (jnp.uint64, 27), "float32": (jnp.uint32, 12)}


def two_sum(a: Float[Array, "*s"], b: Float[Array, "*s"]) -> Pair:
    """The rounded a + b, and the error of that rounding; together they are exact."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def two_product(a: Float[Array, "*s"], b: Float[Array, "*s"]) -> Pair:
    """The product a·b as a pair, by halves whose products do not round."""
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    high, first = two_sum(a1 * b1, a1 * b2)
    high, second = two_sum(high, a2 * b1)
    return two_sum(high, first + second + a2 * b2)


def _halves(a: Float[Array, "*s"]) -> Pair:
    """Each number as the sum of two numbers with half its bits."""
    kind, bits = _MASKS[a.dtype.name]
    mask = ~kind((1 << bits) - 1)
    high = jax.lax.bitcast_convert_type(a, kind) & mask
    high = jax.lax.bitcast_convert_type(high, a.dtype)
    return high, a - high


def total(terms: list[Array]) -> Pair:
    """The sum of the terms as a pair, the largest terms first."""
    high, low = terms[0], jnp.zeros_like(terms[0])
    for term in terms[1:]:
        high, error = two_sum(high, term)
        low = low + error
    return two_sum(high, low)


def power_of_two(A: Float[Array, "n p"]) -> Float[Array, " p"]:
    """The power of two just above the largest entry of each column (1 for zeros)."""
    top = jnp.max(jnp.abs(A), axis=0, initial=0.0)
    _, exponent = jnp.frexp(top)
    return jnp.ldexp(jnp.ones_like(top), jnp.where(top > 0, exponent, 0))


def slices(A: Float[Array, "n p"], terms: int) -> Slices:
    """The slices A₁ + A₂ + A₃ = A, for products that sum over up to `terms` entries.

    No entry of A may be larger than 1.
    """
    digits = jnp.finfo(A.dtype).nmant + 1
    bits = max((digits - int(terms).bit_length()) // 2, 1)
    unit = 2.0**-bits
    first = jnp.round(A / unit) * unit
    second = jnp.round((A - first) / unit**2) * unit**2
    return first, second, (A - first) - second


def product(
    A: Slices, x: Float[Array, "m k"], *, transposed: bool = False
) -> list[Float[Array, "l k"]]:
    """Four arrays whose sum is A x (or Aᵀx) for a sliced A, the largest first.

    A₁x₁, A₁x₂ and A₂x₁ do not round; what is left is so small that its rounding is far
    beyond the digits of the machine.
    """
    scale, k = power_of_two(x), x.shape[1]
    x = x / scale[None]
    x1, x2, x3 = slices(x, max(A[0].shape))

    def times(part: Float[Array, "n p"], *columns: Array) -> list[Array]:
        if transposed:
            across = jnp.concatenate([column.T for column in columns])
            found = (across @ part).T
        else:
            found = part @ jnp.concatenate(columns, axis=1)
        return [found[:, i * k : i * k + k] * scale[None] for i in range(len(columns))]

    first, right, left = times(A[0], x1, x2, x3)
    down, rest = times(A[1], x1, x - x1)
    return [first, right, down, left + rest + times(A[2], x)[0]]
