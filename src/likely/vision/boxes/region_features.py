"""Features of regions: a box of any size becomes a grid of fixed size.

RoI align averages, in every cell of the grid, bilinear samples of the feature map. Bilinear
weights are products of a weight for the row and one for the column, so the whole of it is two
matrix products for each box,

    out[p, q] = Σᵢⱼ Y[p, i]·F[i, j]·X[q, j],

with Y and X the mean weights of the samples of a cell. RoI pooling takes the largest value of
each cell instead, after rounding the box to whole pixels, and so has no slope in the box.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.vision.boxes.arrays import as_corners

Size = int | tuple[int, int]


def roi_align(
    features: Any,
    boxes: Any,
    size: Size,
    sampling_ratio: int = 2,
    *,
    scale: float | int = 1.0,
    aligned: bool = True,
) -> Float[Array, "*n r p q c"]:
    """Features of regions by bilinear sampling, differentiable in features and boxes.

    A sample outside the map by up to one pixel takes the value at the border; one further
    out is 0.

    Args:
        features: (h, w, c), or (n, h, w, c) for n images.
        boxes: (r, 4) or (n, r, 4) corners, in pixels of the image.
        size: of the grid, one number or (p, q).
        sampling_ratio: samples along each side of a cell.
        scale: cells of the feature map for one pixel of the image, 1 / stride.
        aligned: whether pixel (i, j) covers i..i+1 and j..j+1, so that its value stands
            in the middle; False is the older rule, which also makes boxes at least one
            cell large.
    """
    features, boxes, (p, q) = _inputs(features, boxes, size)
    if sampling_ratio < 1:
        raise InputError(f"sampling_ratio is {sampling_ratio}; give at least 1.")

    shift, least = (0.5, 0.0) if aligned else (0.0, 1.0)
    boxes = boxes * scale - shift
    return _align(features, boxes, (p, q), (int(sampling_ratio), least))


@functools.partial(jax.jit, static_argnums=(2, 3))
def _align(F, B, cells: tuple[int, int], sampling: tuple[int, float]) -> Any:
    """RoI align of one image, or of several; boxes are in cells of the feature map."""
    if F.ndim == 4:
        return jax.vmap(lambda f, b: _align(f, b, cells, sampling))(F, B)
    Y = _weights(B[:, 1], B[:, 3], (cells[0], F.shape[0]), sampling)
    X = _weights(B[:, 0], B[:, 2], (cells[1], F.shape[1]), sampling)
    return jnp.einsum("rpi,ijc,rqj->rpqc", Y, F, X)


def _weights(low, high, shape: tuple[int, int], sampling: tuple[int, float]) -> Any:
    """(r, cells, length) mean bilinear weights of the samples of each cell along an axis."""
    (cells, length), (samples, least) = shape, sampling
    side = jnp.maximum(high - low, least)
    place = (jnp.arange(cells * samples, dtype=low.dtype) + 0.5) / (cells * samples)
    at = low[:, None] + side[:, None] * place[None, :]  # (r, cells·samples)
    inside = (at >= -1.0) & (at <= length)
    at = jnp.clip(at, 0.0, length - 1.0)
    pixels = jnp.arange(length, dtype=low.dtype)
    hat = jnp.maximum(1.0 - jnp.abs(at[:, :, None] - pixels[None, None, :]), 0.0)
    hat = jnp.where(inside[:, :, None], hat, 0.0)
    return hat.reshape(len(low), cells, samples, length).mean(2)


def roi_pool(
    features: Any, boxes: Any, size: Size, *, scale: float | int = 1.0
) -> Float[Array, "*n r p q c"]:
    """Features of regions by the largest value of each cell, differentiable in features.

    Args:
        features: (h, w, c), or (n, h, w, c) for n images.
        boxes: (r, 4) or (n, r, 4) corners, in pixels of the image; rounded to whole cells of
            the map, both ends included. A cell outside of the map is 0.
        size: of the grid, one number or (p, q).
        scale: cells of the feature map for one pixel of the image, 1 / stride.
    """
    features, boxes, (p, q) = _inputs(features, boxes, size)

    return _pool(features, jnp.floor(boxes * scale + 0.5), (p, q))


@functools.partial(jax.jit, static_argnums=2)
def _pool(F, B, cells: tuple[int, int]) -> Any:
    """RoI pooling of one image, or of several; boxes are whole numbers of cells."""
    if F.ndim == 4:
        return jax.vmap(lambda f, b: _pool(f, b, cells))(F, B)
    Y = _cells(B[:, 1], B[:, 3], cells[0], F.shape[0])
    X = _cells(B[:, 0], B[:, 2], cells[1], F.shape[1])
    low = jnp.asarray(-jnp.inf, F.dtype)
    rows = jnp.where(Y[:, :, :, None, None], F[None, None], low).max(2)
    found = jnp.where(X[:, None, :, :, None], rows[:, :, None], low).max(3)
    return jnp.where(jnp.isfinite(found), found, 0.0)


def _cells(low, high, cells: int, length: int) -> Any:
    """(r, cells, length) whether a pixel belongs to a cell, along one axis."""
    first, size = low.astype(int), jnp.maximum(high - low + 1.0, 1.0).astype(int)
    edges = jnp.arange(cells + 1)[None, :] * size[:, None]  # in parts of a pixel, exact
    begin = (edges[:, :-1] // cells + first[:, None])[:, :, None]
    end = (-(-edges[:, 1:] // cells) + first[:, None])[:, :, None]
    pixels = jnp.arange(length)[None, None, :]
    return (pixels >= begin) & (pixels < end)


def _inputs(features: Any, boxes: Any, size: Size) -> tuple[Any, Any, tuple[int, int]]:
    """Arrays of JAX of one type, and (p, q)."""
    features = jnp.asarray(features)
    if not jnp.issubdtype(features.dtype, jnp.inexact):
        features = features.astype(jnp.float32)
    boxes = jnp.asarray(as_corners(boxes), features.dtype)
    if features.ndim not in (3, 4) or boxes.ndim != features.ndim - 1:
        raise InputError(
            f"features and boxes have shapes {features.shape} and {boxes.shape}; give "
            "(h, w, c) and (r, 4), or (n, h, w, c) and (n, r, 4)."
        )
    p, q = (size, size) if isinstance(size, int) else size
    if min(p, q) < 1:
        raise InputError(f"size is {size}; give at least 1 cell.")
    return features, boxes, (p, q)
