r"""Augmentation of images with boxes: what moves an image moves its boxes too.

An image is zoomed, shifted and mirrored along its axes, so that boxes stay boxes exactly: the
output at u has the input at $c + m (u - ½) / z$, in shares of the sides, and a box becomes
$½ + m z (b - c)$. Zooms and shifts are drawn among those that leave every box inside of the
image, so that no object is cut, and none stays without its box. Beyond the edges is 0, the mean
of standardised images.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from likely.core.checks import InputError
from likely.core.precision import number
from likely.typing import Batch, Key
from likely.vision.detection.targets import unpacked


def _amount(value: Any) -> Any:
    """An amount as an array, so that another value compiles nothing."""
    return value if isinstance(value, jax.Array) else number(value)


class BoxAugmentation(eqx.Module):
    """Random zooms, shifts, mirror images and brightness of images with boxes.

    Args:
        shift: the largest shift in each direction, as a fraction of the image side.
        scale: the largest change of size: 0.2 is between 1/1.2 and 1.2 times the size.
        flip: the probability of a left-right mirror image; 0 for things such as digits.
        brightness: the largest number that is added to all pixels of an image, in units of
            their standard deviation.
        noise: the standard deviation of the noise added to each pixel, in the same units.
    """

    shift: Any = eqx.field(default=0.2, converter=_amount)
    scale: Any = eqx.field(default=0.2, converter=_amount)
    flip: Any = eqx.field(default=0.0, converter=_amount)
    brightness: Any = eqx.field(default=0.1, converter=_amount)
    noise: Any = eqx.field(default=0.05, converter=_amount)

    def __check_init__(self):
        for name in ("shift", "scale", "flip", "brightness", "noise"):
            value = getattr(self, name)
            high = 1.0 if name in ("shift", "flip") else float("inf")
            if not isinstance(value, jax.Array) and not 0 <= value <= high:
                more = " and at most 1" if high == 1.0 else ""
                raise InputError(
                    f"{name} is {value:g}; give a number of at least 0{more}."
                )

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """The parameters and the changed batch: a `Perturbation` of first-order solvers."""
        return params, self.batch(batch, key)

    def batch(self, batch: Batch, key: Key) -> Batch:
        """Images (n, h, w, c) and packed targets (n, m, 5), changed at random."""
        x, y, w = batch
        k_move, k_bright, k_noise = jax.random.split(key, 3)
        boxes, _, present = unpacked(y)
        centre, zoom = self.draw(boxes, present > 0, k_move)
        x = _zoomed(x, centre, zoom)
        corners = boxes.reshape(*boxes.shape[:2], 2, 2)
        moved = 0.5 + (corners - centre[:, None, None]) * zoom[:, None, None]
        low, high = moved.min(2), moved.max(2)
        moved = jnp.clip(jnp.concatenate([low, high], -1), 0.0, 1.0)
        y = jnp.concatenate([y[..., :1], moved], -1)
        more = jax.random.uniform(k_bright, (len(x), 1, 1, 1), x.dtype, -1, 1)
        x = x + more * jnp.asarray(self.brightness, x.dtype)
        grain = jax.random.normal(k_noise, x.shape, x.dtype)
        return Batch(x + grain * jnp.asarray(self.noise, x.dtype), y, w)

    def draw(
        self, boxes: Float[Array, "n m 4"], present: Array, key: Key
    ) -> tuple[Float[Array, "n 2"], Float[Array, "n 2"]]:
        """The centre (x, y) of what is seen, and the zoom; a negative one mirrors."""
        n, dtype = len(boxes), boxes.dtype
        k_zoom, k_shift, k_flip = jax.random.split(key, 3)
        there = present[..., None]
        low = jnp.where(there, boxes[..., :2], 1.0).min(1)
        high = jnp.where(there, boxes[..., 2:], 0.0).max(1)
        empty = ~present.any(1, keepdims=True)
        low, high = jnp.where(empty, 0.5, low), jnp.where(empty, 0.5, high)
        most = jnp.log1p(jnp.asarray(self.scale, dtype))
        zoom = jnp.exp(jax.random.uniform(k_zoom, (n, 1), dtype, -1, 1) * most)
        widest = jnp.maximum((high - low).max(1, keepdims=True), 1e-6)
        zoom = jnp.minimum(zoom, jnp.maximum(1.0, 1.0 / widest))
        half, reach = 0.5 / zoom, jnp.asarray(self.shift, dtype)
        least = jnp.maximum(high - half, 0.5 - reach)
        largest = jnp.minimum(low + half, 0.5 + reach)
        share = jax.random.uniform(k_shift, (n, 2), dtype)
        drawn = least + share * (largest - least)
        nearest = jnp.clip(jnp.full_like(low, 0.5), high - half, low + half)
        centre = jnp.where(least <= largest, drawn, nearest)
        flipped = jax.random.uniform(k_flip, (n,), dtype) < jnp.asarray(
            self.flip, dtype
        )
        mirror = jnp.where(flipped, -1.0, 1.0).astype(dtype)
        return centre, zoom * jnp.stack([mirror, jnp.ones_like(mirror)], -1)


def _zoomed(
    x: Float[Array, "n h w c"], centre: Float[Array, "n 2"], zoom: Float[Array, "n 2"]
) -> Float[Array, "n h w c"]:
    """What is seen of each image, by bilinear interpolation; 0 is beyond its edges.

    Interpolation along the axes is a product with a matrix for the rows and one for the
    columns, which is quicker than looking pixels up.
    """
    X = _weights(centre[:, 0], zoom[:, 0], x.shape[2])
    Y = _weights(centre[:, 1], zoom[:, 1], x.shape[1])
    return jnp.einsum("npi,nijc,nqj->npqc", Y, x, X)


def _weights(
    centre: Float[Array, " n"], zoom: Float[Array, " n"], size: int
) -> Float[Array, "n p i"]:
    """(n, outputs, inputs) weights of linear interpolation along one axis."""
    u = (jnp.arange(size, dtype=centre.dtype) + 0.5) / size - 0.5
    at = (centre[:, None] + u[None] / zoom[:, None]) * size - 0.5
    inside = (at >= -0.5) & (at <= size - 0.5)
    at = jnp.clip(at, 0.0, size - 1.0)
    pixels = jnp.arange(size, dtype=centre.dtype)
    weights = jnp.maximum(1.0 - jnp.abs(at[:, :, None] - pixels[None, None]), 0.0)
    return jnp.where(inside[:, :, None], weights, 0.0)
