r"""Transposed convolution: the adjoint of a strided one."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.convolution.convolution import (
    check_axes,
    check_channels,
    check_groups,
    first_filters,
    flat,
    plus_bias,
)
from likely.layers.convolution.correlation import images_of
from likely.layers.convolution.sliding import Sliding
from likely.layers.convolution.window import Padding, margins, per_axis
from likely.layers.units.initializers import Initializer
from likely.typing import Key, State


class TransposedConvolution(eqx.Module):
    r"""$z = A(x, f) + b$ with $\langle A(x, f), u\rangle = \langle x, C(u, f)\rangle$.

    Every value puts its filter, times itself, at its place; where they overlap they add
    up. C is the convolution with the same settings, from `n_out` channels to `n_in`: it
    makes S times fewer places, so its adjoint makes S times more. `weight` is the one of
    that convolution, (*size, n_out / groups, n_in).

    Args:
        n_in: channels in.
        n_out: channels out.
        size: K, for all axes or for each.
        axes: 1 for sequences, 2 for images.
        stride: S, how many positions come out for each that goes in.
        padding: "same" makes W·S positions of W; "valid" and numbers P make
            $(W-1)S + D(K-1) + 1 - 2P$, and `extra` more.
        extra: positions after the last; several sizes of C's input have W places, and
            this is the choice between them.
        dilation: D.
        groups: into how many groups that do not see each other the channels are cut.
        bias: whether there is a b.
        init: a name of `INITIALIZERS`, or ("gaussian", variance).
        key: for the first filters.
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
        self.pads = margins(padding, size, self.dilation)
        self.extra = tuple(extra) if isinstance(extra, Sequence) else (extra,) * axes
        if padding == "same":
            # W·S positions: what the last filter lacks beyond the others' margins
            self.extra = tuple(s - 1 for s in self.stride)
        if any(not 0 <= e < s for e, s in zip(self.extra, self.stride, strict=True)):
            raise InputError(
                f"extra is {extra!r} at stride {self.stride}; give 0 or more, below "
                "the stride: with more there would be one place more."
            )
        self.groups = check_groups(n_in, n_out, groups)
        met = math.prod(size) / groups / math.prod(self.stride)
        shape = (*size, n_out // self.groups, n_in)
        self.weight = first_filters(shape, (n_in * met, n_out * met), init, key)
        self.bias = jnp.zeros(n_out) if bias else None

    @property
    def size(self) -> tuple[int, ...]:
        """K for each axis."""
        return self.weight.shape[:-2]

    def positions(self, places: Sequence[int]) -> tuple[int, ...]:
        """How many positions come out along each axis."""
        return tuple(
            (n - 1) * s + d * (k - 1) + 1 - sum(pad) + e
            for n, s, d, k, pad, e in zip(
                places,
                self.stride,
                self.dilation,
                self.size,
                self.pads,
                self.extra,
                strict=True,
            )
        )

    def __call__(
        self, X: Float[Array, "n *places c"], *, w=None, key=None, state: State = None
    ) -> tuple[Float[Array, "n *positions o"], State]:
        """Every value's filter at its place, and b."""
        check_channels(X, self.weight.shape[-1], len(self.size), self)
        out = self.positions(X.shape[1:-1])
        how = Sliding(
            out, self.size, self.stride, self.pads, self.dilation, self.groups
        )
        Z = images_of(*flat(X, self.weight, how))
        return plus_bias(Z.reshape(len(X), *out, -1), self.bias), state
