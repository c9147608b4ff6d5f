"""The network and the objective of masked language models."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.layers import Dense, Padded
from likely.models.sequence.recurrent_network import mean_position
from likely.models.sequence.transformer import Transformer
from likely.objectives.next_token import log_prob
from likely.solvers.settings import Real, real
from likely.text.models.masking import Hidden, Symbols
from likely.typing import Batch, Key, State


class MaskedToken(eqx.Module):
    """A transformer that reads both ways and says what stands at some positions.

    Args:
        settings: of the `Transformer`, by name.
        n_tokens: the number of tokens.
        pairs: whether it also says if the second part of a pair follows the first.
        key: the random key of the initial weights.
    """

    encoder: Transformer
    bias: Float[Array, " v"]
    follows: Dense | None
    n_tokens: int = eqx.field(static=True)

    def __init__(
        self, settings: dict[str, Any], n_tokens: int, *, pairs: bool, key: Key
    ):
        first, last = jax.random.split(key)
        self.encoder = Transformer(
            n_tokens + 2,
            **settings,
            kind="encoder",
            positions="sinusoidal",
            n_types=2 if pairs else 0,
            key=first,
        )
        self.bias = jnp.zeros(n_tokens)
        size = settings["size"]
        self.follows = Dense(size, 1, init="uniform", key=last) if pairs else None
        self.n_tokens = n_tokens

    def states(
        self, symbols: Int[Array, "n t"], key: Key | None = None
    ) -> Float[Array, "n t d"]:
        """The state of each position."""
        known = Symbols(self.n_tokens)
        X = Padded(symbols, symbols < known.absent)
        types = None
        if self.follows is not None:
            cut = symbols == known.separator
            types = (jnp.cumsum(cut, 1) - cut > 0).astype(jnp.int32)
        return self.encoder.states(X, types=types, key=key)

    def row_vectors(self, symbols: Int[Array, "n t"]) -> Float[Array, "n d"]:
        """The mean of the states of each row."""
        return mean_position(self.states(symbols), symbols < self.n_tokens + 2)

    def __call__(
        self, symbols: Int[Array, "n t"], at: Int[Array, "n k"], key: Key | None = None
    ) -> tuple[Float[Array, "n k v"], Float[Array, " n"] | None]:
        """Logits of the tokens at some positions, and of whether the second part follows."""
        H = self.states(symbols, key)
        there = jnp.take_along_axis(H, at[:, :, None], 1)
        vectors: Any = self.encoder.embedding
        eta = vectors.logits(there)[..., : self.n_tokens]
        eta = eta + self.bias[None, None]
        if self.follows is None:
            return eta, None
        here = symbols < self.n_tokens + 2
        return eta, self.follows.of(mean_position(H, here))[:, 0]


class MaskedLikelihood(eqx.Module):
    """The negative log-likelihood of hidden tokens, in nats per token, and that of pairs.

    In training the sum over a batch is divided by what it is on average; in use (`key=None`)
    by its own number of judged tokens.

    Args:
        judged_per_row: Σ w · judged tokens of a row, on average over the data.
        weight_per_row: the mean weight of a row.
    """

    judged_per_row: Real = real()
    weight_per_row: Real = real()

    def __call__(
        self, model: Any, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The mean loss of the tokens of a batch, with that of its pairs."""
        hidden = Hidden.of(batch.x, batch.y)
        eta, follows = model(hidden.symbols, hidden.at, key)
        n, w = len(batch.w), batch.w
        judged = jnp.where(hidden.tokens >= 0, w[:, None], 0.0)
        nats = -log_prob(eta, jnp.maximum(hidden.tokens, 0))
        total = judged.sum() if key is None else n * self.judged_per_row
        loss = jnp.where(judged > 0, judged * nats, 0.0).sum() / _positive(total)
        if follows is None:
            return loss, state
        own = jnp.where(hidden.follows >= 0, w, 0.0)
        sign = jnp.where(hidden.follows == 1, -1.0, 1.0)
        total = own.sum() if key is None else n * self.weight_per_row
        pairs = jnp.where(own > 0, own * jax.nn.softplus(sign * follows), 0.0).sum()
        return loss + pairs / _positive(total), state


def _positive(total: Any) -> Any:
    return jnp.where(total > 0, total, 1.0)


class MaskedArchitecture(NamedTuple):
    """How an encoder that finds hidden tokens is built.

    Args:
        settings: of the `Transformer`, by name.
        n_tokens: the number of tokens.
        pairs: whether windows are cut into pairs.
    """

    settings: tuple[tuple[str, Any], ...]
    n_tokens: int
    pairs: bool

    def build(self, key: Key) -> MaskedToken:
        """The model with its first weights."""
        settings = dict(self.settings)
        return MaskedToken(settings, self.n_tokens, pairs=self.pairs, key=key)
