"""Networks from a source to a target: one in training, the mean of several in use."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.layers import Cache, Padded
from likely.layers.attention.multi_head import Memory
from likely.layers.composition.mixed_precision import cast
from likely.models.sequence.encoder_decoder import EncoderDecoder
from likely.text.models.next_token import mean_log_probs
from likely.typing import Key, State


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
        return mean_log_probs([member.decode(target, own) for member, own in pairs])

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
        return mean_log_probs(etas), longer


class TranslationArchitecture(NamedTuple):
    """How an encoder with its decoder is built.

    Args:
        settings: of the `EncoderDecoder`, by name.
        dtype: what it computes in.
    """

    settings: tuple[tuple[str, Any], ...]
    dtype: str

    def build(self, key: Key) -> Translation:
        """The model with its first weights."""
        return Translation(EncoderDecoder(**dict(self.settings), key=key), self.dtype)
