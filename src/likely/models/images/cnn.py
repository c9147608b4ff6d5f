r"""Convolutional networks: stages of convolution, activation and pooling, then an MLP."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax

from likely.core.checks import InputError
from likely.layers import Chain, Flatten, MixedPrecision, Pooling
from likely.layers.composition.shape import output_shape
from likely.layers.units.activations import Activation
from likely.layers.units.initializers import Initializer
from likely.models.images.blocks import check_settings, convolution_block
from likely.models.mlp import MLP
from likely.models.settings import setting
from likely.typing import Key

Setting = Any


class CNN(eqx.Module):
    """The settings of a convolutional network, as plain data; `build` makes the network.

    A stage is convolution, norm, activation, pooling. A setting of the stages is one value
    for all of them or a tuple with one for each.

    Args:
        channels: the output channels of each stage.
        size: the size of the filters.
        stride: the stride of the convolutions.
        padding: "same", "valid" or the number of positions to add on both sides.
        groups: the channel groups of each convolution.
        pool: the size of the pooling windows; 0 is no pooling.
        pool_stride: the stride of the pooling windows; 0 is their size.
        pooling: "max", "min" or "mean".
        head: how positions become features: "flatten" keeps all of them, "mean" takes
            their mean.
        hidden: the widths of the hidden dense layers after the stages.
        activation: a name of `layers.ACTIVATIONS`, or (name, number), or a function.
        norm: "batch", "group" or None, after each convolution.
        dropout: the probability to drop a unit of the hidden dense layers.
        init: a name of `layers.INITIALIZERS`, or ("gaussian", variance).
        dtype: the precision of the computation, such as "bfloat16"; parameters keep
            theirs. None computes in the precision of the parameters.
    """

    channels: tuple[int, ...] = setting((32, 64))
    size: Setting = setting(3)
    stride: Setting = setting(1)
    padding: Setting = setting("same")
    groups: Setting = setting(1)
    pool: Setting = setting(2)
    pool_stride: Setting = setting(0)
    pooling: str = setting("max")
    head: str = setting("flatten")
    hidden: tuple[int, ...] = setting((128,))
    activation: Activation = setting("relu")
    norm: str | None = setting(None)
    dropout: float = setting(0.0)
    init: Initializer = setting("he")
    dtype: str | None = setting(None)

    def __check_init__(self):
        if not self.channels or any(c < 1 for c in self.channels):
            raise InputError(
                f"channels is {self.channels}; give the output channels of each stage, at "
                "least 1, for at least one stage."
            )
        for name in ("size", "stride", "padding", "groups", "pool", "pool_stride"):
            self._each(name)
        if self.head not in ("flatten", "mean"):
            raise InputError(f'head is {self.head!r}; give "flatten" or "mean".')
        check_settings(self.norm, self.activation, self.dtype)
        Pooling(kind=self.pooling)
        self._dense_part()

    def build(
        self, shape: Sequence[int], n_out: int, *, key: Key
    ) -> Chain | MixedPrecision:
        """The network from rows of this shape to n_out entries of η.

        Args:
            shape: the shape of one row, channels last: (h, w, c), or (t, c) for sequences.
            n_out: the number of entries of η.
            key: the random key of the initial weights.
        """
        *keys, last = jax.random.split(key, len(self.channels) + 1)
        layers, n_in, axes = [], shape[-1], len(shape) - 1
        for stage, (n, k) in enumerate(zip(self.channels, keys, strict=True)):
            layers += self._stage(stage, n_in, n, axes, k)
            n_in = n
        mean = Pooling(None, kind="mean", axes=axes)
        layers += [Flatten() if self.head == "flatten" else mean]
        (features,) = output_shape(Chain(*layers), shape)
        dense = self._dense_part().build(features, n_out, key=last)
        model = Chain(*layers, *getattr(dense, "layers", ()))
        return model if self.dtype is None else MixedPrecision(model, self.dtype)

    def _stage(self, stage: int, n_in: int, n_out: int, axes: int, key: Key) -> list:
        names = ("size", "stride", "padding", "groups")
        settings = {name: self._each(name)[stage] for name in names}
        layers = convolution_block(
            n_in,
            n_out,
            norm=self.norm,
            activation=self.activation,
            init=self.init,
            axes=axes,
            key=key,
            **settings,
        )
        window, step = self._each("pool")[stage], self._each("pool_stride")[stage]
        if not window:
            return layers
        return [*layers, Pooling(window, step or None, kind=self.pooling, axes=axes)]

    def _each(self, name: str) -> tuple:
        """The value of a setting for each stage."""
        value, count = getattr(self, name), len(self.channels)
        if not isinstance(value, tuple):
            return (value,) * count
        if len(value) != count:
            raise InputError(
                f"{name} is {value} for {count} stages; give one value for all, or {count}."
            )
        return value

    def _dense_part(self) -> MLP:
        return MLP(
            self.hidden,
            activation=self.activation,
            dropout=self.dropout,
            init=self.init,
        )


def lenet(**settings: Any) -> CNN:
    """LeNet-5 for 28x28 or (padded) 32x32 images: 61,706 parameters for ten classes."""
    defaults = {
        "channels": (6, 16),
        "size": 5,
        "padding": ("same", "valid"),
        "pooling": "mean",
        "hidden": (120, 84),
        "activation": "tanh",
        "init": "xavier",
    }
    return CNN(**(defaults | settings))


def alexnet(**settings: Any) -> CNN:
    """AlexNet for 227x227x3 images: 60,965,224 parameters at a thousand classes.

    Five convolutions, of which the second, fourth and fifth have two groups (one for each
    GPU of the original), overlapping pooling, dropout. The local response normalisation,
    which has no parameters and was soon abandoned, is left out.
    """
    defaults = {
        "channels": (96, 256, 384, 384, 256),
        "size": (11, 5, 3, 3, 3),
        "stride": (4, 1, 1, 1, 1),
        "padding": ("valid", "same", "same", "same", "same"),
        "groups": (1, 2, 1, 2, 2),
        "pool": (3, 3, 0, 0, 3),
        "pool_stride": 2,
        "hidden": (4096, 4096),
        "dropout": 0.5,
    }
    return CNN(**(defaults | settings))
