"""Denoisers: networks from noised rows, the time and a condition to an estimate of the noise.

All are called with (x, t, c): x (n, ...) noised rows, t (n,) times as shares from 0 to 1,
c (n, g) conditions, and answer with an array of the shape of x.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.layers import Chain, Dense
from likely.layers.attention.positions import LearnedPositions
from likely.layers.attention.transformer import TransformerLayer
from likely.layers.composition.condition import Sinusoids, bind_condition
from likely.layers.norms.layer_norm import LayerNorm
from likely.models import MLP
from likely.models.images.unet import UNet
from likely.models.sequence.transformer import GPT2_INIT, transformer_layers
from likely.typing import Key

TIME_SCALE = 1000.0
"""What times from 0 to 1 are multiplied by before their sines and cosines."""
TIME_FEATURES = 64
PLACES = 4
"""Learned channels that tell places of an image apart, of U-Nets."""
DENOISERS = ("mlp", "unet", "transformer")


class Condition(eqx.Module):
    """Features of the time and of what rows are conditioned on: one vector for each row."""

    time: Chain
    given: Dense | None

    @classmethod
    def build(cls, size: int, n_given: int, *, key: Key) -> "Condition":
        """With first weights, for n_given columns of conditions."""
        k1, k2, k3 = jax.random.split(key, 3)
        time = Chain(
            Sinusoids(TIME_FEATURES, scale=TIME_SCALE),
            Dense(TIME_FEATURES, size, key=k1),
            jax.nn.silu,
            Dense(size, size, key=k2),
        )
        return cls(time, Dense(n_given, size, key=k3) if n_given else None)

    def __call__(
        self, t: Float[Array, " n"], c: Float[Array, "n g"]
    ) -> Float[Array, "n e"]:
        """The features."""
        found = self.time(t)[0]
        if self.given is not None:
            found = found + self.given.of(c)
        return jax.nn.silu(found)


class MLPDenoiser(eqx.Module):
    """A perceptron with shortcuts, of the row beside its features of time and condition."""

    condition: Condition
    network: Any

    def __call__(
        self,
        x: Float[Array, "n ..."],
        t: Float[Array, " n"],
        c: Float[Array, "n g"],
        *,
        key: Key | None = None,
    ) -> Float[Array, "n ..."]:
        """The estimate for each row."""
        flat = x.reshape(len(x), -1)
        inputs = jnp.concatenate([flat, self.condition(t, c)], 1)
        return self.network(inputs, key=key)[0].reshape(x.shape)


class UNetDenoiser(eqx.Module):
    """A U-Net whose every level gets the features of time and condition.

    With patches of p x p pixels it works at 1/p of the resolution, where the pixels of a patch
    are channels: about p² times fewer operations for as many channels inside. Convolutions
    treat all places alike, so a few learned channels beside the image tell them apart.
    """

    condition: Condition
    network: Any
    places: Float[Array, "h w e"]
    margin: tuple[int, int] = eqx.field(static=True)
    """Pixels added below and to the right, so that sides can be halved."""
    patch: int = eqx.field(static=True, default=1)

    def __call__(
        self,
        x: Float[Array, "n h w c"],
        t: Float[Array, " n"],
        c: Float[Array, "n g"],
        *,
        key: Key | None = None,
    ) -> Float[Array, "n h w c"]:
        """The estimate for each image."""
        h, w = x.shape[1:3]
        down, right = self.margin
        x = jnp.pad(x, ((0, 0), (0, down), (0, right), (0, 0)))
        p, shape = self.patch, x.shape
        x = cut(x, p).reshape(len(x), shape[1] // p, shape[2] // p, -1)
        places = jnp.broadcast_to(self.places, (len(x), *self.places.shape))
        bound = bind_condition(self.network, self.condition(t, c))
        found = bound(jnp.concatenate([x, places.astype(x.dtype)], -1), key=key)[0]
        found = found.reshape(len(x), -1, x.shape[-1])
        return join(found, shape, p)[:, :h, :w]


class PatchDenoiser(eqx.Module):
    """A transformer over patches of images, or over the numbers of a row."""

    condition: Condition
    patches: Dense
    positions: LearnedPositions
    layers: tuple[TransformerLayer, ...]
    norm: LayerNorm
    output: Dense
    patch: int = eqx.field(static=True)

    def __call__(
        self,
        x: Float[Array, "n ..."],
        t: Float[Array, " n"],
        c: Float[Array, "n g"],
        *,
        key: Key | None = None,
    ) -> Float[Array, "n ..."]:
        """The estimate for each row."""
        H = self.patches.of(cut(x, self.patch)) + self.positions.weight[None]
        H = H + self.condition(t, c)[:, None]
        keys = [None] * len(self.layers)
        if key is not None:
            keys = list(jax.random.split(key, len(self.layers)))
        for layer, each in zip(self.layers, keys, strict=True):
            H, _ = layer(H, key=each)
        return join(self.output.of(self.norm(H)[0]), x.shape, self.patch)


def cut(x: Float[Array, "n ..."], p: int) -> Float[Array, "n t e"]:
    """Patches of p x p pixels, row by row; the numbers of a flat row one by one."""
    if x.ndim == 2:
        return x[..., None]
    n, h, w, c = x.shape
    x = x.reshape(n, h // p, p, w // p, p, c)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(n, -1, p * p * c)


def join(
    patches: Float[Array, "n t e"], shape: tuple[int, ...], p: int
) -> Float[Array, "n ..."]:
    """Rows of this shape from their patches: the way back of `cut`."""
    if len(shape) == 2:
        return patches.reshape(shape)
    n, h, w, c = shape
    x = patches.reshape(n, h // p, w // p, p, p, c)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(shape)


class DenoiserSettings(eqx.Module):
    """The settings of a denoiser, as plain data; `build` makes the network.

    Args:
        kind: one of `DENOISERS`.
        sizes: widths of hidden layers, channels of the levels of a U-Net, or (size of a
            position, number of layers, number of heads) of a transformer.
        patch: the side of a patch, of U-Nets and transformers.
        dropout: the probability to drop a hidden unit, of perceptrons and transformers.
    """

    kind: str = eqx.field(static=True)
    sizes: tuple[int, ...] = eqx.field(static=True)
    patch: int = eqx.field(static=True, default=4)
    dropout: float = eqx.field(static=True, default=0.0)

    def build(self, row: tuple[int, ...], n_given: int, *, key: Key) -> Any:
        """The network for rows of this shape.

        Args:
            row: (D,) or (h, w, c).
            n_given: columns of the condition.
            key: of the first weights.
        """
        first, then = jax.random.split(key)
        if self.kind == "mlp":
            return self._perceptron(row, n_given, first, then)
        if self.kind == "unet":
            return self._unet(row, n_given, first, then)
        return self._transformer(row, n_given, first, then)

    def _perceptron(self, row: tuple[int, ...], n_given: int, *keys: Key) -> Any:
        size = 1
        for side in row:
            size *= side
        settings = MLP(
            self.sizes,
            activation="silu",
            residual=True,
            dropout=self.dropout,
            output_init="zero",
        )
        network = settings.build(size + TIME_FEATURES, size, key=keys[1])
        return MLPDenoiser(
            Condition.build(TIME_FEATURES, n_given, key=keys[0]), network
        )

    def _unet(self, row: tuple[int, ...], n_given: int, *keys: Key) -> Any:
        h, w, c = row
        p = self.patch
        halved = p * 2 ** (len(self.sizes) - 1)
        margin = (-h % halved, -w % halved)
        settings = UNet(
            self.sizes,
            activation="silu",
            norm="group",
            up="nearest",
            condition=TIME_FEATURES,
            zero=True,
        )
        sides, channels = ((h + margin[0]) // p, (w + margin[1]) // p), c * p * p
        inside, around = jax.random.split(keys[1])
        network = settings.build((*sides, channels + PLACES), channels, key=inside)
        condition = Condition.build(TIME_FEATURES, n_given, key=keys[0])
        places = jax.random.normal(around, (*sides, PLACES))
        return UNetDenoiser(condition, network, places, margin, p)

    def _transformer(self, row: tuple[int, ...], n_given: int, *keys: Key) -> Any:
        size, n_layers, n_heads = self.sizes
        k1, k2, k3 = jax.random.split(keys[1], 3)
        flat = len(row) == 1
        p = 1 if flat else self.patch
        count = row[0] if flat else (row[0] // p) * (row[1] // p)
        entries = 1 if flat else p * p * row[2]
        return PatchDenoiser(
            Condition.build(size, n_given, key=keys[0]),
            Dense(entries, size, key=k1),
            LearnedPositions(count, size, key=k2),
            transformer_layers(
                size, n_layers, n_heads, norm="layer", epsilon=1e-6,
                dropout=self.dropout, init=GPT2_INIT, key=k3,
            ),
            LayerNorm(size),
            Dense(size, entries, init="zero", key=k1),
            p,
        )  # fmt: skip
