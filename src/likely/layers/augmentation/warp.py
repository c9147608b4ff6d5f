r"""Images shifted, turned and stretched: each pixel is looked up where it came from.

The place p of the result, seen from the middle of the image, shows what was at
$q = A p + b$; between pixels the value is bilinear, or that of the nearest one.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from likely.core.checks import InputError

EDGES = ("nearest", "zero", "cyclic")


def warp(
    X: Num[Array, "n h w c"],
    A: Float[Array, "n 2 2"],
    b: Float[Array, "n 2"],
    *,
    edges: str = "nearest",
    smooth: bool = True,
) -> Num[Array, "n h w c"]:
    """Every image under its own affine map.

    Args:
        X: images.
        A: from places of the result to places of X, rows then columns.
        b: in pixels.
        edges: what lies outside: "nearest" the pixel of the edge, "zero", or "cyclic"
            the other side.
        smooth: bilinear; False takes the nearest pixel, as labels need it.
    """
    if edges not in EDGES:
        raise InputError(f"edges is {edges!r}; give one of {', '.join(EDGES)}.")
    n, h, w, c = X.shape
    middle = jnp.array([(h - 1) / 2, (w - 1) / 2], A.dtype)
    grid = jnp.stack(jnp.meshgrid(jnp.arange(h), jnp.arange(w), indexing="ij"), -1)
    p = grid.reshape(1, h * w, 2).astype(A.dtype) - middle[None, None]
    q = (p[:, :, None, :] * A[:, None]).sum(-1) + (b + middle[None])[:, None]
    rows = X.reshape(n, h * w, c)

    def at(place: Array) -> Array:
        """The pixels at whole places (n, h·w, 2)."""
        i, j = place[..., 0], place[..., 1]
        inside = (i >= 0) & (i < h) & (j >= 0) & (j < w)
        if edges == "cyclic":
            i, j = i % h, j % w
        else:
            i, j = jnp.clip(i, 0, h - 1), jnp.clip(j, 0, w - 1)
        found = jax.vmap(lambda image, where: image[where])(rows, i * w + j)
        return jnp.where(inside[..., None], found, 0) if edges == "zero" else found

    if not smooth:
        return at(jnp.round(q).astype(jnp.int32)).reshape(X.shape)
    low = jnp.floor(q)
    share, place = (q - low).astype(X.dtype), low.astype(jnp.int32)
    down, right = share[..., :1], share[..., 1:]

    def pair(i: int) -> Array:
        left = at(place + jnp.array([[[i, 0]]]))
        return left + right * (at(place + jnp.array([[[i, 1]]])) - left)

    upper = pair(0)
    return (upper + down * (pair(1) - upper)).reshape(X.shape)


def affine(
    turn: Float[Array, " n"], across: Float[Array, " n"], down: Float[Array, " n"]
) -> Float[Array, "n 2 2"]:
    """A of a turn by an angle (anticlockwise as seen), after a stretch of both axes.

    Args:
        turn: in radians.
        across: how wide an image becomes; below 0 it is mirrored.
        down: how high.
    """
    cos, sin = jnp.cos(turn), jnp.sin(turn)
    # rows grow downwards: the way back from the result turns clockwise
    turned = jnp.stack([jnp.stack([cos, sin], -1), jnp.stack([-sin, cos], -1)], -2)
    return turned / jnp.stack([down, across], -1)[:, :, None]
