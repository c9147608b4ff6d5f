"""The next token: its distribution by temperature, top k and top p, and a draw from it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.core.checks import InputError
from likely.layers.composition.padded import unpack
from likely.typing import Key


def next_token_log_probs(
    eta: Float[Array, "n v"],
    temperature: Any = 1.0,
    top_k: Any = None,
    top_p: Any = None,
) -> Float[Array, "n v"]:
    """The log-probabilities of the next token, −∞ where it is left out.

    Args:
        eta: the logits.
        temperature: what they are divided by.
        top_k: only the k most probable tokens; of equal ones, the first.
        top_p: only the most probable tokens that together have at least this probability.
    """
    log_p = jax.nn.log_softmax(eta / temperature)
    if top_k is None and top_p is None:
        return log_p
    order = jnp.argsort(-log_p, axis=-1, stable=True)
    falling = jnp.take_along_axis(log_p, order, -1)
    keep = jnp.ones(eta.shape, bool)
    if top_k is not None:
        keep &= jnp.arange(eta.shape[-1])[None] < top_k
    if top_p is not None:
        p = jnp.exp(falling)
        keep &= jnp.cumsum(p, -1) - p < top_p
    keep = jnp.put_along_axis(keep, order, keep, -1, inplace=False)
    return jax.nn.log_softmax(jnp.where(keep, log_p, -jnp.inf))


def token_log_probs(model: Any, X: Any) -> Float[Array, "n s"]:
    r"""$\log p(x_t \mid x_1, …, x_{t-1})$ of all tokens but the first, 0 where one is absent.

    Args:
        model: a decoder.
        X: (n, t) tokens; an array or `Padded`.
    """
    values, present = unpack(X)
    if values.shape[1] < 2:
        raise InputError("a sequence of one token has no next one; give at least two.")
    log_p = jax.nn.log_softmax(model(X)[0][:, :-1])
    found = jnp.take_along_axis(log_p, jnp.asarray(values)[:, 1:, None], 2)[..., 0]
    return found if present is None else jnp.where(present[:, 1:], found, 0)


class Sampling(eqx.Module):
    """How the next token is chosen; numbers are traced, so another one compiles nothing."""

    temperature: Float[Array, ""]
    top_k: Int[Array, ""]
    top_p: Float[Array, ""]
    end: Int[Array, ""] | None
    greedy: bool = eqx.field(static=True)
    truncated: bool = eqx.field(static=True)

    @classmethod
    def of(  # noqa: PLR0917
        cls, temperature: float | int, top_k: Any, top_p: Any, end: Any, vocabulary: int
    ) -> "Sampling":
        """From settings as a user gives them."""
        return cls(
            jnp.asarray(temperature, jnp.float32),
            jnp.asarray(vocabulary if top_k is None else top_k, jnp.int32),
            jnp.asarray(1.0 if top_p is None else top_p, jnp.float32),
            None if end is None else jnp.asarray(end, jnp.int32),
            greedy=temperature == 0,
            truncated=not (top_k is None and top_p is None),
        )

    def choose(
        self, eta: Float[Array, "n v"], count: Int[Array, ""], keys: Any
    ) -> Int[Array, " n"]:
        """A token for each row, of the random key of the row and the number of the token."""
        if self.greedy:
            return jnp.argmax(eta, 1).astype(jnp.int32)
        rest = (self.top_k, self.top_p) if self.truncated else ()
        log_p = next_token_log_probs(eta.astype(jnp.float32), self.temperature, *rest)
        own = jax.vmap(jax.random.fold_in, (0, None))(keys, count)
        return jax.vmap(jax.random.categorical)(own, log_p).astype(jnp.int32)


def check_sampling(
    temperature: float | int, top_k: Any, top_p: Any, key: Key | None
) -> None:
    """Refuse settings without meaning."""
    if not 0 <= temperature < float("inf"):
        raise InputError(f"temperature is {temperature}; give a number from 0 on.")
    if top_k is not None and (int(top_k) != top_k or top_k < 1):
        raise InputError(f"top_k is {top_k}; give a whole number from 1 on.")
    if top_p is not None and not 0 < top_p <= 1:
        raise InputError(f"top_p is {top_p}; give a probability above 0.")
    if temperature and key is None:
        raise InputError("a sample needs a random key; or give temperature=0.")
