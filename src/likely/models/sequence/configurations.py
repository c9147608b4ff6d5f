"""Transformers of known sizes: GPT-2, BERT, and vision transformers.

They have initial weights; `sequence_from_torch` puts trained ones into them.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import check_choice
from likely.layers.units.dense import Dense
from likely.models.sequence.transformer import GPT2_INIT, Transformer
from likely.models.sequence.vision_transformer import VisionTransformer
from likely.typing import Key, State

GPT2 = {
    "small": (768, 12, 12),
    "medium": (1024, 24, 16),
    "large": (1280, 36, 20),
    "xl": (1600, 48, 25),
}
BERTS = {"base": (768, 12, 12), "large": (1024, 24, 16)}
VISION = {
    "tiny": (192, 12, 3),
    "small": (384, 12, 6),
    "base": (768, 12, 12),
    "large": (1024, 24, 16),
}
"""The size of a position, the layers, the heads."""


def gpt2(name: str = "small", *, key: Key, **changes: Any) -> Transformer:
    """GPT-2: a decoder over 50,257 tokens with a context of 1,024.

    Args:
        name: "small" (124 million parameters), "medium" (355), "large" (774) or "xl" (1,558).
        key: the random key of the initial weights.
        changes: other settings of `Transformer`.
    """
    check_choice("name", name, GPT2)
    settings = {
        "vocabulary": 50_257,
        "context": 1024,
        "activate": jax.nn.gelu,
        **changes,
    }
    vocabulary = settings.pop("vocabulary")
    return Transformer(vocabulary, *GPT2[name], kind="decoder", key=key, **settings)


class BERT(eqx.Module):
    """An encoder whose η is tanh of a linear map of the first position's state.

    `transformer.states` are the states of all positions.
    """

    transformer: Transformer
    pooler: Dense

    def __call__(
        self,
        X: Any,
        *,
        types: Any = None,
        w=None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "n size"], State]:
        """The pooled state of each row of tokens, (n, size)."""
        H = self.transformer.states(X, types=types, key=key)
        return jnp.tanh(self.pooler.of(H[:, 0])), state


def bert(name: str = "base", *, key: Key, **changes: Any) -> BERT:
    """BERT: an encoder over 30,522 tokens with a context of 512 and two types of positions.

    Args:
        name: "base" (109 million parameters) or "large" (335).
        key: the random key of the initial weights.
        changes: other settings of `Transformer`.
    """
    check_choice("name", name, BERTS)
    settings: dict[str, Any] = {
        "vocabulary": 30_522, "context": 512, "n_types": 2, "n_out": 0,
        "norm_first": False, "embedding_norm": True, "epsilon": 1e-12, **changes,
    }  # fmt: skip
    first, second = jax.random.split(key)
    model = Transformer(settings.pop("vocabulary"), *BERTS[name], key=first, **settings)
    return BERT(model, Dense(model.size, model.size, init=GPT2_INIT, key=second))


def vit(
    name: str = "base",
    *,
    shape: Sequence[int] = (224, 224, 3),
    n_out: int = 1000,
    key: Key,
    **changes: Any,
) -> VisionTransformer:
    """A vision transformer with patches of 16 pixels.

    Args:
        name: "tiny" (6 million parameters), "small" (22), "base" (87) or "large" (304).
        shape: of an image.
        n_out: the entries of η.
        key: the random key of the initial weights.
        changes: other settings of `VisionTransformer`, such as `patch`.
    """
    check_choice("name", name, VISION)
    return VisionTransformer(shape, n_out, *VISION[name], key=key, **changes)
