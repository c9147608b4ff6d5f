r"""Convolutional networks: convolve, bend, pool, again; then a perceptron."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax

from likely.core.checks import InputError
from likely.layers import Chain, Flatten, MixedPrecision, Pooling, activation
from likely.layers.composition.mixed_precision import check_dtype
from likely.layers.composition.shape import output_shape
from likely.layers.units.activations import Activation
from likely.layers.units.initializers import Initializer
from likely.models.images.blocks import as_tuple, check_norm, convolution_block
from likely.models.mlp import MLP
from likely.typing import Key

Setting = Any


class CNN(eqx.Module):
    """The settings of a convolutional network, as plain data; `build` makes it.

    A stage is convolution, norm, activation, pooling. A setting of the stages is one for
    all of them or a tuple with one for each.

    Args:
        channels: what each stage makes.
        size: of the filters.
        stride: of the filters.
        padding: "same", "valid" or how many positions to add on both sides.
        groups: of the channels in each convolution.
        pool: the windows of the pooling; 0 is none.
        pool_stride: how far these move; 0 is as far as they are wide.
        pooling: "max", "min" or "mean".
        head: "flatten" hands all positions to the perceptron, "mean" their mean.
        hidden: the widths of the perceptron's hidden layers.
        activation: a name of `layers.ACTIVATIONS`, or (name, number), or a function.
        norm: "batch", "group" or None, after each convolution.
        dropout: the probability to drop a hidden unit of the perceptron.
        init: a name of `layers.INITIALIZERS`, or ("gaussian", variance).
        dtype: what to compute in, such as "bfloat16", while parameters keep their
            precision; None is that of the parameters.
    """

    channels: tuple[int, ...] = eqx.field(
        static=True, converter=as_tuple, default=(32, 64)
    )
    size: Setting = eqx.field(static=True, converter=as_tuple, default=3)
    stride: Setting = eqx.field(static=True, converter=as_tuple, default=1)
    padding: Setting = eqx.field(static=True, converter=as_tuple, default="same")
    groups: Setting = eqx.field(static=True, converter=as_tuple, default=1)
    pool: Setting = eqx.field(static=True, converter=as_tuple, default=2)
    pool_stride: Setting = eqx.field(static=True, converter=as_tuple, default=0)
    pooling: str = eqx.field(static=True, default="max")
    head: str = eqx.field(static=True, default="flatten")
    hidden: tuple[int, ...] = eqx.field(static=True, converter=as_tuple, default=(128,))
    activation: Activation = eqx.field(static=True, converter=as_tuple, default="relu")
    norm: str | None = eqx.field(static=True, default=None)
    dropout: float = eqx.field(static=True, default=0.0)
    init: Initializer = eqx.field(static=True, converter=as_tuple, default="he")
    dtype: str | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        if not self.channels or any(c < 1 for c in self.channels):
            raise InputError(
                f"channels is {self.channels}; give how many channels each stage makes, "
                "at least 1, of at least one stage."
            )
        for name in ("size", "stride", "padding", "groups", "pool", "pool_stride"):
            self._each(name)
        if self.head not in ("flatten", "mean"):
            raise InputError(f'head is {self.head!r}; give "flatten" or "mean".')
        check_norm(self.norm)
        activation(self.activation, 1)
        Pooling(kind=self.pooling)
        self._perceptron()
        check_dtype(self.dtype or "float32")

    def build(
        self, shape: Sequence[int], n_out: int, *, key: Key
    ) -> Chain | MixedPrecision:
        """The network from rows of this shape to n_out entries of η.

        Args:
            shape: of one row, channels last: (h, w, c), or (t, c) for sequences.
            n_out: entries of η.
            key: for the first weights.
        """
        *keys, last = jax.random.split(key, len(self.channels) + 1)
        layers, n_in, axes = [], shape[-1], len(shape) - 1
        for stage, (n, k) in enumerate(zip(self.channels, keys, strict=True)):
            layers += self._stage(stage, n_in, n, axes, k)
            n_in = n
        mean = Pooling(None, kind="mean", axes=axes)
        layers += [Flatten() if self.head == "flatten" else mean]
        (features,) = output_shape(Chain(*layers), shape)
        perceptron = self._perceptron().build(features, n_out, key=last)
        model = Chain(*layers, *getattr(perceptron, "layers", ()))
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
        """A setting for each stage."""
        value, count = getattr(self, name), len(self.channels)
        if not isinstance(value, tuple):
            return (value,) * count
        if len(value) != count:
            raise InputError(
                f"{name} is {value} for {count} stages; give one for all, or {count}."
            )
        return value

    def _perceptron(self) -> MLP:
        return MLP(
            self.hidden,
            activation=self.activation,
            dropout=self.dropout,
            init=self.init,
        )


def lenet(**settings: Any) -> CNN:
    """LeNet-5 for 28x28 or (padded) 32x32 images: 61,706 parameters, ten classes."""
    lecun = {
        "channels": (6, 16),
        "size": 5,
        "padding": ("same", "valid"),
        "pooling": "mean",
        "hidden": (120, 84),
        "activation": "tanh",
        "init": "xavier",
    }
    return CNN(**(lecun | settings))


def alexnet(**settings: Any) -> CNN:
    """AlexNet for 227x227x3 images: 60,965,224 parameters at a thousand classes.

    Five convolutions, of which the second, fourth and fifth are in two groups (the two
    cards of 2012), overlapping pooling, dropout. Its local response normalisation, which
    learns nothing and was soon dropped, is left out.
    """
    krizhevsky = {
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
    return CNN(**(krizhevsky | settings))
