"""Order statistics of weighted rows: exact under "weight 2 is this row twice"."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Num


def weighted_median(y: Num[Array, " n"], w: Float[Array, " n"]) -> Float[Array, ""]:
    """The median: the middle of the points with half of the weight on each side."""
    return weighted_quantile(y, w, 0.5)


def weighted_quantile(
    y: Num[Array, " n"], w: Float[Array, " n"], q: float
) -> Float[Array, ""]:
    """The middle of the points with a share q of the weight below them."""
    order = jnp.argsort(y)
    y, below = y[order].astype(w.dtype), jnp.cumsum(w[order])
    present, share = w[order] > 0, q * below[-1]
    low = y[jnp.argmax(present & (below >= share))]
    high = y[jnp.argmax(present & (below > share))]
    return 0.5 * (low + high)


def weighted_groups(
    y: Num[Array, " n"], w: Float[Array, " n"], m: int
) -> Float[Array, "m n"]:
    """The share of each row in each of m groups of equal weight, from low y to high."""
    order = jnp.argsort(y)
    above = jnp.cumsum(w[order]) * (m / w.sum())
    below = above - w[order] * (m / w.sum())
    group = jnp.arange(m)[:, None]
    inside = jnp.minimum(above[None], group + 1) - jnp.maximum(below[None], group)
    whole = jnp.where(above > below, above - below, 1.0)
    share = jnp.clip(inside, 0.0) / whole[None]
    return jnp.zeros((m, len(y)), w.dtype).at[:, order].set(share)
