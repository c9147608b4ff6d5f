r"""The denoising loss: what diffusion models minimise.

$$E_{t, ε}\ \tfrac1D \lVert\,f_φ(x_t, t) - \text{target}\,\rVert^2, \qquad
x_t = \sqrt{\bar α_t}\,x_0 + \sqrt{1 - \bar α_t}\,ε$$

with the noise ε, the row $x_0$ or a mix of both as the target. A weighted sum of these errors over
all times t is the evidence lower bound; unweighted, it counts large noise more.
"""

from typing import Any, Protocol

import equinox as eqx
import jax
from jaxtyping import Array, Float

from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, State

EVALUATION_SEED = 0
"""The seed of times and noise where rows are only judged, so that two looks compare."""


class Denoises(Protocol):
    """A model that removes noise."""

    def errors(
        self, x0: Float[Array, "n ..."], given: Any, key: Key, *, training: bool
    ) -> Float[Array, " n"]:
        """The error of each row, at a random time and with fresh noise."""
        ...


class DenoisingLoss(eqx.Module):
    """The mean squared error of a denoiser, per unit of weight.

    Args:
        prior: p(φ), or None.
        rows: the normalisation over all the data.
    """

    prior: AbstractPrior | None
    rows: Normalisation

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The loss of the rows, at random times; and the prior in training."""
        training = key is not None
        key = key if training else jax.random.key(EVALUATION_SEED)
        errors = model.errors(batch.x, batch.y, key, training=training)
        loss = self.rows.mean(errors, batch.w)
        if not training:
            return loss, state
        return loss + self.rows.penalty(self.prior, model), state
