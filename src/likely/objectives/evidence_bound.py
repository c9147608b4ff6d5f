r"""The evidence lower bound: what variational autoencoders maximise.

With $w_s = p(x, z_s)/q(z_s \mid x)$ and draws $z_s \sim q(z \mid x)$,

$$\log p(x) \ge E \log \frac1K \sum_{s=1}^K w_s \ge E_q \log p(x \mid z) - KL(q, p(z)),$$

the bound of importance sampling with K draws, and with one the evidence lower bound, whose
divergence has a formula. Their gap to log p(x) is KL(q, p(z | x)) at K = 1 and goes to zero as
K grows. The objective is the negative bound, in nats per unit of weight, with the prior of φ.
"""

from typing import Any, Protocol

import equinox as eqx
import jax
from jaxtyping import Array, Float

from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, State

EVALUATION_SEED = 0
"""The seed of the draws where rows are only judged, so that two looks are comparable."""


class LatentVariables(Protocol):
    """What has a bound: p(x, z) and q(z | x), with parameters apart."""

    def bound(
        self, model: Any, batch: Batch, key: Key, draws: int
    ) -> Float[Array, " n"]:
        """The bound of each row, from so many draws of z."""
        ...


class NegativeEvidenceBound(eqx.Module):
    """The negative evidence lower bound, per unit of weight.

    Args:
        variables: the model of rows and codes.
        prior: p(φ), or None.
        rows: the normalisation over all the data.
        draws: K; 1 is the evidence lower bound, more the importance-weighted bound.
    """

    variables: Any
    prior: AbstractPrior | None
    rows: Normalisation
    draws: int = eqx.field(static=True, default=1)

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The mean negative bound of the rows, and the prior."""
        key = jax.random.key(EVALUATION_SEED) if key is None else key
        bound = self.variables.bound(model, batch, key, self.draws)
        loss = self.rows.mean(-bound, batch.w)
        return loss + self.rows.penalty(self.prior, model), state
