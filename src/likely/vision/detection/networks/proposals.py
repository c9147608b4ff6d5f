r"""Proposals: boxes of an image that may hold an object of any class.

A proposal network slides over the map of features: at each position it says for each of k anchors
the logit of an object, and by which offsets t to change the anchor,

$$t = \Bigl(\frac{x - x_a}{w_a}, \frac{y - y_a}{h_a}, \log\frac{w}{w_a}, \log\frac{h}{h_a}\Bigr).$$

Without a network, windows of the same sizes at all positions are ranked by how much the brightness
changes inside of them, compared with the ring around them.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.vision.boxes import decode
from likely.vision.detection.networks.suppression import best_apart

RING = 0.15
"""The width of the ring around a window, in units of its sides."""
SIZE_POWER = 0.25
"""By which power of its area a window gains: at 0 small windows inside of things win."""


class Proposals(NamedTuple):
    """Boxes that may hold an object, and what they were chosen from."""

    boxes: Float[Array, "n r 4"]
    """The proposals, corners in shares of the sides of the image."""
    anchors: Any = None
    """(a, 4) all anchors, where a network made the proposals ..."""
    logits: Any = None
    """... (n, a) the logit of an object at each ..."""
    offsets: Any = None
    """... and (n, a, 4) by what to change it."""


class ProposalChoice(eqx.Module):
    """How proposals are chosen among all boxes.

    Args:
        first: how many of the best boxes are looked at.
        count: how many are proposed.
        threshold: those that overlap a better one by more than this IoU come last.
    """

    first: int = eqx.field(static=True, default=64)
    count: int = eqx.field(static=True, default=24)
    threshold: float = eqx.field(static=True, default=0.7)

    def __call__(
        self, boxes: Float[Array, "n a 4"], scores: Float[Array, "n a"]
    ) -> Float[Array, "n r 4"]:
        """The proposals."""
        return best_apart(
            boxes, scores, first=self.first, count=self.count, threshold=self.threshold
        )


class ProposalNetwork(eqx.Module):
    """Proposals by a small network that slides over the map of features.

    Args:
        layers: from features to 5 numbers for each anchor of a position.
        sizes: (width, height) of the anchors, in shares of the sides of the image.
        choice: how proposals are chosen.
    """

    layers: Any
    sizes: tuple[tuple[float, float], ...] = eqx.field(static=True)
    choice: ProposalChoice

    def __call__(
        self, X: Float[Array, "n h w c"], F: Float[Array, "n i j d"]
    ) -> Proposals:
        """The proposals of each image.

        Args:
            X: images, which are not looked at.
            F: their features.
        """
        out, _ = self.layers(F)
        anchors = anchor_boxes(F.shape[1:3], self.sizes, F.dtype)
        out = out.reshape(len(F), len(anchors), 5)
        logits, offsets = out[..., 0], out[..., 1:]
        every = jnp.broadcast_to(anchors[None], offsets.shape)
        boxes = jnp.clip(decode(offsets, every), 0.0, 1.0)
        return Proposals(self.choice(boxes, logits), anchors, logits, offsets)


class WindowProposals(eqx.Module):
    """Proposals without a network: windows in which the brightness changes most.

    Args:
        sizes: (width, height) of the windows, in shares of the sides of the image.
        step: pixels between windows.
        choice: how proposals are chosen.
    """

    sizes: tuple[tuple[float, float], ...] = eqx.field(static=True)
    step: int = eqx.field(static=True)
    choice: ProposalChoice

    def __call__(self, X: Float[Array, "n h w c"], F: Any) -> Proposals:
        """The proposals of each image.

        Args:
            X: images.
            F: their features, which are not looked at.
        """
        h, w = X.shape[1:3]
        windows = anchor_boxes((h // self.step, w // self.step), self.sizes, X.dtype)
        sums = _integral(_changes(X))
        side = windows[:, 2:] - windows[:, :2]
        pixel = jnp.array([[-1 / w, -1 / h, 1 / w, 1 / h]], X.dtype)
        more = RING * jnp.concatenate([-side, side], 1)
        inner = _sums(sums, windows + pixel)  # edges lie on both sides of a border
        outer = _sums(sums, windows + pixel + more)
        area = side.prod(-1)[None]
        ring = (outer - inner) / (((1 + 2 * RING) ** 2 - 1) * area)
        scores = (inner / area - ring) * area**SIZE_POWER
        boxes = jnp.broadcast_to(windows[None], (len(X), *windows.shape))
        return Proposals(self.choice(jnp.clip(boxes, 0.0, 1.0), scores))


def anchor_boxes(
    shape: tuple[int, ...], sizes: tuple[tuple[float, float], ...], dtype: Any
) -> Float[Array, "a 4"]:
    """(h·w·k, 4) anchors around the middle of each cell, in shares of the image.

    Args:
        shape: (h, w) of the map.
        sizes: (width, height) of each of the k anchors of a cell.
        dtype: of the result.
    """
    h, w = shape
    y, x = jnp.meshgrid(
        (jnp.arange(h) + 0.5) / h, (jnp.arange(w) + 0.5) / w, indexing="ij"
    )
    centre = jnp.stack([x, y], -1).reshape(-1, 1, 2)
    half = jnp.array(sizes)[None] / 2
    found = jnp.concatenate([centre - half, centre + half], -1)
    return found.reshape(-1, 4).astype(dtype)


def _changes(X: Float[Array, "n h w c"]) -> Float[Array, "n h w"]:
    """The size of the change of brightness at each pixel."""
    grey = X.mean(-1)
    padded = jnp.pad(grey, ((0, 0), (1, 1), (1, 1)), mode="edge")
    down = jnp.abs(padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1])
    right = jnp.abs(padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2])
    return down + right


def _integral(values: Float[Array, "n h w"]) -> Float[Array, "n i j"]:
    """Sums of all values above and to the left, with a row and a column of zeros first."""
    return jnp.pad(values.cumsum(1).cumsum(2), ((0, 0), (1, 0), (1, 0)))


def _sums(
    sums: Float[Array, "n i j"], boxes: Float[Array, "a 4"]
) -> Float[Array, "n a"]:
    """Sums inside of boxes, whose corners are rounded to pixels."""
    h, w = sums.shape[1] - 1, sums.shape[2] - 1
    scale = jnp.array([[w, h, w, h]], boxes.dtype)
    x0, y0, x1, y1 = jnp.clip(jnp.round(boxes * scale), 0, scale).astype(int).T
    total = sums[:, y1, x1] - sums[:, y0, x1] - sums[:, y1, x0] + sums[:, y0, x0]
    return total / (h * w)
