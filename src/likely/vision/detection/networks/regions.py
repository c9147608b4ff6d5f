r"""Networks of regions: proposals first, then what is in each of them.

R-CNN cuts each proposal out of the image and sends it through a network of its own. Fast R-CNN
sends the image through once, and takes the features of each proposal from the map (RoI align).
Faster R-CNN makes the proposals from this map, too. A head says for each proposal the class, or
that there is none, and for each class the offsets from the proposal to the box.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.layers import Chain, Convolution, Dense, Flatten, MixedPrecision
from likely.layers.composition.chain import initial_state
from likely.layers.composition.shape import output_shape
from likely.models.images.backbone import Backbone
from likely.models.settings import setting
from likely.typing import Key, State
from likely.vision.boxes import decode, roi_align
from likely.vision.detection.networks.candidates import Candidates
from likely.vision.detection.networks.proposals import (
    ProposalChoice,
    ProposalNetwork,
    Proposals,
    WindowProposals,
)

SPREAD = (0.1, 0.1, 0.2, 0.2)
"""The usual size of offsets from a proposal to its object: the units of the head."""
WINDOW_STEP, WINDOW_OVERLAP = 4, 0.6
"""Pixels between windows that are ranked without a network, and the IoU of two of them above
which the worse comes last."""
FIRST_LOGIT = -4.0
"""The logit of an object at an anchor, before anything is learned."""


class Regions(NamedTuple):
    """What the head says of regions."""

    classes: Float[Array, "n r k"]
    """Logits of no object and of each class."""
    offsets: Float[Array, "n r c 4"]
    """From the region to the box of each class, in units of `SPREAD`."""


class RegionNetwork(eqx.Module):
    """A network of proposals and of what is in them.

    Args:
        body: from images, or from regions cut out, to features.
        proposer: called with images and features.
        head: from the features of a region to logits and offsets.
        n_classes: c.
        pool: the sides of the features of a region, or of a region that is cut out.
        crops: whether regions are cut out of the image, each for itself.
    """

    body: Any
    proposer: Any
    head: Any
    n_classes: int = eqx.field(static=True)
    pool: int = eqx.field(static=True)
    crops: bool = eqx.field(static=True)

    def initial_state(self) -> State:
        """The state of the body."""
        return initial_state(self.body)

    def propose(
        self, X: Float[Array, "n h w c"], *, w=None, key=None, state: State = None
    ) -> tuple[Proposals, Any, State]:
        """Proposals, the features that regions are taken from, and the state."""
        F = X
        if not self.crops:
            F, state = self.body(X, w=w, key=key, state=state)
        return self.proposer(X, F), F, state

    def regions(
        self,
        F: Any,
        boxes: Float[Array, "n r 4"],
        *,
        w=None,
        key=None,
        state: State = None,
    ) -> tuple[Regions, State]:
        """What is in regions; only networks that cut them out change the state.

        Args:
            F: features, or images that regions are cut out of.
            boxes: corners in shares of the sides of the image.
            w: (n, r) weights of the regions.
            key: of the randomness of training.
            state: of the body.
        """
        n, r = boxes.shape[:2]
        h, wide = F.shape[1:3]
        scale = jnp.array([wide, h, wide, h], boxes.dtype)[None, None]
        parts = roi_align(F, boxes * scale, self.pool, 1 if self.crops else 2)
        parts = parts.reshape(n * r, *parts.shape[2:])
        if self.crops:
            w = None if w is None else w.reshape(-1)
            parts, state = self.body(parts, w=w, key=key, state=state)
        out, _ = self.head(parts)
        out, c = out.reshape(n, r, -1), self.n_classes
        return Regions(out[..., : c + 1], out[..., c + 1 :].reshape(n, r, c, 4)), state

    def detect(self, X: Float[Array, "n h w c"], state: State = None) -> Candidates:
        """The boxes of each class at every proposal, with their probabilities."""
        proposals, F, state = self.propose(X, state=state)
        found, _ = self.regions(F, proposals.boxes, state=state)
        n, r, c, _ = found.offsets.shape
        p = jax.nn.softmax(found.classes, -1)[..., 1:]
        boxes = boxes_of(found.offsets, proposals.boxes)
        own = p[..., None] * jnp.eye(c, dtype=p.dtype)[None, None]
        return Candidates(boxes.reshape(n, r * c, 4), own.reshape(n, r * c, c))


def boxes_of(
    offsets: Float[Array, "n r c 4"], regions: Float[Array, "n r 4"]
) -> Float[Array, "n r c 4"]:
    """The box of each class at each region, inside of the image."""
    spread = jnp.array(SPREAD, offsets.dtype)[None, None, None]
    every = jnp.broadcast_to(regions[:, :, None], offsets.shape)
    return jnp.clip(decode(offsets * spread, every), 0.0, 1.0)


class RegionArchitecture(eqx.Module):
    """The settings of a network of regions, as plain data; `build` makes the network.

    Args:
        body: the layers from images to features.
        sizes: (width, height) of anchors or windows, in shares of the sides of the image.
        kind: "crops" (R-CNN), "map" (Fast R-CNN) or "proposals" (Faster R-CNN).
        count: proposals of an image.
        first: boxes that proposals are chosen from, the best ones.
        pool: the sides of the features of a region, or of one that is cut out.
        hidden: units of the head.
        dtype: the precision of the computation, such as "bfloat16".
    """

    body: Backbone = setting(Backbone())
    sizes: tuple[tuple[float, float], ...] = setting(())
    kind: str = setting("proposals")
    count: int = setting(24)
    first: int = setting(64)
    pool: int = setting(6)
    hidden: int = setting(128)
    dtype: str | None = setting(None)

    def build(self, shape: Sequence[int], n_classes: int, *, key: Key) -> RegionNetwork:
        """The network for images of this shape.

        Args:
            shape: (h, w, c) of an image.
            n_classes: how many classes there are.
            key: the random key of the initial weights.
        """
        k_body, k_slide, k_hidden, k_last = jax.random.split(key, 4)
        crops = self.kind == "crops"
        seen = (self.pool, self.pool, shape[-1]) if crops else tuple(shape)
        body = self.body.build(seen, key=k_body)
        features = output_shape(body, seen)
        parts = features if crops else (self.pool, self.pool, features[-1])
        entries = parts[0] * parts[1] * parts[2]
        head = Chain(
            Flatten(),
            Dense(entries, self.hidden, key=k_hidden),
            jax.nn.relu,
            Dense(
                self.hidden,
                1 + 5 * n_classes,
                init=("gaussian", 0.01 / self.hidden),
                key=k_last,
            ),
        )
        proposer: Any
        if self.kind == "proposals":
            proposer = self._slider(features[-1], k_slide)
        else:
            choice = ProposalChoice(self.first, self.count, WINDOW_OVERLAP)
            proposer = WindowProposals(self.sizes, WINDOW_STEP, choice)
        layers: Any = body
        if self.dtype is not None:
            layers, head = (MixedPrecision(a, self.dtype) for a in (body, head))
        return RegionNetwork(layers, proposer, head, n_classes, self.pool, crops)

    def _slider(self, wide: int, key: Key) -> ProposalNetwork:
        """The network that slides over the features."""
        first, last = jax.random.split(key)
        k = len(self.sizes)
        out = Convolution(wide, 5 * k, 1, init=("gaussian", 0.01 / wide), key=last)
        bias = jnp.zeros(5 * k).at[jnp.arange(0, 5 * k, 5)].set(FIRST_LOGIT)
        out = eqx.tree_at(lambda o: o.bias, out, bias)
        layers: Any = Chain(Convolution(wide, wide, key=first), jax.nn.relu, out)
        if self.dtype is not None:
            layers = MixedPrecision(layers, self.dtype)
        choice = ProposalChoice(self.first, self.count)
        return ProposalNetwork(layers, self.sizes, choice)
