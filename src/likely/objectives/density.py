r"""The likelihood of densities: $-\sum_i w_i \log p(x_i) / \sum_i w_i$ and the prior.

It is what a density learns by where it knows log p itself: flows and autoregressive models.
"""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, State


class DensityLikelihood(eqx.Module):
    """−log p(x) per unit of weight, of a model with `log_probs(batch, key=)`.

    On held-out rows (`key=None`) it is without the prior: they are there to be predicted.

    Args:
        prior: p(φ), or None.
        rows: the normalisation over all the data.
    """

    prior: AbstractPrior | None
    rows: Normalisation

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The mean loss of the rows, and the prior in training."""
        loss = -self.rows.mean(model.log_probs(batch, key=key), batch.w)
        if key is None:
            return loss, state
        return loss + self.rows.penalty(self.prior, model), state
