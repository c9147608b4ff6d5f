r"""The network of YOLO: every cell of a grid says what is centred in it, in one pass.

A cell makes B boxes, each with the logit o of there being an object, and the logits of the
classes. Without anchors these are shared by the boxes of a cell, and in cell (i, j) of a grid
of $S_w \times S_h$ cells a box has

$$x = \frac{j + σ(t_x)}{S_w}, \quad y = \frac{i + σ(t_y)}{S_h}, \quad
  \sqrt w = σ(t_w), \quad \sqrt h = σ(t_h),$$

in shares of the sides of the image. With anchors each box has its own classes and is a change of
an anchor $(a_w, a_h)$, whose centre may lie a little outside of the cell,

$$x = \frac{j + 2σ(t_x) - ½}{S_w}, \quad w = a_w e^{t_w} .$$
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.layers import Chain, Convolution, MixedPrecision
from likely.layers.composition.chain import initial_state
from likely.layers.composition.shape import output_shape
from likely.models.images.backbone import Backbone
from likely.models.settings import setting
from likely.typing import Key, State
from likely.vision.detection.networks.candidates import Candidates

MAX_LOG_SIDE = 4.0
"""Sides are at most e to this power times those of their anchor, and at least its inverse."""
FIRST_PROBABILITY = 0.02
"""The probability of an object in a box, before anything is learned."""


class Cells(NamedTuple):
    """What the cells say; s cells, b boxes in each."""

    boxes: Float[Array, "n s b 4"]
    """Corners, in shares of the sides of the image."""
    objects: Float[Array, "n s b"]
    """Logits of an object."""
    classes: Float[Array, "n s #b c"]
    """Logits of the classes."""
    raw: Float[Array, "n s b 4"]
    """What boxes are made of: t."""


class GridNetwork(eqx.Module):
    """A network from images to what each cell says.

    Args:
        layers: from images to a map with an entry for each number that a cell says.
        n_classes: c.
        n_boxes: b, the boxes of a cell.
        anchors: (width, height) of each box in shares of the sides of the image, or none.
    """

    layers: Any
    n_classes: int = eqx.field(static=True)
    n_boxes: int = eqx.field(static=True)
    anchors: tuple[tuple[float, float], ...] = eqx.field(static=True, default=())

    def initial_state(self) -> State:
        """The state of the layers."""
        return initial_state(self.layers)

    def __call__(
        self, X: Float[Array, "n h w c"], *, w=None, key=None, state: State = None
    ) -> tuple[Cells, State]:
        """What the cells say of each image."""
        out, state = self.layers(X, w=w, key=key, state=state)
        n, rows, columns, _ = out.shape
        b, c = self.n_boxes, self.n_classes
        out = out.reshape(n, rows * columns, -1)
        if self.anchors:
            out = out.reshape(n, rows * columns, b, 5 + c)
            own, classes = out[..., :5], out[..., 5:]
        else:
            own = out[..., : 5 * b].reshape(n, rows * columns, b, 5)
            classes = out[..., None, 5 * b :]
        boxes = self._boxes(own[..., :4], rows, columns)
        return Cells(boxes, own[..., 4], classes, own[..., :4]), state

    def _boxes(self, t: Float[Array, "n s b 4"], rows: int, columns: int) -> Array:
        """Corners in shares of the sides of the image."""
        i, j = jnp.divmod(jnp.arange(rows * columns), columns)
        cell = jnp.stack([j, i], -1).astype(t.dtype)[None, :, None]
        grid = jnp.array([columns, rows], t.dtype)[None, None, None]
        if self.anchors:
            place = 2 * jax.nn.sigmoid(t[..., :2]) - 0.5
            anchors = jnp.array(self.anchors, t.dtype)[None, None]
            size = anchors * jnp.exp(jnp.clip(t[..., 2:], -MAX_LOG_SIDE, MAX_LOG_SIDE))
        else:
            place = jax.nn.sigmoid(t[..., :2])
            size = jax.nn.sigmoid(t[..., 2:]) ** 2
        centre = (cell + place) / grid
        return jnp.concatenate([centre - size / 2, centre + size / 2], -1)

    def detect(self, X: Float[Array, "n h w c"], state: State = None) -> Candidates:
        """All boxes, with the probability of an object of each class in each."""
        cells, _ = self(X, state=state)
        n = len(X)
        p = jax.nn.sigmoid(cells.objects)[..., None]
        p = p * jax.nn.softmax(cells.classes, -1)
        return Candidates(cells.boxes.reshape(n, -1, 4), p.reshape(n, -1, p.shape[-1]))


class GridArchitecture(eqx.Module):
    """The settings of the network of YOLO, as plain data; `build` makes the network.

    Args:
        body: the layers from images to features.
        n_boxes: the boxes of a cell.
        anchors: (width, height) of each box in shares of the sides of the image, or none.
        dtype: the precision of the computation, such as "bfloat16".
    """

    body: Backbone = setting(Backbone())
    n_boxes: int = setting(2)
    anchors: tuple[tuple[float, float], ...] = setting(())
    dtype: str | None = setting(None)

    def build(self, shape: Sequence[int], n_classes: int, *, key: Key) -> GridNetwork:
        """The network for images of this shape.

        Args:
            shape: (h, w, c) of an image.
            n_classes: how many classes there are.
            key: the random key of the initial weights.
        """
        first, last = jax.random.split(key)
        layers = self.body.build(shape, key=first)
        wide = output_shape(layers, shape)[-1]
        b = self.n_boxes
        n_out = b * (5 + n_classes) if self.anchors else 5 * b + n_classes
        head = Convolution(wide, n_out, 1, init=("gaussian", 0.01 / wide), key=last)
        each = 5 + n_classes if self.anchors else 5
        objects = jnp.arange(4, each * b, each)
        logit = jnp.log(FIRST_PROBABILITY) - jnp.log1p(-FIRST_PROBABILITY)
        bias = jnp.zeros(n_out).at[objects].set(logit)
        head = eqx.tree_at(lambda h: h.bias, head, bias)
        layers = Chain(*layers.layers, head)
        if self.dtype is not None:
            layers = MixedPrecision(layers, self.dtype)
        return GridNetwork(layers, n_classes, b, self.anchors)
