r"""Upsampling without parameters: nearest neighbour and bilinear."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.convolution.convolution import check_axes, check_channels
from likely.layers.convolution.window import per_axis
from likely.typing import State


class Upsampling(eqx.Module):
    r"""S times as many positions along each axis.

    "nearest" repeats each value $S \times S$ times. "bilinear" weights the neighbours by
    the distance of the pixel centres: on one axis, with S = 2, a new value is ¾ of the
    nearest plus ¼ of the next. Outside the edge centres the edge value is used.

    Args:
        scale: S, one number for all axes or one for each.
        kind: "nearest" or "bilinear".
        axes: 1 for sequences, 2 for images.
    """

    scale: tuple[int, ...] = eqx.field(static=True)
    kind: str = eqx.field(static=True)

    def __init__(
        self, scale: int | Sequence[int] = 2, *, kind: str = "nearest", axes: int = 2
    ):
        if kind not in ("nearest", "bilinear"):
            raise InputError(f'kind is {kind!r}; give "nearest" or "bilinear".')
        self.scale, self.kind = per_axis(scale, check_axes(axes), "scale"), kind

    def __call__(
        self,
        X: Float[Array, "n *positions c"],
        *,
        w=None,
        key=None,
        state: State = None,
    ) -> tuple[Float[Array, "n *more c"], State]:
        """Upsample."""
        check_channels(X, X.shape[-1], len(self.scale), self)
        n, *positions, c = X.shape
        more = [p * s for p, s in zip(positions, self.scale, strict=True)]
        if self.kind == "bilinear":
            return jax.image.resize(X, (n, *more, c), "bilinear"), state
        apart = jnp.expand_dims(X, range(2, 2 + 2 * len(positions), 2))
        pairs = [a for p in zip(positions, self.scale, strict=True) for a in p]
        return jnp.broadcast_to(apart, (n, *pairs, c)).reshape(n, *more, c), state
