r"""Consistency: what a classifier says of a row should not change when the row changes a little.

A row without a label has no likelihood. But two disturbed copies of it, a weak one x' and a
strong one x'', belong to the same class, whichever it is. To the negative log-likelihood of
the labelled rows this objective adds how much the predictions of the two copies differ,

$$λ\; E_x\big[\,1[\max_c q_c > τ]\; \mathrm{KL}(q \,\|\, p(\cdot \mid x''))\big],
  \qquad q_c \propto p(c \mid x')^{1/T},$$

with q held fixed in the gradient, so that the strong copy learns from the weak one. Rows of
which the classifier is not sure (τ) are left out, and T < 1 makes q surer than p: the boundary
is pushed away from where rows are dense.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.solvers.settings import Real, real
from likely.typing import Batch, Key, Model, State


class Consistency(eqx.Module):
    """An objective of labelled rows, plus the divergence of disturbed rows without labels.

    Each step draws rows anew, as often as their weights say. In use (`key=None`) it is the
    objective of the labelled rows.

    Args:
        likelihood: the objective of the labelled rows.
        rows: (n, ...) inputs of which no labels are needed, in the units of the network.
        w: (n,) how often each of them counts.
        weak: the `Perturbation` of the copy that teaches, and of labelled rows; None
            leaves them as they are.
        strong: the `Perturbation` of the copy that learns.
        strength: λ.
        threshold: τ.
        temperature: T.
        batch_size: how many rows a step draws.
    """

    likelihood: Any
    rows: Float[Array, "n ..."]
    w: Float[Array, " n"]
    weak: Any
    strong: Any
    strength: Real = real(1.0)
    threshold: Real = real(0.6)
    temperature: Real = real(0.5)
    batch_size: int = eqx.field(static=True, default=256)

    def __call__(
        self, model: Model, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The loss of a batch of labelled rows and of rows that are drawn."""
        if key is None:
            return self.likelihood(model, batch, state=state)
        k_change, k_own, k_draw, k_other = jax.random.split(key, 4)
        batch = disturbed(self.weak, batch, k_change)
        loss, after = self.likelihood(model, batch, key=k_own, state=state)
        rows = self.rows[self.draw(k_draw)]
        apart = self.divergence(model, rows, key=k_other, state=state)
        return loss + self.strength.astype(loss.dtype) * apart, after

    def draw(self, key: Key) -> Int[Array, " b"]:
        """The numbers of the rows of a step, each as probable as its weight."""
        share = jnp.cumsum(self.w)
        place = jax.random.uniform(key, (self.batch_size,), share.dtype) * share[-1]
        # rounding may reach the end, behind which there are only absent rows
        last = jnp.searchsorted(share, share[-1], side="left")
        return jnp.minimum(jnp.searchsorted(share, place, side="right"), last)

    def divergence(
        self, model: Model, X: Float[Array, "b ..."], *, key: Key, state: State
    ) -> Float[Array, ""]:
        """The mean of KL(q ‖ p) over rows; 0 for those of which the model is not sure."""
        k_weak, k_strong, k_model = jax.random.split(key, 3)
        batch = Batch(X, jnp.zeros(len(X), X.dtype), jnp.ones(len(X), X.dtype))
        weak = disturbed(self.weak, batch, k_weak)
        strong = disturbed(self.strong, batch, k_strong)
        taught = log_probs(jax.lax.stop_gradient(model(weak.x, state=state)[0]))
        sure = taught.max(-1) > jnp.log(self.threshold).astype(taught.dtype)
        log_q = jax.nn.log_softmax(taught / self.temperature.astype(taught.dtype))
        log_p = log_probs(model(strong.x, w=strong.w, key=k_model, state=state)[0])
        nats = (jnp.exp(log_q) * (log_q - log_p)).sum(-1)
        return jnp.where(sure, nats, 0.0).mean()


def disturbed(change: Any, batch: Batch, key: Key) -> Batch:
    """The batch after a random change; None leaves it as it is."""
    return batch if change is None else change(None, batch, key)[1]


def log_probs(eta: Float[Array, "n k"]) -> Float[Array, "n c"]:
    """log p of each class: of two from one number, of more from as many as there are."""
    if eta.shape[-1] > 1:
        return jax.nn.log_softmax(eta)
    return jnp.concatenate([jax.nn.log_sigmoid(-eta), jax.nn.log_sigmoid(eta)], -1)
