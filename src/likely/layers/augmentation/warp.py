r"""Affine transformations of images.

The output pixel at p, measured from the centre of the image, has the value of the input
at $q = A p + b$, by bilinear interpolation or from the nearest pixel.
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
    """Apply to every image its own affine map.

    Args:
        X: images.
        A: the linear maps from output to input coordinates (row, column).
        b: the shifts, in pixels.
        edges: the values outside: "nearest" repeats the edge, "zero" fills with 0,
            "cyclic" continues at the opposite edge.
        smooth: True interpolates bilinearly; False takes the nearest pixel, as maps of
            labels need.
    """
    if edges not in EDGES:
        raise InputError(f"edges is {edges!r}; give one of {', '.join(EDGES)}.")
    n, h, w, c = X.shape
    centre = jnp.array([(h - 1) / 2, (w - 1) / 2], A.dtype)
    grid = jnp.stack(jnp.meshgrid(jnp.arange(h), jnp.arange(w), indexing="ij"), -1)
    p = grid.reshape(1, h * w, 2).astype(A.dtype) - centre[None, None]
    q = (p[:, :, None, :] * A[:, None]).sum(-1) + (b + centre[None])[:, None]
    rows = X.reshape(n, h * w, c)

    def at(index: Array) -> Array:
        """The pixels at these indices (n, h·w, 2)."""
        i, j = index[..., 0], index[..., 1]
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
    fraction, index = (q - low).astype(X.dtype), low.astype(jnp.int32)
    down, right = fraction[..., :1], fraction[..., 1:]

    def pair(i: int) -> Array:
        left = at(index + jnp.array([[[i, 0]]]))
        return left + right * (at(index + jnp.array([[[i, 1]]])) - left)

    upper = pair(0)
    return (upper + down * (pair(1) - upper)).reshape(X.shape)


def affine(
    turn: Float[Array, " n"], across: Float[Array, " n"], down: Float[Array, " n"]
) -> Float[Array, "n 2 2"]:
    """A of a rotation by an angle (anticlockwise as seen), after a scaling of both axes.

    Args:
        turn: the angle, in radians.
        across: the factor of the width; a negative one mirrors the image.
        down: the factor of the height.
    """
    cos, sin = jnp.cos(turn), jnp.sin(turn)
    # rows grow downwards, and the map goes from output to input: it rotates clockwise
    rotation = jnp.stack([jnp.stack([cos, sin], -1), jnp.stack([-sin, cos], -1)], -2)
    return rotation / jnp.stack([down, across], -1)[:, :, None]
