r"""Pooling: the largest, smallest or mean value of each window."""

from collections.abc import Sequence
from functools import partial, reduce
from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt

from likely.core.checks import InputError
from likely.layers.composition.layer import AbstractLayer
from likely.layers.convolution.convolution import check_axes, check_channels
from likely.layers.convolution.sliding import SlidingWindow
from likely.layers.convolution.window import Padding, padding_widths, per_axis

KINDS = ("max", "min", "mean")


class Pooling(AbstractLayer):
    r"""One value for each window and channel; output size $\lfloor(W + 2P - F)/S\rfloor + 1$.

    Windows may overlap (S < F). Padded positions are ignored: they are never the maximum
    and not counted in the mean. The gradient of a maximum goes to one position, the first
    of those that are tied.

    Args:
        size: F, one number for all axes or one for each; None pools over all positions,
            which gives an output of shape (n, c).
        stride: S; None is F, so that windows do not overlap.
        kind: "max", "min" or "mean".
        padding: "valid", "same" or P, less than F.
        axes: 1 for sequences, 2 for images.
    """

    size: tuple[int, ...] | None = eqx.field(static=True)
    stride: tuple[int, ...] = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    pads: tuple[tuple[int, int], ...] = eqx.field(static=True)

    def __init__(
        self,
        size: int | Sequence[int] | None = 2,
        stride: int | Sequence[int] | None = None,
        *,
        kind: str = "max",
        padding: Padding = "valid",
        axes: int = 2,
    ):
        if kind not in KINDS:
            raise InputError(f"kind is {kind!r}; give one of {', '.join(KINDS)}.")
        self.kind, check = kind, check_axes(axes)
        self.size = None if size is None else per_axis(size, check, "size")
        window = self.size or (1,) * axes
        self.stride = window if stride is None else per_axis(stride, axes, "stride")
        self.pads = padding_widths(padding, window, (1,) * axes)
        if any(max(p) >= f for p, f in zip(self.pads, window, strict=True) if max(p)):
            raise InputError(
                f"padding is {padding!r} for windows of {window}; a window needs at "
                "least one position of the input: give less than its size."
            )

    def window(self, X: Array) -> SlidingWindow:
        """The windows of this input."""
        one = (1,) * len(self.stride)
        return SlidingWindow(
            X.shape[1:-1], self.size or one, self.stride, self.pads, one
        )

    def of(self, X: Float[Array, "n *positions c"]) -> Float[Array, "n *outputs c"]:
        """Pool each window."""
        if self.size is None:
            return getattr(X, self.kind)(tuple(range(1, X.ndim - 1)))
        check_channels(X, X.shape[-1], len(self.size), self)
        window = self.window(X)
        if self.kind == "mean":
            return mean_pool(X, window)
        return -max_pool(-X, window) if self.kind == "min" else max_pool(X, window)


# Mean pooling -------------------------------------------------------------------------


def mean_pool(X: Array, window: SlidingWindow) -> Array:
    """The mean of each window, without the padded positions."""
    if is_tiling(window):
        tiles, over = tiled(X, window)
        return tiles.mean(over)
    total = reduce(jnp.add, slices(X, window, 0.0))
    ones = np.ones((1, *X.shape[1:-1], 1), np.float32)
    count = reduce(np.add, slices(ones, window, 0.0, np.pad))
    return total / jnp.asarray(count, total.dtype)


# Max pooling --------------------------------------------------------------------------


def plain_max_pool(X: Array, window: SlidingWindow) -> Array:
    """Max pooling by JAX's own window reduction: the reference of the tests."""
    size, stride = (1, *window.size, 1), (1, *window.stride, 1)
    pads = ((0, 0), *window.pads, (0, 0))
    return jax.lax.reduce_window(X, -jnp.inf, jax.lax.max, size, stride, pads)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def max_pool(X: Float[Array, "n *positions c"], window: SlidingWindow) -> Array:
    """The largest value of each window.

    The derivative is that of the maximal position. JAX's own backward pass searches for
    that position again, window by window, which is seven times slower on a CPU.
    """
    return reduce(jnp.maximum, slices(X, window, -jnp.inf))


@max_pool.defjvp
def _max_pool_jvp(window, primals, tangents):
    (X,), (t,) = primals, tangents
    y, at = max_and_index(X, window)
    return y, take_indexed(t, at, window)


def max_and_index(X: Array, window: SlidingWindow) -> tuple[Array, UInt[Array, "..."]]:
    """The largest value of each window and its index in it (the first, if tied)."""
    y, *others = slices(X, window, -jnp.inf)
    at = jnp.zeros(y.shape, jnp.uint8 if len(others) < 256 else jnp.uint32)
    for k, x in enumerate(others, 1):
        at = jnp.where(x > y, jnp.asarray(k, at.dtype), at)
        y = jnp.maximum(y, x)
    return y, at


def take_indexed(t: Array, at: Array, window: SlidingWindow) -> Array:
    """The value of each window at the given index; the transpose scatters values back."""
    if is_tiling(window):
        tiles, over = tiled(t, window)
        number = np.arange(np.prod(window.size), dtype=at.dtype).reshape(window.size)
        number = np.expand_dims(number, [a for a in range(tiles.ndim) if a not in over])
        here = jnp.expand_dims(at, over) == jnp.asarray(number)
        return jnp.where(here, tiles, 0).sum(over)
    picked = [jnp.where(at == k, x, 0) for k, x in enumerate(slices(t, window, 0.0))]
    return reduce(jnp.add, picked)


# Windows ------------------------------------------------------------------------------


def is_tiling(window: SlidingWindow) -> bool:
    """Whether the windows cover the input without overlap or padding."""
    return window.size == window.stride and not any(map(any, window.pads))


def tiled(X: Array, window: SlidingWindow) -> tuple[Array, tuple[int, ...]]:
    """The input as windows, (n, h', k, w', l, c), and the axes inside a window."""
    n, *_, c = X.shape
    count = window.output_size
    kept = tuple(slice(0, m * k) for m, k in zip(count, window.size, strict=True))
    shape = [a for pair in zip(count, window.size, strict=True) for a in pair]
    over = tuple(range(2, 2 + len(shape), 2))
    return X[(slice(None), *kept)].reshape(n, *shape, c), over


def slices(X: Any, window: SlidingWindow, fill: float, pad=jnp.pad) -> list:
    """The values at each position of the windows, one array for each position."""
    count = window.output_size
    if any(map(any, window.pads)):
        X = pad(X, ((0, 0), *window.pads, (0, 0)), constant_values=fill)

    def read(at: tuple[int, ...]) -> Any:
        axes = zip(at, count, window.stride, strict=True)
        return X[(slice(None), *(slice(k, k + (m - 1) * s + 1, s) for k, m, s in axes))]

    return list(map(read, product(*map(range, window.size))))
