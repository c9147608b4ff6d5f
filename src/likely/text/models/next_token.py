"""Networks that say what the next token is: one in training, the mean of several in use."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.layers import Cache, Padded
from likely.layers.composition.mixed_precision import cast
from likely.models.sequence.transformer import Transformer
from likely.typing import Key, State


class NextToken(eqx.Module):
    """p(next token | those before it), as logits: a decoder that also knows a beginning.

    Args:
        decoder: of the tokens and one symbol more, which means a beginning.
        dtype: what it computes in while it is trained; its parameters are float32.
    """

    decoder: Transformer
    dtype: str = eqx.field(static=True, default="float32")

    def __call__(
        self,
        X: Int[Array, "n t"] | Padded,
        *,
        w: Any = None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "n t v"], State]:
        """The logits of the token after each position."""
        eta, _ = cast(self.decoder, self.dtype)(X, key=key)
        return eta[..., :-1].astype(jnp.float32), state


class Ensemble(eqx.Module):
    """The mean of what several networks say of the next token.

    Args:
        members: the decoders.
    """

    members: tuple[Transformer, ...]

    @property
    def vocabulary(self) -> int:
        """The number of symbols that may be read: the tokens and the beginning."""
        return self.members[0].vocabulary or 0

    @property
    def context(self) -> int:
        """The most symbols that can be read."""
        return self.members[0].context

    def log_probs(self, X: Int[Array, "n t"]) -> Float[Array, "n t v"]:
        """log p of each token after each position."""
        return mean_log_probs([member(X)[0][..., :-1] for member in self.members])

    def cache(self, n: int, length: int | None = None) -> tuple[Cache, ...]:
        """Empty caches of all members, one after another."""
        every = [member.cache(n, length) for member in self.members]
        return tuple(cache for caches in every for cache in caches)

    def extend(
        self, X: Int[Array, "n t"], caches: tuple[Cache, ...]
    ) -> tuple[Float[Array, "n t v"], tuple[Cache, ...]]:
        """log p of each token after new positions, and the longer caches."""
        depth, longer, etas = len(caches) // len(self.members), (), []
        for i, member in enumerate(self.members):
            eta, found = member.extend(X, caches[i * depth : (i + 1) * depth])
            longer, etas = longer + found, [*etas, eta[..., :-1]]
        return mean_log_probs(etas), longer


def mean_log_probs(etas: list[Any]) -> Any:
    """log of the mean of the probabilities of several logits."""
    every = [jax.nn.log_softmax(eta.astype(jnp.float32)) for eta in etas]
    if len(every) == 1:
        return every[0]
    return jax.nn.logsumexp(jnp.stack(every), 0) - jnp.log(len(every))


class DecoderArchitecture(NamedTuple):
    """How a decoder that says the next token is built.

    Args:
        settings: of the `Transformer`, by name.
        dtype: what it computes in.
    """

    settings: tuple[tuple[str, Any], ...]
    dtype: str

    def build(self, key: Key) -> NextToken:
        """The model with its first weights."""
        decoder = Transformer(**dict(self.settings), kind="decoder", key=key)
        return NextToken(decoder, self.dtype)
