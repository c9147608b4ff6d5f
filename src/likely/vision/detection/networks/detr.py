r"""The network of DETR: a transformer from an image to a set of objects.

A body makes features, an encoder lets all positions look at each other, and a decoder turns N
object queries into N predictions, each of which looks at all positions and at the other queries.
Each query has a place in the image that it begins at; each layer of the decoder moves its box on,

$$b_l = σ(Δ_l + σ^{-1}(b_{l-1})),$$

in centres and sizes, and says its class, or that there is no object.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.layers import Chain, Dense, TransformerLayer
from likely.layers.composition.chain import initial_state
from likely.layers.composition.mixed_precision import cast
from likely.layers.composition.shape import output_shape
from likely.layers.norms.layer_norm import LayerNorm
from likely.models.images.backbone import Backbone
from likely.models.settings import setting
from likely.typing import Key, State
from likely.vision.boxes import convert
from likely.vision.detection.networks.candidates import Candidates

LONGEST = 64.0
"""The ratio of the longest to the shortest wave of the codes of places."""
FIRST_SIDE = 0.25
"""The sides of a box before anything is learned, in shares of the image."""
EDGE = 1e-4


class SetPredictions(NamedTuple):
    """What each layer of the decoder says of each query."""

    classes: Float[Array, "l n q k"]
    """Logits of each class, and last of no object."""
    boxes: Float[Array, "l n q 4"]
    """Centres and sizes, in shares of the sides of the image."""


class DETRNetwork(eqx.Module):
    """A transformer from images to a set of predictions.

    Args:
        body: from images to features.
        embed: from features to the size of the transformer.
        encoder: its layers.
        decoder: its layers.
        queries: (q, d) what queries begin with.
        places: (q, 2) where they begin, as logits.
        norm: before the heads.
        classify: the head of classes.
        move: the head of boxes.
        dtype: the precision of the transformer and the body.
    """

    body: Any
    embed: Dense
    encoder: tuple[TransformerLayer, ...]
    decoder: tuple[TransformerLayer, ...]
    queries: Float[Array, "q d"]
    places: Float[Array, "q 2"]
    norm: LayerNorm
    classify: Dense
    move: Chain
    dtype: str | None = eqx.field(static=True, default=None)

    def initial_state(self) -> State:
        """The state of the body."""
        return initial_state(self.body)

    def __call__(
        self,
        X: Float[Array, "n h w c"],
        *,
        w=None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[SetPredictions, State]:
        """What each layer of the decoder says of each image."""
        keys = [None] * 3 if key is None else list(jax.random.split(key, 3))
        wide, body, encoder = X.dtype, self.body, self.encoder
        if self.dtype is not None:
            X, body, encoder = cast((X, body, encoder), self.dtype)
        F, state = body(X, w=w, key=keys[0], state=state)
        n, h, across, _ = F.shape
        size = self.queries.shape[1]
        H = self.embed.of(F.astype(wide)).reshape(n, h * across, size)
        H = (H + place_codes(_centres(h, across, wide), size)[None]).astype(X.dtype)
        for layer, k in zip(encoder, _split(keys[1], len(encoder)), strict=True):
            H, _ = layer(H, key=k)
        return self._decode(H, wide, keys[2]), state

    def _decode(self, H: Array, wide: Any, key: Key | None) -> SetPredictions:
        """The predictions of each layer of the decoder, from encoded positions."""
        decoder = self.decoder
        if self.dtype is not None:
            decoder = cast(decoder, self.dtype)
        n, (q, size) = len(H), self.queries.shape
        Q = jnp.broadcast_to(self.queries[None], (n, q, size)).astype(H.dtype)
        first = jnp.full((q, 2), _logit(FIRST_SIDE), wide)
        box = jnp.concatenate([self.places.astype(wide), first], -1)
        box = jnp.broadcast_to(box[None], (n, q, 4))
        classes, boxes = [], []
        for layer, k in zip(decoder, _split(key, len(decoder)), strict=True):
            near = place_codes(jax.nn.sigmoid(box[..., :2]), size)
            Q, _ = layer(Q + near.astype(Q.dtype), context=H, key=k)
            seen = self.norm.of(Q.astype(wide))
            box = box + self.move(seen)[0]
            classes.append(self.classify.of(seen))
            boxes.append(jax.nn.sigmoid(box))
            box = jax.lax.stop_gradient(jnp.clip(box, _logit(EDGE), -_logit(EDGE)))
        return SetPredictions(jnp.stack(classes), jnp.stack(boxes))

    def detect(self, X: Float[Array, "n h w c"], state: State = None) -> Candidates:
        """What the last layer says."""
        found, _ = self(X, state=state)
        p = jax.nn.softmax(found.classes[-1], -1)[..., :-1]
        return Candidates(convert(found.boxes[-1], "cxcywh", "xyxy"), p)


def place_codes(at: Float[Array, "*n 2"], size: int) -> Float[Array, "*n d"]:
    """Sines and cosines of places (x, y) in shares of the image, of several wave lengths."""
    waves = size // 4
    rate = 2 * jnp.pi * LONGEST ** (jnp.arange(waves, dtype=at.dtype) / waves - 0.5)
    angle = at[..., None] * rate.reshape((1,) * at.ndim + (waves,))
    codes = jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1)
    return codes.reshape(*at.shape[:-1], 4 * waves)


def _centres(h: int, w: int, dtype: Any) -> Float[Array, "t 2"]:
    """The middles of the cells of a map."""
    y, x = jnp.meshgrid(
        (jnp.arange(h) + 0.5) / h, (jnp.arange(w) + 0.5) / w, indexing="ij"
    )
    return jnp.stack([x, y], -1).reshape(-1, 2).astype(dtype)


def _split(key: Key | None, count: int) -> list:
    return [None] * count if key is None else list(jax.random.split(key, count))


def _logit(p: float) -> float:
    return math.log(p / (1 - p))


class DETRArchitecture(eqx.Module):
    """The settings of the network of DETR, as plain data; `build` makes the network.

    Args:
        body: the layers from images to features.
        n_queries: how many objects an image may have at most, with room to spare.
        size: of a position inside of the transformer, a multiple of 4.
        n_encoders: layers of the encoder.
        n_decoders: layers of the decoder.
        n_heads: heads of attention.
        dropout: the probability to drop a value of what layers add.
        dtype: the precision of the computation, such as "bfloat16".
    """

    body: Backbone = setting(Backbone())
    n_queries: int = setting(25)
    size: int = setting(128)
    n_encoders: int = setting(2)
    n_decoders: int = setting(3)
    n_heads: int = setting(4)
    dropout: float = setting(0.0)
    dtype: str | None = setting(None)

    def build(self, shape: Sequence[int], n_classes: int, *, key: Key) -> DETRNetwork:
        """The network for images of this shape.

        Args:
            shape: (h, w, c) of an image.
            n_classes: how many classes there are.
            key: the random key of the initial weights.
        """
        keys = iter(jax.random.split(key, 7 + self.n_encoders + self.n_decoders))
        body = self.body.build(shape, key=next(keys))
        wide, size = output_shape(body, shape)[-1], self.size
        options = {"hidden": 2 * size, "dropout": self.dropout}
        encoder = tuple(
            TransformerLayer(size, self.n_heads, key=next(keys), **options)
            for _ in range(self.n_encoders)
        )
        decoder = tuple(
            TransformerLayer(size, self.n_heads, cross=True, key=next(keys), **options)
            for _ in range(self.n_decoders)
        )
        side = math.isqrt(self.n_queries - 1) + 1
        grid = _centres(side, side, jnp.float32)[: self.n_queries]
        small = ("gaussian", 0.01 / size)
        return DETRNetwork(
            body,
            Dense(wide, size, key=next(keys)),
            encoder,
            decoder,
            0.1 * jax.random.normal(next(keys), (self.n_queries, size)),
            jnp.log(grid) - jnp.log1p(-grid),
            LayerNorm(size),
            Dense(size, n_classes + 1, init=small, key=next(keys)),
            Chain(
                Dense(size, size, key=next(keys)),
                jax.nn.relu,
                Dense(size, 4, init=small, key=next(keys)),
            ),
            self.dtype,
        )
