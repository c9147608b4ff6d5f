r"""The error of a reconstruction: what an autoencoder minimises.

With a code $h = e(x)$, $\hat x = d(h)$ and columns in units of their spread it is, up to a
constant, the negative log-likelihood of $x_j \sim N(\hat x_j, 1)$ per column,

$$\frac{\sum_i w_i\, \tfrac{1}{2d} \lVert x_i - \hat x_i\rVert^2}{\sum_i w_i}
  + λ\,Ω - \frac{\log p(φ)}{\sum_i w_i},$$

where Ω keeps codes sparse: $Ω = \sum_j |h_j|$, the mean over rows, or with activations between
0 and 1 the divergence of their means $\hat ρ_j$ from a small ρ,

$$Ω = \sum_j ρ \log\frac{ρ}{\hat ρ_j} + (1-ρ) \log\frac{1-ρ}{1-\hat ρ_j}.$$
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, Model, State

SPARSITIES = ("l1", "kl")
SMALLEST_MEAN = 1e-6
"""The smallest mean activation whose divergence is computed, and one minus the largest."""


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
        self, found: Float[Array, "n ..."], y: Float[Array, "n ..."]
    ) -> Float[Array, " n"]:
        """The error of each row."""
        return 0.5 * ((found - y) ** 2).reshape(len(y), -1).mean(-1)

    def __call__(
        self, model: Model, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The mean error of the rows, and the prior."""
        found, state = model(batch.x, w=batch.w, key=key, state=state)
        loss = self.rows.mean(self.pointwise(found, batch.y), batch.w)
        return loss + self.rows.penalty(self.prior, model), state


class SparseReconstructionError(eqx.Module):
    """The error of a reconstruction through a code that is kept sparse.

    Args:
        prior: p(φ), or None.
        rows: the normalisation over all the data.
        strength: λ.
        target: ρ, the mean activation that "kl" asks for.
        kind: "l1" or "kl".

    The model is a chain of two: the encoder and the decoder.
    """

    prior: AbstractPrior | None
    rows: Normalisation
    strength: Any
    target: Any
    kind: str = eqx.field(static=True)

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The mean error of the rows, what keeps codes sparse, and the prior."""
        encoder, decoder = model.layers
        h, _ = encoder(batch.x, w=batch.w)
        found, _ = decoder(h, w=batch.w)
        plain = ReconstructionError(self.prior, self.rows)
        loss = self.rows.mean(plain.pointwise(found, batch.y), batch.w)
        loss += jnp.asarray(self.strength, loss.dtype) * self.penalty(h, batch.w)
        return loss + self.rows.penalty(self.prior, model), state

    def penalty(
        self, h: Float[Array, "n k"], w: Float[Array, " n"]
    ) -> Float[Array, ""]:
        """Ω of the codes of a batch."""
        if self.kind == "l1":
            return self.rows.mean(jnp.abs(h).sum(-1), w)
        here = jnp.where(w > 0, w, 0.0)
        total = jnp.maximum(here.sum(), jnp.finfo(h.dtype).tiny)
        mean = (here[:, None] * jnp.where(w[:, None] > 0, h, 0.0)).sum(0) / total
        mean = jnp.clip(mean, SMALLEST_MEAN, 1 - SMALLEST_MEAN)
        rho = jnp.asarray(self.target, h.dtype)
        return jnp.sum(
            jax.scipy.special.rel_entr(rho, mean)
            + jax.scipy.special.rel_entr(1 - rho, 1 - mean)
        )
