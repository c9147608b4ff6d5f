r"""Convolution over sequences and images."""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.convolution.correlation import Sliding, correlate
from likely.layers.convolution.window import Padding, margins, per_axis
from likely.layers.units.initializers import Initializer, initializer
from likely.typing import Key, State

EDGES = {"zero": "constant", "cyclic": "wrap", "reflected": "reflect"}


class Convolution(eqx.Module):
    r"""$z_{i,o} = b_o + \sum_{k,c} f_{k,c,o}\, x_{iS + kD - P,\,c}$ at each place i.

    Rows are sequences (n, t, c) or images (n, h, w, c): channels come last. The sum is a
    correlation, as all libraries of networks have it; with `flipped` it is the
    convolution of mathematics, whose filters run backwards. It learns $K^2 C C'/G + C'$
    numbers on images. A size of 1 mixes the channels alone, `groups=n_in` none of them.

    Args:
        n_in: channels in.
        n_out: channels out.
        size: K, how many positions a filter sees: for all axes, or for each.
        axes: 1 for sequences, 2 for images.
        stride: S, how far the filter moves from place to place.
        padding: "same" (as many places as positions, over S), "valid" (only where the
            whole filter fits), or P, positions to add on both sides.
        edges: what is added: "zero", "cyclic" (the other end) or "reflected" (the
            positions before the edge once more, in reverse).
        dilation: D, how far apart are the positions that a filter sees.
        groups: G, into how many groups that do not see each other the channels are cut.
        flipped: whether filters run backwards, $x_{i-k}$ in place of $x_{i+k}$.
        bias: whether there is a b.
        init: a name of `INITIALIZERS`, or ("gaussian", variance).
        key: for the first filters.
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
        self.pads = margins(padding, size, self.dilation)
        self.edges, self.flipped = edges, bool(flipped)
        self.groups = check_groups(n_in, n_out, groups)
        fans = math.prod(size) * n_in / groups, math.prod(size) * n_out / groups
        shape = (*size, n_in // self.groups, n_out)
        self.weight = first_filters(shape, fans, init, key)
        self.bias = jnp.zeros(n_out) if bias else None

    @property
    def size(self) -> tuple[int, ...]:
        """K for each axis."""
        return self.weight.shape[:-2]

    def __call__(
        self,
        X: Float[Array, "n *positions c"],
        *,
        w=None,
        key=None,
        state: State = None,
    ) -> tuple[Float[Array, "n *places o"], State]:
        """The filters at every place, and b."""
        check_channels(X, self.weight.shape[-2] * self.groups, len(self.size), self)
        pads = self.pads
        if self.edges != "zero":
            X, pads = self._extended(X), ((0, 0),) * len(pads)
        f = self.weight
        if self.flipped:
            f = jnp.flip(f, tuple(range(len(self.size))))
        how = Sliding(
            X.shape[1:-1], self.size, self.stride, pads, self.dilation, self.groups
        )
        Z = correlate(*flat(X, f, how))
        return plus_bias(Z.reshape(len(X), *how.places, -1), self.bias), state

    def _extended(self, X: Array) -> Array:
        for axis, (pad, width) in enumerate(
            zip(self.pads, X.shape[1:-1], strict=True), 1
        ):
            most = width - (self.edges == "reflected")
            if max(pad) > most:
                raise InputError(
                    f"{self.edges} padding adds {max(pad)} positions on axis {axis} of "
                    f"an input with {width}; it can add at most {most}."
                )
        return jnp.pad(X, ((0, 0), *self.pads, (0, 0)), mode=EDGES[self.edges])


# What convolution and its transpose share ---------------------------------------------


def check_axes(axes: int) -> int:
    """Refuse what is neither a sequence nor an image."""
    if axes not in (1, 2):
        raise InputError(f"axes is {axes}; give 1 for sequences or 2 for images.")
    return axes


def check_groups(n_in: int, n_out: int, groups: int) -> int:
    """Refuse groups that do not come out even."""
    if groups < 1 or n_in % groups or n_out % groups:
        raise InputError(
            f"{n_in} channels in and {n_out} out cannot be cut into {groups} groups; "
            "give a number that divides both."
        )
    return int(groups)


def first_filters(
    shape: tuple[int, ...], fans: tuple[float, float], init: Initializer, key: Key
) -> Float[Array, "*size c o"]:
    """Filters of the initialiser's law; `fans` is how many values meet in one out, in."""
    scale = initializer(init).variance(*fans) ** 0.5
    return jax.random.normal(key, shape) * scale if scale else jnp.zeros(shape)


def check_channels(X: Array, channels: int, axes: int, layer: Any) -> None:
    """Say what is wrong with the shape of a batch before it is traced any further."""
    kind = "(n, t, c)" if axes == 1 else "(n, h, w, c)"
    name = type(layer).__name__
    if X.ndim != axes + 2:
        raise InputError(
            f"{name} takes rows of shape {kind} but got {X.shape}; "
            "images without channels need one more axis, X[..., None]."
        )
    if X.shape[-1] != channels:
        first = X.shape[1] == channels
        hint = ", they seem to come first: np.moveaxis(X, 1, -1)" if first else ""
        raise InputError(
            f"{name} takes {channels} channels, the last axis of {kind}, but got "
            f"{X.shape[-1]} in shape {X.shape}{hint}."
        )


def flat(X: Array, f: Array, how: Sliding) -> tuple[Array, Array, Sliding]:
    """Images as they are; sequences as images of width 1."""
    if X.ndim == 4:
        return X, f, how
    wide = Sliding(
        (*how.positions, 1),
        (*how.size, 1),
        (*how.stride, 1),
        (*how.pads, (0, 0)),
        (*how.dilation, 1),
        how.groups,
    )
    return X[:, :, None], f[:, None], wide


def plus_bias(Z: Array, bias: Array | None) -> Array:
    """Z + b, over the last axis."""
    return Z if bias is None else Z + jnp.expand_dims(bias, range(Z.ndim - 1))
