r"""Transposed convolution: the adjoint of a strided convolution."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.composition.layer import AbstractLayer
from likely.layers.convolution.convolution import (
    as_images,
    check_axes,
    check_channels,
    check_groups,
)
from likely.layers.convolution.correlation import correlate_transposed
from likely.layers.convolution.sliding import SlidingWindow
from likely.layers.convolution.window import Padding, padding_widths, per_axis
from likely.layers.units.dense import add_bias
from likely.layers.units.initializers import Initializer, initializer
from likely.typing import Key


class TransposedConvolution(AbstractLayer):
    r"""$z = A(x, f) + b$ with $\langle A(x, f), u\rangle = \langle x, C(u, f)\rangle$.

    Each input value adds its filter, times the value, to the output around its position.
    C is the convolution with the same settings, from `n_out` channels to `n_in`: C divides
    the size by S, so its adjoint multiplies it by S. `weight` is the weight of C, of shape
    (*size, n_out / groups, n_in).

    Args:
        n_in: the number of input channels.
        n_out: the number of output channels.
        size: K, the filter size: one number for all axes, or one for each.
        axes: 1 for sequences, 2 for images.
        stride: S, the number of output positions for each input position.
        padding: "same" gives an output of size W·S; "valid" and a number P give
            $(W-1)S + D(K-1) + 1 - 2P$, plus `extra`.
        extra: positions added at the end of the output; C maps several input sizes to
            the same output size W, and this chooses between them.
        dilation: D, the distance between the positions of a filter.
        groups: the number of channel groups that are convolved separately.
        bias: whether to add b.
        init: a name of `INITIALIZERS`, or ("gaussian", variance).
        key: the random key of the initial filters.
    """

    weight: Float[Array, "*size o c"]
    bias: Float[Array, " o"] | None
    stride: tuple[int, ...] = eqx.field(static=True)
    pads: tuple[tuple[int, int], ...] = eqx.field(static=True)
    extra: tuple[int, ...] = eqx.field(static=True)
    dilation: tuple[int, ...] = eqx.field(static=True)
    groups: int = eqx.field(static=True)

    def __init__(
        self,
        n_in: int,
        n_out: int,
        size: int | Sequence[int] = 2,
        *,
        axes: int = 2,
        stride: int | Sequence[int] = 2,
        padding: Padding = "same",
        extra: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        init: Initializer = "he",
        key: Key,
    ):
        size = per_axis(size, check_axes(axes), "size")
        self.stride = per_axis(stride, axes, "stride")
        self.dilation = per_axis(dilation, axes, "dilation")
        self.pads = padding_widths(padding, size, self.dilation)
        self.extra = tuple(extra) if isinstance(extra, Sequence) else (extra,) * axes
        if padding == "same":
            # the output size W·S needs S − 1 more positions than the formula gives
            self.extra = tuple(s - 1 for s in self.stride)
        if any(not 0 <= e < s for e, s in zip(self.extra, self.stride, strict=True)):
            raise InputError(
                f"extra is {extra!r} at stride {self.stride}; give 0 or more, below "
                "the stride: a larger extra belongs to an input with one position more."
            )
        self.groups = check_groups(n_in, n_out, groups)
        overlap = math.prod(size) / groups / math.prod(self.stride)
        fans, shape = (n_in * overlap, n_out * overlap), (*size, n_out // groups, n_in)
        self.weight = initializer(init).normal(shape, *fans, key=key)
        self.bias = jnp.zeros(n_out) if bias else None

    @property
    def size(self) -> tuple[int, ...]:
        """The filter size K of each axis."""
        return self.weight.shape[:-2]

    def positions(self, input_size: Sequence[int]) -> tuple[int, ...]:
        """The output size of each axis."""
        settings = self.stride, self.dilation, self.size, self.pads, self.extra
        return tuple(
            (n - 1) * s + d * (k - 1) + 1 - sum(pad) + e
            for n, s, d, k, pad, e in zip(input_size, *settings, strict=True)
        )

    def of(self, X: Float[Array, "n *inputs c"]) -> Float[Array, "n *outputs o"]:
        """Apply the transposed filters and add b."""
        check_channels(X, self.weight.shape[-1], len(self.size), self)
        out = self.positions(X.shape[1:-1])
        window = SlidingWindow(
            out, self.size, self.stride, self.pads, self.dilation, self.groups
        )
        Z = correlate_transposed(*as_images(X, self.weight, window))
        return add_bias(Z.reshape(len(X), *out, -1), self.bias)
