r"""Upsampling without parameters: nearest neighbour and bilinear."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.composition.layer import AbstractLayer
from likely.layers.convolution.convolution import check_axes, check_channels
from likely.layers.convolution.window import per_axis


class Upsampling(AbstractLayer):
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

    def of(self, X: Float[Array, "n *positions c"]) -> Float[Array, "n *more c"]:
        """Upsample."""
        check_channels(X, X.shape[-1], len(self.scale), self)
        if self.kind == "bilinear":
            factors = (1, *self.scale, 1)
            shape = [p * s for p, s in zip(X.shape, factors, strict=True)]
            return jax.image.resize(X, shape, "bilinear")
        for axis, scale in enumerate(self.scale, 1):
            X = jnp.repeat(X, scale, axis)
        return X
