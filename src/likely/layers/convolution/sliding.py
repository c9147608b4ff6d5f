r"""The geometry of a sliding filter, and cross-correlation by XLA's own convolution.

Images are (n, h, w, c), filters (k, l, g, o) with the g channels of a group. The plain
versions run on accelerators and are the reference of the tests for the CPU versions.
"""

from typing import NamedTuple

import jax
from jax import ShapeDtypeStruct
from jaxtyping import Array, Float

from likely.layers.convolution.window import output_sizes

Images = Float[Array, "n h w c"]
Outputs = Float[Array, "n i j o"]
Filters = Float[Array, "k l g o"]


class SlidingWindow(NamedTuple):
    """The sizes, stride, padding, dilation and groups of filters that slide over images."""

    input_size: tuple[int, ...]
    """Height and width of the images."""
    size: tuple[int, ...]
    """Height and width of the filters."""
    stride: tuple[int, ...] = (1, 1)
    pads: tuple[tuple[int, int], ...] = ((0, 0), (0, 0))
    """The number of zeros before and after the input, for each axis."""
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1
    """The number of channel groups that are convolved separately."""

    @property
    def output_size(self) -> tuple[int, ...]:
        """Height and width of the output."""
        return output_sizes(
            self.input_size, self.size, self.stride, self.pads, self.dilation
        )


def plain_correlate(x: Images, f: Filters, window: SlidingWindow) -> Outputs:
    """C(x, f), the cross-correlation."""
    return jax.lax.conv_general_dilated(
        x,
        f,
        window.stride,
        window.pads,
        rhs_dilation=window.dilation,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=window.groups,
    )


def plain_transposed(y: Outputs, f: Filters, window: SlidingWindow) -> Images:
    """A(y, f), the transpose of x ↦ C(x, f)."""
    x = ShapeDtypeStruct(
        (len(y), *window.input_size, f.shape[2] * window.groups), y.dtype
    )
    back = jax.linear_transpose(lambda x: plain_correlate(x, f, window), x)
    return back(y)[0]


def plain_filter_gradient(x: Images, y: Outputs, window: SlidingWindow) -> Filters:
    """B(x, y), the transpose of f ↦ C(x, f)."""
    shape = (*window.size, x.shape[-1] // window.groups, y.shape[-1])
    f = ShapeDtypeStruct(shape, x.dtype)
    back = jax.linear_transpose(lambda f: plain_correlate(x, f, window), f)
    return back(y)[0]
