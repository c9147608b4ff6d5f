r"""What DETR minimises: the loss of the best assignment of objects to predictions.

Object i with class c and box b costs at query q

$$-p_q(c) + λ_1 \lVert b - b_q \rVert_1 - λ_2\,\mathrm{GIoU}(b, b_q).$$

The Hungarian method finds the assignment of least cost; then the loss is, for queries with an
object, $-\log p_q(c) + λ_1 \lVert b - b_q \rVert_1 + λ_2 (1 - \mathrm{GIoU})$, and for each of
the others the negative log-probability of no object, times a weight. All layers of the decoder are
judged alike, each with an assignment of its own. No two predictions can be of the same object, so
that little has to be suppressed afterwards.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.typing import Batch, Key, State
from likely.vision.boxes import convert, giou
from likely.vision.detection.losses.assignment import assign
from likely.vision.detection.targets import Objects, unpacked


class SetLoss(eqx.Module):
    """The loss of each image, given a `DETRNetwork`.

    Args:
        distance: λ₁.
        overlap: λ₂.
        no_object: the weight of queries without an object.
    """

    distance: Any = 5.0
    overlap: Any = 2.0
    no_object: Any = 0.1

    def __call__(
        self,
        model: Any,
        batch: Batch,
        *,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, " n"], State]:
        """The losses of the images of a batch, summed over layers, and the state."""
        found, state = model(batch.x, w=batch.w, key=key, state=state)
        objects = unpacked(batch.y)
        layers = len(found.classes)
        n = len(batch.x)
        every = jax.tree.map(
            lambda a: jnp.tile(a, (layers, *[1] * (a.ndim - 1))), objects
        )
        logits = found.classes.reshape(layers * n, *found.classes.shape[2:])
        boxes = found.boxes.reshape(layers * n, *found.boxes.shape[2:])
        return self.set_loss(logits, boxes, every).reshape(layers, n).sum(0), state

    def set_loss(
        self,
        logits: Float[Array, "n q k"],
        boxes: Float[Array, "n q 4"],
        objects: Objects,
    ) -> Float[Array, " n"]:
        """The loss of the best assignment of each image.

        Args:
            logits: of the classes, and last of no object.
            boxes: centres and sizes.
            objects: of the images.
        """
        present, codes = objects.present, objects.codes
        logs = jax.nn.log_softmax(logits, -1)
        l1, l2 = (jnp.asarray(a, boxes.dtype) for a in (self.distance, self.overlap))
        chosen = assign(jax.lax.stop_gradient(self.cost(logs, boxes, objects)))
        own = jnp.take_along_axis(boxes, chosen[..., None], 1)  # (n, m, 4)
        said = jnp.take_along_axis(logs, chosen[..., None], 1)
        named = -jnp.take_along_axis(said, codes[..., None], -1)[..., 0]
        true = convert(objects.boxes, "xyxy", "cxcywh")
        corners = convert(own, "cxcywh", "xyxy")
        far = l1 * jnp.abs(own - true).sum(-1)
        far = far + l2 * (1 - giou(corners, objects.boxes, pairwise=False))
        taken = jax.nn.one_hot(chosen, boxes.shape[1], dtype=boxes.dtype)
        taken = (taken * present[..., None]).sum(1)
        none = jnp.asarray(self.no_object, boxes.dtype) * ((taken - 1) * logs[..., -1])
        return (present * (named + far)).sum(1) + none.sum(1)

    def cost(
        self,
        logs: Float[Array, "n q k"],
        boxes: Float[Array, "n q 4"],
        objects: Objects,
    ) -> Float[Array, "n m q"]:
        """What each query costs for each object; nothing where there is no object."""
        l1, l2 = (jnp.asarray(a, boxes.dtype) for a in (self.distance, self.overlap))
        p = jnp.exp(jnp.swapaxes(logs, 1, 2))  # (n, k, q)
        named = jnp.take_along_axis(p, objects.codes[..., None], 1)
        true = convert(objects.boxes, "xyxy", "cxcywh")
        far = jnp.abs(true[:, :, None] - boxes[:, None]).sum(-1)
        corners = convert(boxes, "cxcywh", "xyxy")
        cost = l1 * far - l2 * giou(objects.boxes, corners) - named
        return jnp.where(objects.present[..., None] > 0, cost, 0.0)
