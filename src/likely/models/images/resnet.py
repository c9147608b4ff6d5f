r"""Residual networks for images, in pre-activation order."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax

from likely.core.checks import InputError
from likely.layers import (
    Chain,
    Convolution,
    Dense,
    MixedPrecision,
    Pooling,
)
from likely.layers.units.activations import Activation
from likely.layers.units.initializers import Initializer
from likely.models.images.blocks import (
    check_settings,
    norm_and_activation,
    residual_block,
)
from likely.models.settings import setting
from likely.typing import Key


class ResNet(eqx.Module):
    r"""The settings of a residual network, as plain data; `build` makes the network.

    A convolution, then stages of blocks $h + f(h)$, then norm, activation, the mean over
    all positions and a linear layer. Each stage after the first halves the resolution.

    Args:
        widths: the channels of each stage.
        blocks: the number of blocks of a stage: one number for all, or one for each.
        activation: a name of `layers.ACTIVATIONS`, or (name, number), or a function.
        norm: "batch", "group" or None.
        zero: whether each block starts as the identity.
        dropout: the probability to drop a value inside a block.
        stem: the size and the stride of the first convolution.
        init: a name of `layers.INITIALIZERS`, or ("gaussian", variance).
        dtype: the precision of the computation, such as "bfloat16"; parameters keep
            theirs. None computes in the precision of the parameters.
    """

    widths: tuple[int, ...] = setting((16, 32, 64))
    blocks: int | tuple[int, ...] = setting(1)
    activation: Activation = setting("relu")
    norm: str | None = setting("batch")
    zero: bool = setting(False)
    dropout: float = setting(0.0)
    stem: tuple[int, int] = setting((3, 1))
    init: Initializer = setting("he")
    dtype: str | None = setting(None)

    def __check_init__(self):
        if not self.widths or any(width < 1 for width in self.widths):
            raise InputError(
                f"widths is {self.widths}; give the channels of each stage, at least 1."
            )
        if len(self._depths) != len(self.widths) or any(d < 1 for d in self._depths):
            raise InputError(
                f"blocks is {self.blocks} for {len(self.widths)} stages; give the number of "
                "blocks of a stage, at least 1: one number for all, or one for each."
            )
        check_settings(self.norm, self.activation, self.dtype)

    @property
    def _depths(self) -> tuple[int, ...]:
        if isinstance(self.blocks, int):
            return (self.blocks,) * len(self.widths)
        return self.blocks

    def build(
        self, shape: Sequence[int], n_out: int, *, key: Key
    ) -> Chain | MixedPrecision:
        """The network from rows of this shape to n_out entries of η.

        Args:
            shape: the shape of one row, channels last: (h, w, c), or (t, c) for sequences.
            n_out: the number of entries of η.
            key: the random key of the initial weights.
        """
        keys = iter(jax.random.split(key, 2 + sum(self._depths)))
        size, stride = self.stem
        width, axes = self.widths[0], len(shape) - 1
        shared = {"init": self.init, "axes": axes}
        layers: list = [
            Convolution(
                *(shape[-1], width, size),
                stride=stride,
                bias=self.norm is None,
                key=next(keys),
                **shared,
            )
        ]
        for stage, (wide, depth) in enumerate(
            zip(self.widths, self._depths, strict=True)
        ):
            for number in range(depth):
                layers += [
                    residual_block(
                        *(width, wide),
                        stride=2 if stage and not number else 1,
                        norm=self.norm,
                        activation=self.activation,
                        dropout=self.dropout,
                        zero=self.zero,
                        key=next(keys),
                        **shared,
                    )
                ]
                width = wide
        model = Chain(
            *layers,
            *norm_and_activation(self.norm, self.activation, width),
            Pooling(None, kind="mean", axes=axes),
            Dense(width, n_out, init=self.init, key=next(keys)),
        )
        return model if self.dtype is None else MixedPrecision(model, self.dtype)


def resnet8(**settings: Any) -> ResNet:
    """Three stages of one block, 16-32-64 channels: 77,850 parameters on (32, 32, 3)."""
    return ResNet(**({"widths": (16, 32, 64), "blocks": 1} | settings))


def resnet18(**settings: Any) -> ResNet:
    """Four stages of two blocks, 64-128-256-512 channels: 11.2 million parameters."""
    return ResNet(**({"widths": (64, 128, 256, 512), "blocks": 2} | settings))
