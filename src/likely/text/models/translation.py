"""Networks from a source to a target: one in training, the mean of several in use."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.base.training.members import Network, Start
from likely.layers import Cache, Padded
from likely.layers.attention.multi_head import Memory
from likely.layers.composition.mixed_precision import cast
from likely.models.sequence.encoder_decoder import EncoderDecoder
from likely.objectives.next_token import NextTokenLikelihood
from likely.text.models.learner import Unscaled
from likely.typing import Batch, Key, State


class Translation(eqx.Module):
    """p(next symbol | source, target so far), as logits.

    Args:
        network: the encoder and the decoder, of tokens and the edge.
        dtype: what it computes in while it is trained; its parameters are float32.
    """

    network: EncoderDecoder
    dtype: str = eqx.field(static=True, default="float32")

    def __call__(
        self,
        X: tuple[Int[Array, "n s"], Int[Array, "n t"]],
        *,
        w: Any = None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "n t v"], State]:
        """The logits of the symbol after each one of the target, for X = (source, target)."""
        source, target = X
        read = Padded(source, source >= 0), target
        eta, _ = cast(self.network, self.dtype)(read, key=key)
        return eta.astype(jnp.float32), state


class Translators(eqx.Module):
    """The mean of what several networks say of the next symbol of a target.

    Args:
        members: the networks.
    """

    members: tuple[EncoderDecoder, ...]

    @property
    def vocabulary(self) -> int:
        """The number of symbols of a target."""
        return self.members[0].decoder.vocabulary or 0

    @property
    def context(self) -> int:
        """The most symbols of a source, and of a target."""
        return self.members[0].decoder.context

    def encode(self, source: Int[Array, "n s"]) -> tuple[Padded, ...]:
        """What each network makes of the sources."""
        read = Padded(source, source >= 0)
        return tuple(member.encode(read) for member in self.members)

    def remember(self, source: Int[Array, "n s"]) -> tuple[tuple[Memory, ...], ...]:
        """What the decoder of each network looks at of the sources, step after step."""
        pairs = zip(self.members, self.encode(source), strict=True)
        return tuple(member.decoder.remember(own) for member, own in pairs)

    def log_probs(
        self, target: Int[Array, "n t"], encoded: tuple[Padded, ...]
    ) -> Float[Array, "n t v"]:
        """log p of each symbol after those of the targets."""
        pairs = zip(self.members, encoded, strict=True)
        return _mean([member.decode(target, own) for member, own in pairs])

    def cache(self, n: int, length: int | None = None) -> tuple[Cache, ...]:
        """Empty caches of all decoders, one after another."""
        every = [member.decoder.cache(n, length) for member in self.members]
        return tuple(cache for caches in every for cache in caches)

    def extend(
        self,
        X: Int[Array, "n t"],
        caches: tuple[Cache, ...],
        *,
        encoded: tuple[tuple[Memory, ...], ...],
    ) -> tuple[Float[Array, "n t v"], tuple[Cache, ...]]:
        """log p of each symbol after new ones, and the longer caches.

        Args:
            X: the new symbols.
            caches: of those before.
            encoded: from `remember`.
        """
        depth, longer, etas = len(caches) // len(self.members), (), []
        for i, (member, own) in enumerate(zip(self.members, encoded, strict=True)):
            eta, found = member.extend(X, caches[i * depth : (i + 1) * depth], own)
            longer, etas = longer + found, [*etas, eta]
        return _mean(etas), longer


def _mean(etas: list[Any]) -> Any:
    """log of the mean of the probabilities of several logits."""
    every = [jax.nn.log_softmax(eta.astype(jnp.float32)) for eta in etas]
    if len(every) == 1:
        return every[0]
    return jax.nn.logsumexp(jnp.stack(every), 0) - jnp.log(len(every))


class TranslationLearner(eqx.Module):
    """An encoder and a decoder trained on pairs that the solver draws.

    Args:
        solver: a first-order solver whose noise is `RandomPairs`.
        likelihood: what is minimised.
        settings: of the `EncoderDecoder`, by name.
        dtype: what it computes in.
    """

    solver: Any
    likelihood: NextTokenLikelihood
    settings: tuple[tuple[str, Any], ...] = eqx.field(static=True)
    dtype: str = eqx.field(static=True)

    def scaling_of(self, data: Batch) -> Unscaled:
        """The units of the rows."""
        return Unscaled()

    def start(
        self,
        key: Key,
        hyper: dict[str, Any],
        batch: Batch,
        begin: Network | None = None,
    ) -> Start:
        """The objective, the first weights, and the rows of a round."""
        network = EncoderDecoder(**dict(self.settings), key=key)
        model = Translation(network, self.dtype)
        return Start(self.likelihood, model, batch, None, Unscaled())

    def with_rate(self, hyper: dict[str, Any]) -> Any:
        """The solver, which has a rate of its own."""
        return self.solver
