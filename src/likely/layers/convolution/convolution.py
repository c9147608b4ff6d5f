r"""Convolution over sequences and images."""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.composition.layer import AbstractLayer
from likely.layers.convolution.correlation import SlidingWindow, correlate
from likely.layers.convolution.window import Padding, padding_widths, per_axis
from likely.layers.units.dense import add_bias
from likely.layers.units.initializers import Initializer, initializer
from likely.typing import Key

EDGES = {"zero": "constant", "cyclic": "wrap", "reflected": "reflect"}


class Convolution(AbstractLayer):
    r"""$z_{i,o} = b_o + \sum_{k,c} f_{k,c,o}\, x_{iS + kD - P,\,c}$ at each output position i.

    Rows are sequences (n, t, c) or images (n, h, w, c): channels come last. The sum is a
    cross-correlation, as in other deep-learning libraries; `flipped=True` gives the
    convolution of mathematics, whose filters run backwards. On images it has
    $K^2 C C'/G + C'$ parameters. `size=1` mixes only the channels; `groups=n_in` is a
    depthwise convolution, which mixes none of them.

    Args:
        n_in: the number of input channels.
        n_out: the number of output channels.
        size: K, the filter size: one number for all axes, or one for each.
        axes: 1 for sequences, 2 for images.
        stride: S, the step of the filter between output positions.
        padding: "same" (input size divided by S, rounded up), "valid" (only where the
            whole filter fits), or P, the number of positions to add on both sides.
        edges: the values of the added positions: "zero", "cyclic" (from the opposite
            edge) or "reflected" (mirrored at the edge, which is not repeated).
        dilation: D, the distance between the input positions of a filter.
        groups: G, the number of channel groups that are convolved separately.
        flipped: whether to use $x_{i-k}$ instead of $x_{i+k}$.
        bias: whether to add b.
        init: a name of `INITIALIZERS`, or ("gaussian", variance).
        key: the random key of the initial filters.
    """

    weight: Float[Array, "*size c o"]
    bias: Float[Array, " o"] | None
    stride: tuple[int, ...] = eqx.field(static=True)
    pads: tuple[tuple[int, int], ...] = eqx.field(static=True)
    edges: str = eqx.field(static=True)
    dilation: tuple[int, ...] = eqx.field(static=True)
    groups: int = eqx.field(static=True)
    flipped: bool = eqx.field(static=True)

    def __init__(
        self,
        n_in: int,
        n_out: int,
        size: int | Sequence[int] = 3,
        *,
        axes: int = 2,
        stride: int | Sequence[int] = 1,
        padding: Padding = "same",
        edges: str = "zero",
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        flipped: bool = False,
        bias: bool = True,
        init: Initializer = "he",
        key: Key,
    ):
        if edges not in EDGES:
            raise InputError(f"edges is {edges!r}; give one of {', '.join(EDGES)}.")
        size = per_axis(size, check_axes(axes), "size")
        self.stride = per_axis(stride, axes, "stride")
        self.dilation = per_axis(dilation, axes, "dilation")
        self.pads = padding_widths(padding, size, self.dilation)
        self.edges, self.flipped = edges, bool(flipped)
        self.groups = check_groups(n_in, n_out, groups)
        fans = math.prod(size) * n_in / groups, math.prod(size) * n_out / groups
        shape = (*size, n_in // self.groups, n_out)
        self.weight = initializer(init).normal(shape, *fans, key=key)
        self.bias = jnp.zeros(n_out) if bias else None

    @property
    def size(self) -> tuple[int, ...]:
        """The filter size K of each axis."""
        return self.weight.shape[:-2]

    def of(self, X: Float[Array, "n *positions c"]) -> Float[Array, "n *outputs o"]:
        """Correlate the input with the filters and add b."""
        check_channels(X, self.weight.shape[-2] * self.groups, len(self.size), self)
        pads = self.pads
        if self.edges != "zero":
            X, pads = self._extend_edges(X), ((0, 0),) * len(pads)
        f = self.weight
        if self.flipped:
            f = jnp.flip(f, tuple(range(len(self.size))))
        window = SlidingWindow(
            X.shape[1:-1], self.size, self.stride, pads, self.dilation, self.groups
        )
        Z = correlate(*as_images(X, f, window))
        return add_bias(Z.reshape(len(X), *window.output_size, -1), self.bias)

    def _extend_edges(self, X: Array) -> Array:
        for axis, (pad, width) in enumerate(
            zip(self.pads, X.shape[1:-1], strict=True), 1
        ):
            largest = width - (self.edges == "reflected")
            if max(pad) > largest:
                raise InputError(
                    f"{self.edges} padding adds {max(pad)} positions on axis {axis} of "
                    f"an input with {width}; it can add at most {largest}."
                )
        return jnp.pad(X, ((0, 0), *self.pads, (0, 0)), mode=EDGES[self.edges])


# Shared by the convolution and its transpose -------------------------------------------


def check_axes(axes: int) -> int:
    """Raise an error unless there are one or two axes of positions."""
    if axes not in (1, 2):
        raise InputError(f"axes is {axes}; give 1 for sequences or 2 for images.")
    return axes


def check_groups(n_in: int, n_out: int, groups: int) -> int:
    """Raise an error unless the groups divide both numbers of channels."""
    if groups < 1 or n_in % groups or n_out % groups:
        raise InputError(
            f"{n_in} channels in and {n_out} out cannot be cut into {groups} groups; "
            "give a number that divides both."
        )
    return int(groups)


def check_channels(X: Array, channels: int, axes: int, layer: Any) -> None:
    """Raise an error if a batch has the wrong number of axes or channels."""
    kind = "(n, t, c)" if axes == 1 else "(n, h, w, c)"
    name = type(layer).__name__
    if X.ndim != axes + 2:
        raise InputError(
            f"{name} takes rows of shape {kind} but got {X.shape}; "
            "images without channels need one more axis, X[..., None]."
        )
    if X.shape[-1] != channels:
        first = X.shape[1] == channels
        hint = "; they seem to come first: np.moveaxis(X, 1, -1)" if first else ""
        raise InputError(
            f"{name} takes {channels} channels, the last axis of {kind}, but got "
            f"{X.shape[-1]} in shape {X.shape}{hint}."
        )


def as_images(
    X: Array, f: Array, window: SlidingWindow
) -> tuple[Array, Array, SlidingWindow]:
    """Images unchanged; sequences as images of width 1."""
    if X.ndim == 4:
        return X, f, window
    wide = window._replace(
        input_size=(*window.input_size, 1),
        size=(*window.size, 1),
        stride=(*window.stride, 1),
        pads=(*window.pads, (0, 0)),
        dilation=(*window.dilation, 1),
    )
    return X[:, :, None], f[:, None], wide
