r"""Augmentation: other images with the same label, made while training.

Each step draws, for each of its images, a shift, a turn, a stretch, a mirror and so on,
all of them functions of (seed, step); the drawing and the resampling are part of the
training program. Moves act together as one map (`warp`), so an image is interpolated
once. Amounts of brightness and noise are in units of the data's spread, which is what
the network sees; 0 is its mean.

Mixup shows $λx_i + (1-λ)x_j$ with $λ \sim$ Beta(a, a), one λ a step and the loss
$λ\,l(y_i) + (1-λ)\,l(y_j)$. Here each row draws one of both targets, $y_i$ with probability
λ: on average the same loss, for any family and without a soft label.
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

SHARES = ("shift", "flip", "crop", "erase")
POSITIVE = ("crop", "mixup")
AMOUNTS = (*SHARES, "rotate", "scale", "brightness", "noise", "mixup")


def _amount(value: Any) -> Any:
    """None is none; a number is an array, so that another one compiles nothing."""
    return value if value is None or isinstance(value, jax.Array) else number(value)


def _field() -> Any:
    return eqx.field(default=None, converter=_amount)


class Augmentation(eqx.Module):
    """How much images are changed at random; what is None is left alone.

    Args:
        shift: the longest way up, down, left and right, as a share of the side.
        rotate: the largest turn either way, in degrees.
        scale: the largest stretch: 0.2 is between 1/1.2 and 1.2 times the size.
        flip: the probability to mirror left and right.
        crop: the smallest share of the side that is cut out and shown at full size.
        erase: the largest share of the side of a box that is set to 0, the mean.
        brightness: the most that is added to all pixels of an image.
        noise: standard deviation of what is added to each pixel.
        mixup: a of Beta(a, a), such as 0.2.
        edges: what is beyond the edges: "nearest" the pixel there, "zero" the mean, or
            "cyclic" the other side.
        targets: what mixup does to y: "draw" one of both, or "mean" for numbers.
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
            value, most = getattr(self, name), 1.0 if name in SHARES else float("inf")
            if value is None or isinstance(value, jax.Array):
                continue
            if not 0 <= value <= most or (name in POSITIVE and value == 0):
                least = "above 0" if name in POSITIVE else "of at least 0"
                end = " and at most 1" if name in SHARES else ""
                raise InputError(f"{name} is {value:g}; give a number {least}{end}.")
        if self.targets not in ("draw", "mean"):
            raise InputError(f'targets is {self.targets!r}; give "draw" or "mean".')

    @property
    def moves(self) -> bool:
        """Whether pixels change their places."""
        given = (self.shift, self.rotate, self.scale, self.flip, self.crop)
        return any(amount is not None for amount in given)

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """The batch of one step, changed; a `Disturbance` of first-order solvers."""
        return params, self.batch(batch, key)

    def batch(self, batch: Batch, key: Key) -> Batch:
        """Images and, where y has a value for each pixel, their targets, changed alike."""
        x, y, w = batch
        if x.ndim != 4:
            raise InputError(
                f"augmentation changes images (n, h, w, c) but got rows of shape "
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
        """The images alone, changed."""
        nothing = jnp.zeros(len(X), X.dtype)
        return self.batch(Batch(X, nothing, nothing + 1), key).x

    def map(
        self, shape: tuple[int, ...], dtype: Any, key: Key
    ) -> tuple[Float[Array, "n 2 2"], Float[Array, "n 2"]]:
        """A and b of each image: where its pixels come from."""
        n, h, w, _ = shape
        keys = jax.random.split(key, 6)

        def within(k: Key, most: Any, *size: int) -> Array:
            return jax.random.uniform(k, size, dtype, -1, 1) * jnp.asarray(most, dtype)

        turn, zoom, mirror = jnp.zeros(n, dtype), jnp.ones(n, dtype), 1.0
        b = jnp.zeros((n, 2), dtype)
        if self.rotate is not None:
            turn = within(keys[0], self.rotate, n) * jnp.pi / 180
        if self.scale is not None:
            zoom = jnp.exp(within(keys[1], 1.0, n) * jnp.log1p(_as(self.scale, dtype)))
        if self.flip is not None:
            mirrored = jax.random.uniform(keys[2], (n,), dtype) < _as(self.flip, dtype)
            mirror = jnp.where(mirrored, -1.0, 1.0).astype(dtype)
        if self.shift is not None:
            b = b + within(keys[3], self.shift, n, 2)
        if self.crop is not None:
            least = _as(self.crop, dtype)
            side = least + (1 - least) * jax.random.uniform(keys[4], (n,), dtype)
            zoom = zoom / side
            b = b + (1 - side)[:, None] / 2 * within(keys[5], 1.0, n, 2)
        return affine(turn, zoom * mirror, zoom), b * jnp.array([[h, w]], dtype)

    def look(self, x: Float[Array, "n h w c"], key: Key) -> Float[Array, "n h w c"]:
        """What changes values and not places."""
        n, h, w, _ = x.shape
        k_box, k_bright, k_noise = jax.random.split(key, 3)
        if self.erase is not None:
            size, top, left = jax.random.uniform(k_box, (3, n, 1), x.dtype)
            size = size * _as(self.erase, x.dtype)
            rows, columns = jnp.arange(h)[None] / h, jnp.arange(w)[None] / w
            top, left = top * (1 - size), left * (1 - size)
            inside = (rows >= top) & (rows < top + size)
            across = (columns >= left) & (columns < left + size)
            hidden = inside[:, :, None] & across[:, None, :]
            x = jnp.where(hidden[..., None], 0.0, x)
        if self.brightness is not None:
            more = jax.random.uniform(k_bright, (n, 1, 1, 1), x.dtype, -1, 1)
            x = x + more * _as(self.brightness, x.dtype)
        if self.noise is not None:
            more = jax.random.normal(k_noise, x.shape, x.dtype)
            x = x + more * _as(self.noise, x.dtype)
        return x

    def mixed(self, x: Array, y: Array, w: Array, key: Key) -> Batch:
        """Each image with a little of another; an absent row lends nothing."""
        k_share, k_other, k_coin = jax.random.split(key, 3)
        a = jnp.asarray(self.mixup, x.dtype)
        other = permutation(k_other, len(x))
        share = jnp.where(
            (w > 0) & (w[other] > 0), jax.random.beta(k_share, a, a), 1.0
        ).astype(x.dtype)  # (n,)
        x = _mean(share, x, x[other])
        if self.targets == "mean":
            return Batch(x, _mean(share, y, y[other]), _mean(share, w, w[other]))
        own = jax.random.uniform(k_coin, share.shape, share.dtype) < share
        chosen = jnp.where(own, jnp.arange(len(x)), other)
        return Batch(x, y[chosen], w[chosen])


def _as(amount: Any, dtype: Any) -> Array:
    return jnp.asarray(amount, dtype)


def _mean(share: Float[Array, " n"], a: Array, b: Array) -> Array:
    share = share.reshape(-1, *[1] * (a.ndim - 1)).astype(a.dtype)
    return share * a + (1 - share) * b
