r"""The normalisation of every objective over rows.

On all the data the loss is $\sum_i w_i l_i / \sum_i w_i$. On a minibatch of B rows it
is $\sum_i w_i l_i / (B \bar w)$ with $\bar w$ the mean weight of *all* the data, so that
weights stay exact in expectation and a batch of absent rows is 0, not 0/0.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.objectives.priors import AbstractPrior
from likely.typing import Batch


class Normalisation(eqx.Module):
    """Mean and total weight of all the data, computed before any minibatch is drawn."""

    mean_weight: Float[Array, ""]
    total_weight: Float[Array, ""]

    @classmethod
    def of(cls, data: Batch) -> "Normalisation":
        """The normalisation of these data."""
        total = jnp.asarray(data.w).sum()
        return cls(total / len(data.w), total)

    def mean(
        self, losses: Float[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, ""]:
        """Σ w·l / (B·w̄); a row of weight 0 does not contribute, even if its loss is NaN."""
        weighted = jnp.where(w > 0, w * losses, 0.0)
        return weighted.sum() / (len(w) * self.mean_weight)

    def penalty(self, prior: AbstractPrior | None, model: Any) -> Float[Array, ""]:
        """−log p(φ) / Σw, which is 0 without a prior."""
        if prior is None:
            return jnp.zeros(())
        return -prior.log_prob(model) / self.total_weight
