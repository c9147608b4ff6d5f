r"""What detectors of regions minimise.

A region that overlaps an object by at least half has its class u and the offsets v to it; any other
has the class 0, no object. The loss of a region is that of Fast R-CNN,

$$L = -\log p_u + λ\,[u \ge 1] \sum_i \mathrm{smooth}_{L_1}(t^u_i - v_i),$$

$$\mathrm{smooth}_{L_1}(x) = x^2 / 2 \text{ where } |x| < 1, \quad |x| - 1/2 \text{ else.}$$

Faster R-CNN adds the loss of its proposals: anchors that overlap an object by at least half, and
the best anchor of each object, are objects; those that overlap none by more than 0.3 are not; the
others do not count. Each object counts once, whatever the number of anchors or regions on it, and
the regions of no object count together as `background` objects.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.typing import Batch, Key, State
from likely.vision.boxes import encode, iou
from likely.vision.detection.networks.proposals import Proposals
from likely.vision.detection.networks.regions import SPREAD
from likely.vision.detection.targets import Objects, unpacked

OBJECT, NO_OBJECT = 0.5, 0.3
"""IoU with an object from which on a box is one, and up to which an anchor is none."""


class RegionLoss(eqx.Module):
    """The loss of each image, given a `RegionNetwork`.

    Args:
        coordinates: λ.
        background: how much regions of no object count, in objects.
    """

    coordinates: Any = 1.0
    background: Any = 1.0

    def __call__(
        self,
        model: Any,
        batch: Batch,
        *,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, " n"], State]:
        """The losses of the images of a batch, and the state."""
        objects = unpacked(batch.y)
        first, second = (None, None) if key is None else jax.random.split(key)
        proposals, F, state = model.propose(batch.x, w=batch.w, key=first, state=state)
        boxes = jax.lax.stop_gradient(proposals.boxes)
        boxes = jnp.concatenate([boxes, objects.boxes.astype(boxes.dtype)], 1)
        valid = jnp.concatenate(
            [jnp.ones_like(proposals.boxes[..., 0]), objects.present], 1
        )
        w = valid * batch.w[:, None]
        found, state = model.regions(F, boxes, w=w, key=second, state=state)
        which, overlap = nearest(boxes, objects)
        positive = valid * (overlap >= OBJECT)
        codes = jnp.take_along_axis(objects.codes, which, 1)
        true = jnp.take_along_axis(objects.boxes, which[..., None], 1)
        spread = jnp.array(SPREAD, boxes.dtype)[None, None]
        wanted = encode(true, boxes) / spread
        u = jnp.where(positive > 0, codes + 1, 0)
        logs = jax.nn.log_softmax(found.classes, -1)
        named = -jnp.take_along_axis(logs, u[..., None], -1)[..., 0]
        own = jnp.take_along_axis(found.offsets, codes[..., None, None], 2)[:, :, 0]
        far = jnp.asarray(self.coordinates, own.dtype) * smooth_l1(own - wanted)
        share = shares(which, positive, objects)
        negative = valid * (1 - positive)
        several = jnp.maximum(negative.sum(1), 1.0)
        none = jnp.asarray(self.background, own.dtype) * (
            (negative * named).sum(1) / several * jnp.sqrt(several)
        )
        loss = (share * (named + far)).sum(1) + none
        if proposals.logits is not None:
            loss = loss + self.proposal_loss(proposals, objects)
        return loss, state

    def proposal_loss(
        self, proposals: Proposals, objects: Objects
    ) -> Float[Array, " n"]:
        """The loss of anchors: whether there is an object, and where."""
        logits, offsets = proposals.logits, proposals.offsets
        every = jnp.broadcast_to(proposals.anchors[None], offsets.shape)
        which, overlap = nearest(every, objects)
        table = iou(every, objects.boxes) * objects.present[:, None]
        best = (table >= table.max(1, keepdims=True)) & (table > 0)
        positive = ((overlap >= OBJECT) | best.any(2)).astype(logits.dtype)
        negative = (1 - positive) * (overlap < NO_OBJECT)
        true = jnp.take_along_axis(objects.boxes, which[..., None], 1)
        far = smooth_l1((offsets - encode(true, every)) / jnp.array(SPREAD)[None, None])
        far = jnp.asarray(self.coordinates, far.dtype) * far
        share = shares(which, positive, objects)
        found = (share * (jax.nn.softplus(-logits) + far)).sum(1)
        return found + (negative * jax.nn.softplus(logits)).sum(1)


def nearest(boxes: Float[Array, "n r 4"], objects: Objects) -> tuple[Array, Array]:
    """(n, r) the object that each box overlaps most, and by how much."""
    table = iou(boxes, objects.boxes.astype(boxes.dtype)) * objects.present[:, None]
    return table.argmax(2), table.max(2)


def shares(which: Array, positive: Array, objects: Objects) -> Float[Array, "n r"]:
    """What each box of an object counts: all boxes of an object count as one."""
    m = objects.present.shape[1]
    own = jax.nn.one_hot(which, m, dtype=positive.dtype) * positive[..., None]
    several = jnp.maximum(own.sum(1), 1.0)
    return positive / jnp.take_along_axis(several, which, 1)


def smooth_l1(x: Float[Array, "n r 4"]) -> Float[Array, "n r"]:
    """Half the square of small errors, the size of large ones less a half; summed."""
    size = jnp.abs(x)
    return jnp.where(size < 1, 0.5 * x**2, size - 0.5).sum(-1)
