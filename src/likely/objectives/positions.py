r"""The likelihood where each position of an image or sequence has its own outcome."""

import equinox as eqx
from jaxtyping import Array, Float

from likely.objectives.nll import NegativeLogLikelihood
from likely.typing import Batch, Key, Model, State


class PositionLikelihood(eqx.Module):
    r"""$\sum_i w_i \frac1P\sum_p -\log p(y_{ip} \mid η_{ip}) / \sum_i w_i$, plus the prior.

    The outcomes of a row's P positions are independent given x; the loss is in nats per
    position. A row weight applies to all positions of the row.
    """

    likelihood: NegativeLogLikelihood

    @classmethod
    def of(cls, family, data: Batch, prior=None) -> "PositionLikelihood":
        """The objective for these data."""
        return cls(NegativeLogLikelihood.of(family, data, prior))

    def pointwise(
        self, eta: Float[Array, "n *positions k"], y: Array
    ) -> Float[Array, " n"]:
        """The mean negative log-likelihood over the positions of each row."""
        nats = -self.likelihood.family.log_prob(eta, y)
        return nats.reshape(len(nats), -1).mean(1)

    def penalty(self, model: Model) -> Float[Array, ""]:
        """−log p(φ) / Σw."""
        return self.likelihood.penalty(model)

    def __call__(
        self, model: Model, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The objective: likelihood and prior."""
        eta, state = model(batch.x, w=batch.w, key=key, state=state)
        rows = self.likelihood.rows
        loss = rows.mean(self.pointwise(eta, batch.y), batch.w)
        return loss + self.penalty(model), state
