r"""The body of a detector: an image becomes a map of features on a coarser grid."""

from collections.abc import Sequence

import equinox as eqx
import jax

from likely.core.checks import InputError
from likely.layers import Chain, Pooling
from likely.layers.units.activations import Activation
from likely.layers.units.initializers import Initializer
from likely.models.images.blocks import check_settings, convolution_block
from likely.models.settings import setting
from likely.typing import Key


class Backbone(eqx.Module):
    """The settings of the body of a detector, as plain data; `build` makes its layers.

    The first convolution takes every second position. Each stage after it is some
    convolutions; a stage but the last ends with pooling. So s stages make one cell of
    $2^{s-1}$ by $2^{s-1}$ pixels.

    Args:
        channels: the output channels of each stage.
        depth: convolutions of each stage after the first, one number for all or one for
            each; None is one in the first of them, which is the largest, and then two.
        activation: a name of `layers.ACTIVATIONS`, or (name, number), or a function.
        norm: "batch", "group" or None, after each convolution.
        init: a name of `layers.INITIALIZERS`, or ("gaussian", variance).
    """

    channels: tuple[int, ...] = setting((16, 32, 64, 128))
    depth: int | tuple[int, ...] | None = setting(None)
    activation: Activation = setting("relu")
    norm: str | None = setting("batch")
    init: Initializer = setting("he")

    def __check_init__(self):
        if len(self.channels) < 2 or any(c < 1 for c in self.channels):
            raise InputError(
                f"channels is {self.channels}; give the output channels of each stage, at "
                "least 1, for at least two stages."
            )
        if len(self.depths) != len(self.channels) - 1 or min(self.depths) < 1:
            raise InputError(
                f"depth is {self.depth} for {len(self.channels) - 1} stages after the first; "
                "give at least 1: one number for all, or one for each."
            )
        check_settings(self.norm, self.activation, None)

    @property
    def depths(self) -> tuple[int, ...]:
        """The convolutions of each stage after the first."""
        stages = len(self.channels) - 1
        if self.depth is None:
            return (1,) + (2,) * (stages - 1)
        return (self.depth,) * stages if isinstance(self.depth, int) else self.depth

    @property
    def stride(self) -> int:
        """The sides of a cell, in pixels."""
        return 2 ** (len(self.channels) - 1)

    def build(self, shape: Sequence[int], *, key: Key) -> Chain:
        """The layers from images of this shape, channels last, to a map of features.

        Args:
            shape: (h, w, c) of an image.
            key: the random key of the initial weights.
        """
        keys = iter(jax.random.split(key, 1 + sum(self.depths)))
        options = {
            "norm": self.norm, "activation": self.activation, "init": self.init,
        }  # fmt: skip
        n = self.channels[0]
        layers = convolution_block(shape[-1], n, stride=2, key=next(keys), **options)
        for stage, (wide, depth) in enumerate(
            zip(self.channels[1:], self.depths, strict=True)
        ):
            for _ in range(depth):
                layers += convolution_block(n, wide, key=next(keys), **options)
                n = wide
            if stage + 2 < len(self.channels):
                layers += [Pooling()]
        return Chain(*layers)
