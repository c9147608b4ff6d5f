r"""Encoders and decoders: rows to codes, and codes to rows; dense, or convolutional.

A convolutional encoder halves an image in each stage (filters of 4 × 4 at stride 2) and hands
what is left to a perceptron; its decoder is the mirror image with transposed convolutions.
What a row is conditioned on joins the features before the perceptron, and the code.
"""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers import Chain, Dense, Flatten, TransposedConvolution, activation
from likely.layers.composition.layer import AbstractLayer
from likely.layers.composition.shape import output_shape
from likely.layers.units.activations import Activation
from likely.layers.units.initializers import Initializer
from likely.models import CNN, MLP
from likely.models.settings import setting
from likely.typing import Key

FILTER, STRIDE, PADDING = 4, 2, 1
LAST_LAYER_INIT = ("gaussian", 1e-3)
"""The initialisation of last layers: codes near the prior, rows near the mean row."""
TABLE_HIDDEN, IMAGE_HIDDEN = (64,), (256,)


class Shaped(AbstractLayer):
    """Rows of another shape with the same numbers."""

    shape: tuple[int, ...] = eqx.field(static=True)

    def of(self, X: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        """Reshape each row."""
        return X.reshape(len(X), *self.shape)


class Cropped(AbstractLayer):
    """The first rows and columns of images."""

    height: int = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def of(self, X: Float[Array, "n h w c"]) -> Float[Array, "n a b c"]:
        """Cut off what is beyond."""
        return X[:, : self.height, : self.width]


class Encoder(eqx.Module):
    """Stages for images, if any, then a perceptron that also sees what is given.

    A linear shortcut beside them is where a variational autoencoder begins.
    """

    front: Chain | None
    dense: Chain
    linear: Dense | None = None

    def __call__(
        self, X: Float[Array, "n ..."], given: Float[Array, "n g"]
    ) -> Float[Array, "n o"]:
        """The numbers of each row."""
        flat = X.reshape(len(X), -1)
        if self.front is not None:
            X, _ = self.front(X)
        out, _ = self.dense(_joined(X, given))
        return (
            out if self.linear is None else out + self.linear(_joined(flat, given))[0]
        )

    @property
    def chain(self) -> Chain:
        """One layer after another, where nothing is given."""
        stages = () if self.front is None else self.front.layers
        return Chain(*stages, *self.dense.layers)


class Decoder(eqx.Module):
    """A perceptron of code and condition, then stages up to an image, if any."""

    dense: Chain
    back: Chain | None
    linear: Dense | None = None

    def __call__(
        self, Z: Float[Array, "n k"], given: Float[Array, "n g"]
    ) -> Float[Array, "n o"]:
        """The numbers of each row, flat: pixel after pixel."""
        code = _joined(Z, given)
        out, _ = self.dense(code)
        if self.back is not None:
            out = self.back(out)[0].reshape(len(out), -1)
        return out if self.linear is None else out + self.linear(code)[0]

    @property
    def chain(self) -> Chain:
        """One layer after another, where nothing is given; images have their shape."""
        stages = () if self.back is None else self.back.layers
        return Chain(*self.dense.layers, *stages)


class DenseCoder(eqx.Module):
    """The settings of dense encoders and decoders, as plain data.

    Args:
        hidden: widths of the encoder's hidden layers; the decoder has them in reverse.
        activation: between the layers.
        last: the initialisation of the last layers.
    """

    hidden: tuple[int, ...] = setting((128,))
    activation: Activation = setting("relu")
    last: Initializer = setting("he")

    def encoder(
        self, shape: Sequence[int], n_given: int, n_out: int, key: Key
    ) -> Encoder:
        """From rows of this shape, which has one axis, and n_given conditions."""
        dense = self._perceptron(self.hidden, shape[0] + n_given, n_out, key)
        return Encoder(None, dense)

    def decoder(self, n_in: int, n_out: int, shape: Sequence[int], key: Key) -> Decoder:
        """From n_in numbers, a code and conditions, to n_out numbers."""
        return Decoder(self._perceptron(self.hidden[::-1], n_in, n_out, key), None)

    def _perceptron(
        self, hidden: tuple[int, ...], n_in: int, n_out: int, key: Key
    ) -> Chain:
        network = MLP(hidden, self.activation, output_init=self.last)
        return _built(network, n_in, n_out, key)


class ConvolutionalCoder(eqx.Module):
    """The settings of convolutional encoders and decoders, as plain data.

    Args:
        channels: the channels of each stage, each of which halves the image.
        hidden: widths of the dense layers between the stages and the code.
        activation: between the layers.
        last: the initialisation of the last layers.
        init: the initialisation of all others.
    """

    channels: tuple[int, ...] = setting((32, 64))
    hidden: tuple[int, ...] = setting((256,))
    activation: Activation = setting("relu")
    last: Initializer = setting("he")
    init: Initializer = setting("he")

    @property
    def network(self) -> CNN:
        """The encoder as a network of images, whose last layer is the code."""
        return CNN(
            self.channels,
            FILTER,
            STRIDE,
            PADDING,
            pool=0,
            hidden=self.hidden,
            activation=self.activation,
            init=self.init,
        )

    def encoder(
        self, shape: Sequence[int], n_given: int, n_out: int, key: Key
    ) -> Encoder:
        """From images (h, w, c) and n_given conditions."""
        front, dense = jax.random.split(key)
        whole = _built(self.network, shape, n_out, front)
        flat = next(i for i, x in enumerate(whole.layers) if isinstance(x, Flatten))
        stages = Chain(*whole.layers[: flat + 1])
        (features,) = output_shape(stages, shape)
        network = MLP(
            self.hidden, self.activation, init=self.init, output_init=self.last
        )
        return Encoder(stages, _built(network, features + n_given, n_out, dense))

    def decoder(self, n_in: int, n_out: int, shape: Sequence[int], key: Key) -> Decoder:
        """From n_in numbers to n_out numbers, as many for each pixel."""
        first, *keys = jax.random.split(key, len(self.channels) + 1)
        height, width = shape[:2]
        small = [-(-s // STRIDE ** len(keys)) for s in (height, width)]
        grid = (*small, self.channels[-1])
        widths = [*self.channels[::-1], n_out // (height * width)]
        layers: list[Any] = [Shaped(grid)]
        for j, k in enumerate(keys):
            last = j + 1 == len(keys)
            up = TransposedConvolution(
                widths[j],
                widths[j + 1],
                FILTER,
                stride=STRIDE,
                padding=PADDING,
                init=self.last if last else self.init,
                key=k,
            )
            layers += [activation(self.activation, widths[j]), up]
        network = MLP(self.hidden[::-1], self.activation, init=self.init)
        dense = _built(network, n_in, math.prod(grid), first)
        return Decoder(dense, Chain(*layers, Cropped(height, width)))


def coder_of(
    shape: Sequence[int],
    channels: Any,
    hidden: Any,
    activation: Activation,
    *,
    last: Initializer = LAST_LAYER_INIT,
    init: Initializer = "he",
) -> tuple[Any, tuple[int, ...]]:
    """The networks for rows of a shape, and the shape in which they take rows.

    Args:
        shape: of a row; (h, w, c) for images.
        channels: of the convolutional stages; None makes networks dense.
        hidden: widths of the dense layers, or "auto".
        activation: between the layers.
        last: the initialisation of the last layers.
        init: that of the others, of convolutional networks.
    """
    convolutional = len(shape) == 3 and channels is not None
    if isinstance(hidden, str):
        if hidden != "auto":
            raise InputError(
                f'hidden_layer_sizes is {hidden!r}; give numbers, or "auto".'
            )
        hidden = IMAGE_HIDDEN if len(shape) == 3 else TABLE_HIDDEN
    widths = tuple(int(h) for h in np.ravel(np.asarray(hidden, int)))
    if not convolutional:
        return DenseCoder(widths, activation, last), (math.prod(shape),)
    stages = tuple(int(c) for c in np.ravel(np.asarray(channels, int)))
    least = 2 ** len(stages)
    if min(shape[:2]) < least:
        raise InputError(
            f"channels is {stages}, and {len(stages)} stages halve images of "
            f"{shape[0]} x {shape[1]} to nothing; give fewer stages, or None."
        )
    return ConvolutionalCoder(stages, widths, activation, last, init), tuple(shape)


def _built(network: MLP | CNN, n_in: Any, n_out: int, key: Key) -> Chain:
    """A network in one precision, whose layers can be taken apart."""
    found = network.build(n_in, n_out, key=key)
    assert isinstance(found, Chain)
    return found


def _joined(X: Array, given: Array) -> Array:
    return X if not given.shape[1] else jnp.concatenate([X, given], 1)
