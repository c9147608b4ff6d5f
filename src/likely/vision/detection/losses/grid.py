r"""What YOLO minimises.

Each object belongs to the cell that its centre is in, and there to one box: without anchors the
one that overlaps the object most, with anchors the one whose anchor has the most similar shape.
With $\mathbb 1_k = 1$ for the boxes k that an object belongs to, the squared loss of an image is

$$λ_{coord} \sum_k \mathbb 1_k \bigl[(x_k - \hat x_k)^2 + (y_k - \hat y_k)^2
  + (\sqrt{w_k} - \sqrt{\hat w_k})^2 + (\sqrt{h_k} - \sqrt{\hat h_k})^2\bigr]
  + \sum_k \mathbb 1_k (C_k - \mathrm{IoU}_k)^2 + λ_{noobj} \sum_k (1 - \mathbb 1_k) C_k^2
  + \sum_k \mathbb 1_k \sum_c (p_{kc} - \hat p_{kc})^2,$$

with places x, y in units of a cell and sizes in shares of the image. The likelihood has the same
parts: objects are Bernoulli, classes are categorical, and boxes have the loss
$λ_{coord}(1 - \mathrm{GIoU})$, which is no likelihood, but asks for what a detection is judged by.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.typing import Batch, Key, State
from likely.vision.boxes import giou, iou
from likely.vision.detection.networks.grid import Cells
from likely.vision.detection.targets import Objects, unpacked

TINY = 1e-6


class GridLoss(eqx.Module):
    """The loss of each image, given a `GridNetwork`.

    Args:
        grid: (rows, columns) of cells.
        kind: "likelihood" or "squared".
        coordinates: λ_coord.
        no_object: λ_noobj.
    """

    grid: tuple[int, int] = eqx.field(static=True)
    kind: str = eqx.field(static=True, default="likelihood")
    coordinates: Any = 5.0
    no_object: Any = 0.5

    def __call__(
        self,
        model: Any,
        batch: Batch,
        *,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, " n"], State]:
        """The losses of the images of a batch, and the state."""
        cells, state = model(batch.x, w=batch.w, key=key, state=state)
        objects = unpacked(batch.y)
        where = self.cells_of(objects)
        own = self._gathered(cells, where)  # (n, m, b, ...)
        chosen = self.responsible(model, own, objects)
        own = jax.tree.map(lambda a: _chosen(a, chosen), own)  # (n, m, ...)
        taken = jnp.einsum("nms,nmb->nsb", where * objects.present[..., None], chosen)
        losses = self._squared if self.kind == "squared" else self._likelihood
        return losses(cells, own, objects, jnp.minimum(taken, 1.0)), state

    def cells_of(self, objects: Objects) -> Float[Array, "n m s"]:
        """1 for the cell that the centre of each object is in."""
        rows, columns = self.grid
        low, high = objects.boxes[..., :2], objects.boxes[..., 2:]
        shape = jnp.array([columns, rows], low.dtype)[None, None]
        at = jnp.clip(jnp.floor((low + high) / 2 * shape), 0, shape - 1)
        number = (at[..., 1] * columns + at[..., 0]).astype(int)
        return jax.nn.one_hot(number, rows * columns, dtype=low.dtype)

    def _gathered(self, cells: Cells, where: Float[Array, "n m s"]) -> Cells:
        """What the cells of the objects say."""
        b = cells.objects.shape[-1]
        classes = jnp.broadcast_to(
            cells.classes, (*cells.objects.shape, cells.classes.shape[-1])
        )
        every = jnp.concatenate(
            [cells.boxes, cells.raw, cells.objects[..., None], classes], -1
        )
        found = jnp.einsum(
            "nms,nsk->nmk", where, every.reshape(*every.shape[:2], -1)
        ).reshape(*where.shape[:2], b, -1)
        return Cells(found[..., :4], found[..., 8], found[..., 9:], found[..., 4:8])

    def responsible(
        self, model: Any, own: Cells, objects: Objects
    ) -> Float[Array, "n m b"]:
        """1 for the box of its cell that each object belongs to."""
        b = own.objects.shape[-1]
        truth = jnp.broadcast_to(objects.boxes[:, :, None], own.boxes.shape)
        if model.anchors:
            side = truth[..., 2:] - truth[..., :2]
            anchors = jnp.array(model.anchors, side.dtype)[None, None]
            anchors = jnp.broadcast_to(anchors, side.shape)
            shared = jnp.minimum(side, anchors).prod(-1)
            overlap = shared / (side.prod(-1) + anchors.prod(-1) - shared + TINY)
        else:
            overlap = iou(own.boxes, truth, pairwise=False)
        best = jnp.argmax(jax.lax.stop_gradient(overlap), -1)
        return jax.nn.one_hot(best, b, dtype=own.boxes.dtype)

    def _likelihood(
        self, cells: Cells, own: Cells, objects: Objects, taken: Float[Array, "n s b"]
    ) -> Float[Array, " n"]:
        present, dtype = objects.present, own.boxes.dtype
        box = 1 - giou(own.boxes, objects.boxes, pairwise=False)
        logs = jax.nn.log_softmax(own.classes, -1)
        named = -jnp.take_along_axis(logs, objects.codes[..., None], -1)[..., 0]
        found = jnp.asarray(self.coordinates, dtype) * box + named
        found = found + jax.nn.softplus(-own.objects)
        empty = (jax.nn.softplus(cells.objects) * (1 - taken)).sum((1, 2))
        return (present * found).sum(1) + jnp.asarray(self.no_object, dtype) * empty

    def _squared(
        self, cells: Cells, own: Cells, objects: Objects, taken: Float[Array, "n s b"]
    ) -> Float[Array, " n"]:
        present, dtype = objects.present, own.boxes.dtype
        rows, columns = self.grid
        shape = jnp.array([columns, rows], dtype)[None, None]
        place, size = _centre_and_root(own.boxes)
        true_place, true_size = _centre_and_root(objects.boxes)
        far = (((place - true_place) * shape) ** 2 + (size - true_size) ** 2).sum(-1)
        overlap = jax.lax.stop_gradient(iou(own.boxes, objects.boxes, pairwise=False))
        sure = (jax.nn.sigmoid(own.objects) - overlap) ** 2
        probs = jax.nn.softmax(own.classes, -1)
        named = jax.nn.one_hot(objects.codes, probs.shape[-1], dtype=dtype)
        found = jnp.asarray(self.coordinates, dtype) * far + sure
        found = found + ((probs - named) ** 2).sum(-1)
        empty = (jax.nn.sigmoid(cells.objects) ** 2 * (1 - taken)).sum((1, 2))
        return (present * found).sum(1) + jnp.asarray(self.no_object, dtype) * empty


def _chosen(a: Array, chosen: Float[Array, "n m b"]) -> Array:
    """Of the boxes of a cell the chosen one."""
    weights = chosen.reshape(*chosen.shape, *[1] * (a.ndim - 3))
    return (a * weights).sum(2)


def _centre_and_root(boxes: Array) -> tuple[Array, Array]:
    """Centres, and square roots of the sides."""
    low, high = boxes[..., :2], boxes[..., 2:]
    return (low + high) / 2, jnp.sqrt(jnp.maximum(high - low, TINY))
