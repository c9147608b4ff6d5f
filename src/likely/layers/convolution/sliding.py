r"""How filters slide over images, and the correlation computed plainly: the oracle.

Images are (n, h, w, c), filters (k, l, g, o) with the g
channels of a group. On accelerators the plain versions are what
runs: their libraries know these three maps.
"""

from typing import NamedTuple

import jax
from jax import ShapeDtypeStruct
from jaxtyping import Array, Float

from likely.layers.convolution.window import places

Images = Float[Array, "n h w c"]
Places = Float[Array, "n i j o"]
Filters = Float[Array, "k l g o"]


class Sliding(NamedTuple):
    """How filters move over images."""

    positions: tuple[int, ...]
    """Height and width of the images."""
    size: tuple[int, ...]
    """Height and width of the filters."""
    stride: tuple[int, ...] = (1, 1)
    pads: tuple[tuple[int, int], ...] = ((0, 0), (0, 0))
    """Zeros before and after, along each axis."""
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1
    """Channels in and out are cut into groups that do not see each other."""

    @property
    def places(self) -> tuple[int, ...]:
        """Height and width of what comes out."""
        return places(self.positions, self.size, self.stride, self.pads, self.dilation)


def plain_correlate(x: Images, f: Filters, how: Sliding) -> Places:
    """C(x, f)."""
    return jax.lax.conv_general_dilated(
        x,
        f,
        how.stride,
        how.pads,
        rhs_dilation=how.dilation,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=how.groups,
    )


def plain_images(y: Places, f: Filters, how: Sliding) -> Images:
    """A(y, f), the transpose of x ↦ C(x, f)."""
    x = ShapeDtypeStruct((len(y), *how.positions, f.shape[2] * how.groups), y.dtype)
    back = jax.linear_transpose(lambda x: plain_correlate(x, f, how), x)
    return back(y)[0]


def plain_filters(x: Images, y: Places, how: Sliding) -> Filters:
    """B(x, y), the transpose of f ↦ C(x, f)."""
    shape = (*how.size, x.shape[-1] // how.groups, y.shape[-1])
    f = ShapeDtypeStruct(shape, x.dtype)
    back = jax.linear_transpose(lambda f: plain_correlate(x, f, how), f)
    return back(y)[0]
