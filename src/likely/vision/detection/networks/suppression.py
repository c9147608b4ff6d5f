"""Non-maximum suppression inside of a compiled program: fixed numbers of boxes."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from likely.vision.boxes import iou


def kept(boxes: Float[Array, "n k 4"], threshold: float) -> Bool[Array, "n k"]:
    """Which boxes suppression keeps, of boxes that come by falling score.

    A box is kept unless a kept one before it overlaps it by more than the threshold. That
    is repeated for all boxes at once until nothing changes, which gives what going through
    them one by one would.

    Args:
        boxes: corners.
        threshold: of IoU.
    """
    k = boxes.shape[1]
    before = jnp.arange(k)[:, None] > jnp.arange(k)[None]
    covers = (iou(boxes, boxes) > threshold) & before[None]  # (n, box, box before it)

    def again(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        now, _ = carry
        return ~(covers & now[:, None]).any(-1), now

    first = jnp.ones(boxes.shape[:2], bool)
    found, _ = jax.lax.while_loop(
        lambda c: (c[0] != c[1]).any(), again, again((first, ~first))
    )
    return found


def best_apart(
    boxes: Float[Array, "n k 4"],
    scores: Float[Array, "n k"],
    *,
    first: int,
    count: int,
    threshold: float,
) -> Float[Array, "n r 4"]:
    """The best boxes that do not overlap too much, the same number for each image.

    Where suppression leaves fewer, the best of the others fill the number up.

    Args:
        boxes: corners.
        scores: of which the highest are the best.
        first: how many of the best boxes are looked at.
        count: how many are returned.
        threshold: of IoU.
    """
    first = min(first, scores.shape[1])
    top, where = jax.lax.top_k(scores, first)
    some = jnp.take_along_axis(boxes, where[..., None], 1)
    order = jnp.arange(first)[None] + first * (~kept(some, threshold))
    _, chosen = jax.lax.top_k(-order, min(count, first))
    return jnp.take_along_axis(some, chosen[..., None], 1)
