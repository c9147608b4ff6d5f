"""What is learned by a detector: a network, its loss, and the units of its images."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.rows import weighted_mean
from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, State


class PixelScaling(eqx.Module):
    """The mean and the spread of each channel; boxes stay as they are."""

    center: Any
    scale: Any

    @classmethod
    def of(cls, data: Batch) -> "PixelScaling":
        """Of present images, weighted; a constant channel is only centred."""
        mean = weighted_mean(data.x.mean((1, 2)), data.w)
        square = ((data.x - mean[None, None, None]) ** 2).mean((1, 2))
        spread = jnp.sqrt(weighted_mean(square, data.w))
        return cls(mean, jnp.where(spread > 1e-6, spread, 1.0))

    def __call__(self, data: Batch) -> Batch:
        """The images in units of their spread."""
        return data._replace(x=self.inputs(data.x))

    def inputs(self, X: Float[Array, "n h w c"]) -> Float[Array, "n h w c"]:
        """Pixels in units of their spread."""
        center, scale = (a.reshape(1, 1, 1, -1) for a in (self.center, self.scale))
        return (X - center) / scale


class DetectionObjective(eqx.Module):
    """The mean loss of images, and the prior.

    Args:
        loss: the losses of the images of a batch, given a network.
        prior: p(φ), or None.
        rows: the normalisation over all images.
    """

    loss: Any
    prior: AbstractPrior | None
    rows: Normalisation

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The loss, and the state."""
        losses, state = self.loss(model, batch, key=key, state=state)
        loss = self.rows.mean(losses, batch.w)
        return loss + self.rows.penalty(self.prior, model), state


class DetectionProblem(eqx.Module):
    """A network that is built for images, and its loss.

    Args:
        architecture: plain data with `build(shape, n_classes, key=)`.
        loss: called as `loss(model, batch, key=, state=)`.
        n_classes: how many classes there are.
    """

    architecture: Any
    loss: Any
    n_classes: int = eqx.field(static=True)

    def scaling_of(self, data: Batch) -> PixelScaling:
        """The units of the images."""
        return PixelScaling.of(data)

    def build(self, data: Batch, key: Key) -> Any:
        """The network with its first weights."""
        return self.architecture.build(data.x.shape[1:], self.n_classes, key=key)

    def objective(self, prior: Any, rows: Normalisation) -> DetectionObjective:
        """What is minimised."""
        return DetectionObjective(self.loss, prior, rows)
