r"""The error of a reconstruction: what an autoencoder minimises.

With $\hat x = f(x; φ)$ and columns in units of their spread it is, up to a constant, the
negative log-likelihood of $x_j \sim N(\hat x_j, 1)$ per column,

$$\frac{\sum_i w_i\, \tfrac{1}{2d} \lVert x_i - \hat x_i\rVert^2}{\sum_i w_i}
  - \frac{\log p(φ)}{\sum_i w_i}.$$
"""

import equinox as eqx
from jaxtyping import Array, Float

from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, Model, State


class ReconstructionError(eqx.Module):
    """Half the squared distance of a row from its reconstruction, per column.

    The rows to be found again are `batch.y`; where a solver disturbs `batch.x`, the model
    learns to remove the disturbance (a denoising autoencoder).

    Args:
        prior: p(φ), or None.
        rows: the normalisation over all the data.
    """

    prior: AbstractPrior | None
    rows: Normalisation

    def pointwise(
        self, found: Float[Array, "n d"], y: Float[Array, "n d"]
    ) -> Float[Array, " n"]:
        """The error of each row."""
        return 0.5 * ((found - y) ** 2).mean(-1)

    def __call__(
        self, model: Model, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The mean error of the rows, and the prior."""
        found, state = model(batch.x, w=batch.w, key=key, state=state)
        loss = self.rows.mean(self.pointwise(found, batch.y), batch.w)
        return loss + self.rows.penalty(self.prior, model), state
