r"""Firth's penalised likelihood: finite estimates even if the classes are separable.

$$-\sum_i w_i \log p(y_i \mid η_i) - \tfrac12 \log\det I(B), \qquad
  I(B) = \sum_i w_i\, h_i(1 - h_i)\, a_i a_i^\top,$$

which is Jeffreys' prior. It removes the first-order bias of the maximum-likelihood
estimate; for a model with only an intercept it adds half an observation to each class.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.linalg import weighted_gram
from likely.families.bernoulli import Bernoulli
from likely.objectives.nll import check_eta
from likely.typing import Batch, Key, LinearModel, State


class FirthLikelihood(eqx.Module):
    """−log likelihood − ½ log det I of a binary linear model, per unit of weight."""

    empty: Float[Array, " p"]
    """1 for columns of zeros, which are left out of the determinant."""

    def __call__(
        self,
        model: LinearModel,
        batch: Batch,
        *,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, ""], State]:
        """The objective, in nats per unit of weight."""
        A, eta = model.design(batch.x), model(batch.x)[0]
        check_eta(Bernoulli(), eta, batch.y)
        z = eta[:, 0]
        nll = batch.w @ (jax.nn.softplus(z) - batch.y * z)
        h = jax.nn.sigmoid(z)
        H = weighted_gram(A, batch.w * h * (1 - h)) + jnp.diag(self.empty)
        scale = jnp.sqrt(jnp.diagonal(H))
        L = jnp.linalg.cholesky(H / (scale[:, None] * scale[None]))
        half_log_det = jnp.log(jnp.diagonal(L)).sum() + jnp.log(scale).sum()
        ridge = 0.5 * self.empty @ jnp.sum(model.coefficients**2, 1)
        return (nll - half_log_det + ridge) / batch.w.sum(), state
