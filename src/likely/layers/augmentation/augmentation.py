r"""Data augmentation: random changes of the training images that keep their label.

Each training step draws a shift, rotation, scale, mirror image and so on for each of its
images, as a function of (seed, step); drawing and resampling are part of the compiled
training program. The geometric changes act as one affine map (`warp`), so an image is
interpolated once. Brightness and noise are in units of the standardised images that the
network gets: their mean is 0 and their standard deviation 1.

Mixup trains on $λx_i + (1-λ)x_j$ with the loss $λ\,l(y_i) + (1-λ)\,l(y_j)$ and
$λ \sim$ Beta(a, a), one λ per step. Here each row draws one of the two targets, $y_i$ with
probability λ: the same loss in expectation, for any family and without soft labels.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from likely.core.checks import InputError
from likely.core.permutation import permutation
from likely.core.precision import number
from likely.layers.augmentation.warp import affine, warp
from likely.typing import Batch, Key

FRACTIONS = ("shift", "flip", "crop", "erase")
POSITIVE = ("crop", "mixup")
AMOUNTS = (*FRACTIONS, "rotate", "scale", "brightness", "noise", "mixup")


def _amount(value: Any) -> Any:
    """An amount as an array, so that another value compiles nothing; None stays None."""
    return value if value is None or isinstance(value, jax.Array) else number(value)


def _field() -> Any:
    return eqx.field(default=None, converter=_amount)


class Augmentation(eqx.Module):
    """Random changes of images; a change whose amount is None is not made.

    Args:
        shift: the largest shift in each direction, as a fraction of the image side.
        rotate: the largest rotation in either direction, in degrees.
        scale: the largest change of size: 0.2 is between 1/1.2 and 1.2 times the size.
        flip: the probability of a left-right mirror image.
        crop: the smallest side of a random crop, as a fraction of the image side; the
            crop is resized to the full size.
        erase: the largest side of a random box that is set to 0, as a fraction of the
            image side.
        brightness: the largest number that is added to all pixels of an image.
        noise: the standard deviation of the noise added to each pixel.
        mixup: the parameter a of Beta(a, a), such as 0.2.
        edges: the pixels beyond the edges: "nearest" repeats the edge, "zero" fills with
            0, "cyclic" continues at the opposite edge.
        targets: how mixup treats y: "draw" takes one of the two targets, "mean" averages
            them.
    """

    shift: Any = _field()
    rotate: Any = _field()
    scale: Any = _field()
    flip: Any = _field()
    crop: Any = _field()
    erase: Any = _field()
    brightness: Any = _field()
    noise: Any = _field()
    mixup: Any = _field()
    edges: str = eqx.field(static=True, default="nearest")
    targets: str = eqx.field(static=True, default="draw")

    def __check_init__(self):
        for name in AMOUNTS:
            value = getattr(self, name)
            largest = 1.0 if name in FRACTIONS else float("inf")
            if value is None or isinstance(value, jax.Array):
                continue
            if not 0 <= value <= largest or (name in POSITIVE and value == 0):
                low = "above 0" if name in POSITIVE else "of at least 0"
                high = " and at most 1" if name in FRACTIONS else ""
                raise InputError(f"{name} is {value:g}; give a number {low}{high}.")
        if self.targets not in ("draw", "mean"):
            raise InputError(f'targets is {self.targets!r}; give "draw" or "mean".')

    @property
    def moves(self) -> bool:
        """Whether any geometric change is made."""
        given = (self.shift, self.rotate, self.scale, self.flip, self.crop)
        return any(amount is not None for amount in given)

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """The parameters and the augmented batch: a `Perturbation` of first-order solvers."""
        return params, self.batch(batch, key)

    def batch(self, batch: Batch, key: Key) -> Batch:
        """The augmented batch; targets with a value for each pixel move with the images."""
        x, y, w = batch
        if x.ndim != 4:
            raise InputError(
                f"augmentation needs images (n, h, w, c) but got rows of shape "
                f"{x.shape[1:]}."
            )
        k_move, k_look, k_mix = jax.random.split(key, 3)
        if self.moves:
            A, b = self.map(x.shape, x.dtype, k_move)
            x = warp(x, A, b, edges=self.edges)
            if y.shape[:3] == x.shape[:3]:
                maps = y.reshape(*x.shape[:3], -1)
                y = warp(maps, A, b, edges="nearest", smooth=False).reshape(y.shape)
        x = self.look(x, k_look)
        return Batch(x, y, w) if self.mixup is None else self.mixed(x, y, w, k_mix)

    def images(self, X: Float[Array, "n h w c"], key: Key) -> Float[Array, "n h w c"]:
        """The augmented images, without targets."""
        zeros = jnp.zeros(len(X), X.dtype)
        return self.batch(Batch(X, zeros, zeros + 1), key).x

    def map(
        self, shape: tuple[int, ...], dtype: Any, key: Key
    ) -> tuple[Float[Array, "n 2 2"], Float[Array, "n 2"]]:
        """A and b of the affine map from output to input pixels, for each image."""
        n, h, w, _ = shape
        keys = jax.random.split(key, 6)

        def within(k: Key, limit: Any, *size: int) -> Array:
            return jax.random.uniform(k, size, dtype, -1, 1) * jnp.asarray(limit, dtype)

        angle, zoom, mirror = jnp.zeros(n, dtype), jnp.ones(n, dtype), 1.0
        b = jnp.zeros((n, 2), dtype)
        if self.rotate is not None:
            angle = within(keys[0], self.rotate, n) * jnp.pi / 180
        if self.scale is not None:
            largest = jnp.log1p(jnp.asarray(self.scale, dtype))
            zoom = jnp.exp(within(keys[1], largest, n))
        if self.flip is not None:
            draw = jax.random.uniform(keys[2], (n,), dtype)
            mirrored = draw < jnp.asarray(self.flip, dtype)
            mirror = jnp.where(mirrored, -1.0, 1.0).astype(dtype)
        if self.shift is not None:
            b = b + within(keys[3], self.shift, n, 2)
        if self.crop is not None:
            smallest = jnp.asarray(self.crop, dtype)
            side = smallest + (1 - smallest) * jax.random.uniform(keys[4], (n,), dtype)
            zoom = zoom / side
            b = b + (1 - side)[:, None] / 2 * within(keys[5], 1.0, n, 2)
        return affine(angle, zoom * mirror, zoom), b * jnp.array([[h, w]], dtype)

    def look(self, x: Float[Array, "n h w c"], key: Key) -> Float[Array, "n h w c"]:
        """The images after erasing, brightness and noise."""
        n, h, w, _ = x.shape
        k_box, k_bright, k_noise = jax.random.split(key, 3)
        if self.erase is not None:
            size, top, left = jax.random.uniform(k_box, (3, n, 1), x.dtype)
            size = size * jnp.asarray(self.erase, x.dtype)
            rows, columns = jnp.arange(h)[None] / h, jnp.arange(w)[None] / w
            top, left = top * (1 - size), left * (1 - size)
            inside = (rows >= top) & (rows < top + size)
            across = (columns >= left) & (columns < left + size)
            hidden = inside[:, :, None] & across[:, None, :]
            x = jnp.where(hidden[..., None], 0.0, x)
        if self.brightness is not None:
            more = jax.random.uniform(k_bright, (n, 1, 1, 1), x.dtype, -1, 1)
            x = x + more * jnp.asarray(self.brightness, x.dtype)
        if self.noise is not None:
            more = jax.random.normal(k_noise, x.shape, x.dtype)
            x = x + more * jnp.asarray(self.noise, x.dtype)
        return x

    def mixed(self, x: Array, y: Array, w: Array, key: Key) -> Batch:
        """Mixup: each image mixed with another; rows of weight 0 are not mixed in."""
        k_share, k_other, k_coin = jax.random.split(key, 3)
        a = jnp.asarray(self.mixup, x.dtype)
        other = permutation(k_other, len(x))
        both = (w > 0) & (w[other] > 0)
        share = jnp.where(both, jax.random.beta(k_share, a, a), 1.0).astype(x.dtype)
        x = _mix(share, x, x[other])
        if self.targets == "mean":
            return Batch(x, _mix(share, y, y[other]), _mix(share, w, w[other]))
        own = jax.random.uniform(k_coin, share.shape, share.dtype) < share
        chosen = jnp.where(own, jnp.arange(len(x)), other)
        return Batch(x, y[chosen], w[chosen])


def _mix(share: Float[Array, " n"], a: Array, b: Array) -> Array:
    share = share.reshape(-1, *[1] * (a.ndim - 1)).astype(a.dtype)
    return share * a + (1 - share) * b
