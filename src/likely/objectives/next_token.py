r"""The likelihood of sequences, token after token: $-\sum_t \log p(x_{t+1} \mid x_1, …, x_t)$.

A row of the batch is a window: T symbols x that the model reads, and the T symbols y that follow
each of them. Places after the end of a sequence hold the symbol `begin`, which is no token and
is not predicted.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.solvers.settings import Real, real
from likely.typing import Batch, Key, Model, State


class NextTokenLikelihood(eqx.Module):
    """The negative log-likelihood of the tokens, in nats per token.

    In training the sum over a batch is divided by what it is on average, so that long
    sequences count more than short ones; in use (`key=None`) by its own number of tokens.

    Args:
        tokens_per_row: Σ w · tokens of a row, on average over the data.
        begin: the symbol that is no token.
    """

    tokens_per_row: Real = real()
    begin: int = eqx.field(static=True, default=-1)

    def __call__(
        self, model: Model, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The mean loss of the tokens of a batch, and the state of the model after it."""
        eta, state = model(batch.x, w=batch.w, key=key, state=state)
        nats = -log_prob(eta, batch.y)
        here = jnp.where(batch.y != self.begin, batch.w[:, None], 0.0)
        total = here.sum() if key is None else len(batch.w) * self.tokens_per_row
        return jnp.where(here > 0, here * nats, 0.0).sum() / total, state


def log_prob(eta: Float[Array, "*n v"], y: Int[Array, "*n"]) -> Float[Array, "*n"]:
    """log p(y) of the tokens y; no number of v entries is kept for it but η."""
    tokens = jnp.arange(eta.shape[-1], dtype=y.dtype).reshape((1,) * y.ndim + (-1,))
    own = jnp.sum(jnp.where(tokens == y[..., None], eta, 0.0), -1)
    return own - jax.nn.logsumexp(eta, -1)
