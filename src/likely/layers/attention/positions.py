r"""Where a position is: sinusoids, learned vectors, rotations, and distances.

Attention alone does not know the order of its input. Vectors $π_n$ are added to the input of
position n; rotations turn queries and keys by angles proportional to n, so that their product
depends on the distance; a bias of each distance is added to the scores.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from likely.core.checks import InputError
from likely.typing import Key


def sinusoidal_positions(
    length: int, size: int, longest: float = 10_000.0
) -> np.ndarray:
    r"""(length, size): $\sin(n\,ω_j)$ in even and $\cos(n\,ω_j)$ in odd columns.

    The wavelengths $2π/ω_j$ grow geometrically from 2π towards 2π times `longest`.
    """
    if size % 2:
        raise InputError(
            f"size is {size}; sines and cosines come in pairs: give an even one."
        )
    omega = longest ** (-np.arange(0, size, 2) / size)
    angle = np.arange(length)[:, None] * omega[None]
    return np.stack([np.sin(angle), np.cos(angle)], 2).reshape(length, size)


class LearnedPositions(eqx.Module):
    """A learned vector for each of the first `length` positions."""

    weight: Float[Array, "length d"]

    def __init__(self, length: int, size: int, *, scale: float = 0.02, key: Key):
        self.weight = scale * jax.random.normal(key, (length, size))


class RelativeBias(eqx.Module):
    """A learned number for each head and distance, added to the scores of attention.

    Args:
        n_heads: the number of heads.
        reach: distances beyond it count as equal to it.
    """

    weight: Float[Array, "heads distances"]
    reach: int = eqx.field(static=True)

    def __init__(self, n_heads: int, reach: int = 128):
        self.weight, self.reach = jnp.zeros((n_heads, 2 * reach + 1)), reach

    def __call__(
        self, queries: Int[Array, " t"], keys: Int[Array, " s"]
    ) -> Float[Array, "1 heads t s"]:
        """The bias for queries and keys at these positions."""
        distance = jnp.clip(keys[None] - queries[:, None], -self.reach, self.reach)
        return self.weight[:, distance + self.reach][None]


def rotate(
    X: Float[Array, "n t h d"], positions: Int[Array, " t"], base: float = 10_000.0
) -> Float[Array, "n t h d"]:
    """Turn each pair (j, j + d/2) of entries by an angle proportional to the position."""
    half = X.shape[-1] // 2
    if 2 * half != X.shape[-1]:
        raise InputError(
            f"a head has {X.shape[-1]} entries; rotations need an even number."
        )
    wide = jnp.promote_types(X.dtype, jnp.float32)
    omega = base ** (-jnp.arange(half, dtype=wide) / half)
    angle = positions.astype(wide)[:, None] * omega[None]
    cos, sin = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
    a, b = X[..., :half].astype(wide), X[..., half:].astype(wide)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1).astype(X.dtype)
