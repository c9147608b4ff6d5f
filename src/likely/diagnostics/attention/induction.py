r"""Induction heads: has a language model learned to copy what came after the same token?

Random tokens $x_1 \dots x_L$ are followed by the same tokens once more. Nothing predicts the
first half; the second half is known to a model that looks for the earlier occurrence of the
present token and copies what came after it (Olsson and others, 2022). The **prefix-matching
score** of a head is its mean attention from position $L + j$ to position $j + 1$.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.diagnostics.attention.maps import (
    attention_layers,
    maps_and_outputs,
    opened,
)
from likely.layers.composition.padded import unpack
from likely.typing import Key, State


class InductionTest(NamedTuple):
    """What heads look at, and what the model predicts, in repeated random tokens."""

    prefix_matching: Float[np.ndarray, "l h"]
    """The mean attention to the token after the earlier occurrence, of each head."""
    previous: Float[np.ndarray, "l h"]
    """The mean attention to the token just before, which induction heads build on."""
    chance: float
    """The prefix-matching score of a head that looks at all earlier positions equally."""
    first: float
    """The mean loss of the next token in the first half, nats."""
    second: float
    """In the second half."""
    uniform: float
    """The loss of a model that knows nothing, log(vocabulary)."""

    @property
    def copying(self) -> float:
        """How much smaller the loss is in the second half, nats for each token."""
        return self.first - self.second

    @property
    def best(self) -> tuple[int, int]:
        """The layer and the head with the largest prefix-matching score."""
        layer, head = np.unravel_index(
            self.prefix_matching.argmax(), self.prefix_matching.shape
        )
        return int(layer), int(head)

    def __str__(self) -> str:
        layer, head = self.best
        return (
            f"largest prefix-matching score {self.prefix_matching[layer, head]:.2f} "
            f"(layer {layer}, head {head}; chance {self.chance:.2f})\n"
            f"loss {self.first:.2f} nats in the first half, {self.second:.2f} in the "
            f"second (uniform {self.uniform:.2f})"
        )


def induction_test(
    model: Any,
    vocabulary: int | None = None,
    *,
    length: int = 16,
    rows: int = 32,
    key: Key,
    state: State = None,
) -> InductionTest:
    """Test a model of the next token on random tokens that are repeated once.

    Args:
        model: a causal model from tokens (n, t) to logits (n, t, vocabulary), or a fitted
            estimator that has one.
        vocabulary: the number of tokens; that of the model where None.
        length: the number of tokens before they repeat.
        rows: the number of sequences.
        key: the random key of the tokens.
        state: running statistics, if the model has any; None uses the initial ones.
    """
    if length < 2:
        raise InputError(f"length is {length}; give at least 2 tokens to repeat.")
    if vocabulary is None:  # of a fitted estimator, or of a model
        own = getattr(model, "vocabulary", None)
        vocabulary = getattr(model, "vocabulary_", own)
    if vocabulary is None:
        raise InputError("give the vocabulary: how many tokens the model knows.")
    tokens = _repeated_tokens(vocabulary, length, rows, key)
    model, X, state = opened(model, tokens, state)
    attention_layers(model)
    found, losses = maps_and_outputs(model, X, state, finish=_next_token_losses)
    maps = np.stack([np.asarray(A).mean(0, dtype=np.float64) for A, _ in found])
    losses = np.asarray(losses)
    if np.triu(maps, 1).any():
        raise InputError(
            "the model looks at later positions, so it does not predict the next token; "
            "give a causal one."
        )
    ahead = X.shape[1] - 2 * length  # a symbol for the beginning, if the model has one
    maps, losses = maps[:, :, ahead:, ahead:], losses[ahead:]
    at, half = np.arange(2 * length), np.arange(length)
    return InductionTest(
        maps[:, :, length + half, half + 1].mean(-1),
        maps[:, :, at[1:], at[:-1]].mean(-1),
        float((1 / (length + half + 1)).mean()),
        float(losses[: length - 1].mean()),
        float(losses[length:].mean()),
        float(np.log(vocabulary)),
    )


def _repeated_tokens(vocabulary: int, length: int, rows: int, key: Key) -> np.ndarray:
    """(rows, 2·length) random tokens, all different in a half where there are enough."""
    u = np.asarray(jax.random.uniform(key, (rows, max(vocabulary, length))))
    tokens = u.argsort(1)[:, :length] % vocabulary
    return np.tile(tokens, 2).astype(np.int32)


def _next_token_losses(X: Any, logits: Array) -> Array:
    """The mean over rows of −log p of the token after each position, (t − 1,)."""
    tokens, _ = unpack(X)
    log_p = jax.nn.log_softmax(logits[:, :-1].astype(jnp.float32))
    return -jnp.take_along_axis(log_p, tokens[:, 1:, None], 2)[..., 0].mean(0)
