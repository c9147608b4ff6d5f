r"""The U-Net: an encoder to low resolution and a decoder back, with skip connections."""

from collections.abc import Sequence

import equinox as eqx
import jax

from likely.core.checks import InputError
from likely.layers import (
    Chain,
    Concatenated,
    Convolution,
    Dense,
    MixedPrecision,
    Pooling,
    Residual,
    TransposedConvolution,
    Upsampling,
)
from likely.layers.composition.condition import Conditional, Shifted, Sinusoids
from likely.layers.units.activations import Activation
from likely.layers.units.initializers import Initializer
from likely.models.images.blocks import check_settings, convolution_block
from likely.models.settings import setting
from likely.typing import Key

UPSAMPLINGS = ("transposed", "nearest", "bilinear")


class UNet(eqx.Module):
    """The settings of a U-Net, as plain data; `build` makes the network.

    A level has two convolutions; then the next level at half the resolution, upsampled
    again and concatenated with the output of the two convolutions; then two more
    convolutions. The last level has only two convolutions. The output has an η for each
    position: (n, h, w, k).

    Args:
        widths: the channels of each level, finest first.
        activation: a name of `layers.ACTIVATIONS`, or (name, number), or a function.
        norm: "batch", "group" or None, after each convolution.
        up: "transposed" for a transposed convolution; "nearest" or "bilinear" for
            upsampling and a convolution of size 1.
        condition: the number of features of a condition, such as a time, that each level
            gets; 0 is none. The network is then called with (X, condition), see `timed`.
        zero: whether the last convolution starts at zero.
        init: a name of `layers.INITIALIZERS`, or ("gaussian", variance).
        dtype: the precision of the computation, such as "bfloat16"; parameters keep
            theirs. None computes in the precision of the parameters.
    """

    widths: tuple[int, ...] = setting((16, 32, 64))
    activation: Activation = setting("relu")
    norm: str | None = setting(None)
    up: str = setting("transposed")
    condition: int = setting(0)
    zero: bool = setting(False)
    init: Initializer = setting("he")
    dtype: str | None = setting(None)

    def __check_init__(self):
        if not self.widths or any(width < 1 for width in self.widths):
            raise InputError(
                f"widths is {self.widths}; give the channels of each level, at least 1."
            )
        if self.up not in UPSAMPLINGS:
            raise InputError(
                f"up is {self.up!r}; give one of {', '.join(UPSAMPLINGS)}."
            )
        check_settings(self.norm, self.activation, self.dtype)

    def build(
        self, shape: Sequence[int], n_out: int, *, key: Key
    ) -> Chain | MixedPrecision:
        """The network from rows of this shape to n_out entries of η for each position.

        Args:
            shape: the shape of one row, channels last: (h, w, c), or (t, c) for sequences.
            n_out: the number of entries of η for each position.
            key: the random key of the initial weights.
        """
        halved = 2 ** (len(self.widths) - 1)
        if any(p % halved for p in shape[:-1]):
            raise InputError(
                f"{len(self.widths)} levels halve {tuple(shape[:-1])} positions "
                f"{len(self.widths) - 1} times; pad them to multiples of {halved}, or "
                "give fewer widths."
            )
        inside, last = jax.random.split(key)
        axes = len(shape) - 1
        init = "zero" if self.zero else self.init
        model = Chain(
            *self._level(0, shape[-1], axes, inside),
            Convolution(self.widths[0], n_out, 1, init=init, axes=axes, key=last),
        )
        return model if self.dtype is None else MixedPrecision(model, self.dtype)

    def _level(self, depth: int, n_in: int, axes: int, key: Key) -> list:
        """The layers from n_in channels to those of this level, with all deeper levels."""
        first, inside, up, last = jax.random.split(key, 4)
        width, down = (
            self.widths[depth],
            self._two_convolutions(n_in, depth, axes, first),
        )
        if depth + 1 == len(self.widths):
            return down
        below = [
            Pooling(axes=axes),
            *self._level(depth + 1, width, axes, inside),
            *self._up(self.widths[depth + 1], width, axes, up),
        ]
        return [
            *down,
            Concatenated(Chain(*below)),
            *self._two_convolutions(2 * width, depth, axes, last),
        ]

    def _two_convolutions(self, n_in: int, depth: int, axes: int, key: Key) -> list:
        first, second, third = jax.random.split(key, 3)
        width = self.widths[depth]
        settings = {
            "norm": self.norm,
            "activation": self.activation,
            "init": self.init,
            "axes": axes,
        }
        conditioning = []
        if self.condition:
            conditioning = [Shifted.of(self.condition, width, key=third)]
        return [
            *convolution_block(n_in, width, key=first, **settings),
            *conditioning,
            *convolution_block(width, width, key=second, **settings),
        ]

    def _up(self, n_in: int, n_out: int, axes: int, key: Key) -> list:
        if self.up == "transposed":
            return [
                TransposedConvolution(n_in, n_out, init=self.init, axes=axes, key=key)
            ]
        channels = Convolution(n_in, n_out, 1, init=self.init, axes=axes, key=key)
        return [channels, Upsampling(kind=self.up, axes=axes)]


def timed(
    settings: UNet,
    shape: Sequence[int],
    n_out: int,
    *,
    scale: float = 1.0,
    key: Key,
) -> Conditional:
    """A U-Net conditioned on a time, called with (X, t), such as a denoiser in diffusion.

    Args:
        settings: the U-Net; its `condition` is the number of features of the time.
        shape: the shape of one row, channels last.
        n_out: the number of entries of η for each position.
        scale: the factor of t; 1000 suits a t from 0 to 1.
        key: the random key of the initial weights.
    """
    size = settings.condition
    if size < 2 or size % 2:
        raise InputError(
            f"condition is {size}; give UNet(condition=...) an even number of features "
            "of the time, such as 64."
        )
    first, second, third = jax.random.split(key, 3)
    embedding = Chain(
        Sinusoids(size, scale=scale),
        Dense(size, size, key=first),
        jax.nn.silu,
        Dense(size, size, key=second),
        jax.nn.silu,
    )
    return Conditional(settings.build(shape, n_out, key=third), embedding)


def super_resolution(
    settings: UNet, shape: Sequence[int], *, scale: int = 2, key: Key
) -> Chain:
    """Images at `scale` times the resolution: bilinear upsampling plus a U-Net residual.

    With `UNet(zero=True)` it starts as bilinear interpolation.
    """
    axes, channels = len(shape) - 1, shape[-1]
    large = (*(scale * p for p in shape[:-1]), channels)
    return Chain(
        Upsampling(scale, kind="bilinear", axes=axes),
        Residual(settings.build(large, channels, key=key)),
    )
