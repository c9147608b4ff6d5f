r"""Pooling: the largest, smallest or mean value of each window."""

from collections.abc import Sequence
from functools import partial, reduce
from itertools import product
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt

from likely.core.checks import InputError
from likely.layers.convolution.convolution import check_axes, check_channels
from likely.layers.convolution.window import Padding, margins, per_axis, places
from likely.typing import State

KINDS = ("max", "min", "mean")


class Pooled(NamedTuple):
    """The windows of a pooling."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    def places(self, X: Any) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        return places(
            X.shape[1:-1], self.size, self.stride, self.pads, (1,) * len(self.size)
        )


class Pooling(eqx.Module):
    r"""One value for each window of each channel: $\lfloor(W + 2P - F)/S\rfloor + 1$ places.

    Windows may overlap (S < F). What is added at the edges by `padding` is no value: it is
    never the largest, nor counted in the mean. The derivative of the largest goes to one
    position, the first of those that are equally large.

    Args:
        size: F for all axes or for each; None is one window, of all positions, and
            leaves no axes but n and c.
        stride: S; None is F, windows side by side.
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
        self.pads = margins(padding, window, (1,) * axes)
        if any(max(p) >= f for p, f in zip(self.pads, window, strict=True) if max(p)):
            raise InputError(
                f"padding is {padding!r} for windows of {window}; a window needs at "
                "least one position that is there: give less than its size."
            )

    def __call__(
        self,
        X: Float[Array, "n *positions c"],
        *,
        w=None,
        key=None,
        state: State = None,
    ) -> tuple[Float[Array, "n *places c"], State]:
        """A value for each window."""
        if self.size is None:
            over = tuple(range(1, X.ndim - 1))
            return getattr(X, self.kind)(over), state
        check_channels(X, X.shape[-1], len(self.size), self)
        how = Pooled(self.size, self.stride, self.pads)
        how.places(X)
        if self.kind == "mean":
            return mean_pool(X, how), state
        if self.kind == "min":
            return -max_pool(-X, how), state
        return max_pool(X, how), state


# The mean -----------------------------------------------------------------------------


def mean_pool(X: Array, how: Pooled) -> Array:
    """The mean over the positions of each window that are there."""
    if side_by_side(how):
        tiles, over = tiled(X, how)
        return tiles.mean(over)
    total = reduce(jnp.add, slices(X, how, 0.0))
    ones = np.ones((1, *X.shape[1:-1], 1), np.float32)
    count = reduce(np.add, slices(ones, how, 0.0, np.pad))
    return total / jnp.asarray(count, total.dtype)


# The largest --------------------------------------------------------------------------


def plain_max_pool(X: Array, how: Pooled) -> Array:
    """By JAX's own window reduction: the oracle."""
    window, stride = (1, *how.size, 1), (1, *how.stride, 1)
    pads = ((0, 0), *how.pads, (0, 0))
    return jax.lax.reduce_window(X, -jnp.inf, jax.lax.max, window, stride, pads)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def max_pool(X: Float[Array, "n *positions c"], how: Pooled) -> Array:
    """The largest value of each window.

    Its derivative is the one of the position where the largest stands. JAX's own way
    back looks for that position again, window by window, seven times slower on a CPU.
    """
    return reduce(jnp.maximum, slices(X, how, -jnp.inf))


@max_pool.defjvp
def _max_pool_jvp(how, primals, tangents):
    (X,), (t,) = primals, tangents
    y, at = max_and_place(X, how)
    return y, pick(t, at, how)


def max_and_place(X: Array, how: Pooled) -> tuple[Array, UInt[Array, "..."]]:
    """The largest value of each window, and its number within it (the first, if tied)."""
    first, *others = slices(X, how, -jnp.inf)
    y, at = first, jnp.zeros(first.shape, _small(how))
    for k, x in enumerate(others, 1):
        at = jnp.where(x > y, jnp.asarray(k, at.dtype), at)
        y = jnp.maximum(y, x)
    return y, at


def pick(t: Array, at: Array, how: Pooled) -> Array:
    """The value of each window at the place with that number; its transpose puts back."""
    if side_by_side(how):
        tiles, over = tiled(t, how)
        number = np.arange(np.prod(how.size), dtype=at.dtype).reshape(how.size)
        number = np.expand_dims(number, [a for a in range(tiles.ndim) if a not in over])
        here = jnp.expand_dims(at, over) == jnp.asarray(number)
        return jnp.where(here, tiles, 0).sum(over)
    picked = [jnp.where(at == k, x, 0) for k, x in enumerate(slices(t, how, 0.0))]
    return reduce(jnp.add, picked)


# Windows ------------------------------------------------------------------------------


def side_by_side(how: Pooled) -> bool:
    """Whether windows tile the positions."""
    return how.size == how.stride and not any(map(any, how.pads))


def tiled(X: Array, how: Pooled) -> tuple[Array, tuple[int, ...]]:
    """Rows cut into windows: (n, h', k, w', l, c), and the axes within them."""
    n, *_, c = X.shape
    count = how.places(X)
    kept = tuple(slice(0, m * k) for m, k in zip(count, how.size, strict=True))
    shape = [a for pair in zip(count, how.size, strict=True) for a in pair]
    over = tuple(range(2, 2 + len(shape), 2))
    return X[(slice(None), *kept)].reshape(n, *shape, c), over


def slices(X: Any, how: Pooled, fill: float, pad=jnp.pad) -> list:
    """The values at each position of the windows, one array for each position."""
    count = how.places(X)
    if any(map(any, how.pads)):
        X = pad(X, ((0, 0), *how.pads, (0, 0)), constant_values=fill)
    return [
        X[
            (
                slice(None),
                *(
                    slice(k, k + (m - 1) * s + 1, s)
                    for k, m, s in zip(at, count, how.stride, strict=True)
                ),
            )
        ]
        for at in product(*map(range, how.size))
    ]


def _small(how: Pooled) -> Any:
    return jnp.uint8 if np.prod(how.size) <= 256 else jnp.uint32
