"""Beam search: the few most probable continuations so far, each extended in all ways."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from likely.core.checks import InputError
from likely.models.sequence.generation import (
    extend,
    in_precision,
    padded_prompts,
    read,
    read_prompts,
    room_for,
)


class Beams(NamedTuple):
    """The most probable continuations that were found, best first."""

    tokens: np.ndarray
    """(n, n_beams, n_tokens)."""
    log_prob: np.ndarray
    """(n, n_beams) of all tokens together, up to the end."""


def beam_search(
    model: Any,
    prompts: Any,
    n_tokens: int,
    *,
    n_beams: int = 4,
    end: int | None = None,
    length_power: float = 0.0,
    encoded: Any = None,
) -> Beams:
    """The most probable continuations of each prompt that a search of some width finds.

    Args:
        model: a decoder, such as `Transformer(kind="decoder")`.
        prompts: (n, t) tokens, `Padded`, or lists of tokens of different lengths.
        n_tokens: how many to add.
        n_beams: how many continuations are kept at each step; 1 is greedy.
        end: the token that ends a row; it is repeated from then on.
        length_power: continuations are ranked by log-probability / length^power, so that
            those which end early are no better for it.
        encoded: (n, s, size) the states of a source, for a decoder that looks at them.
    """
    model = in_precision(model)
    rows = read_prompts(model, prompts)
    if n_tokens < 1 or n_beams < 1:
        raise InputError(
            f"n_tokens is {n_tokens}, n_beams {n_beams}; give whole numbers from 1 on."
        )
    longest = max(map(len, rows))
    if longest + n_tokens - 1 > model.context:
        raise InputError(
            f"a prompt of {longest} tokens and {n_tokens} more do not fit the context of "
            f"{model.context}; give fewer."
        )
    room = room_for(model, longest + n_tokens)
    tokens, lengths = padded_prompts(rows, room)
    eta, caches = read(model, tokens, lengths, encoded, room=room)
    last = None if end is None else jnp.asarray(end, jnp.int32)
    options = {"n_beams": n_beams, "common": lengths.ndim == 0}
    found, log_p, counts = _search(
        model, caches, eta, jnp.asarray(n_tokens), last, encoded, room=room, **options
    )
    log_p, found = np.asarray(log_p), np.asarray(found)[:, :, :n_tokens]
    order = np.argsort(-log_p / np.asarray(counts) ** length_power, 1, kind="stable")
    ordered = np.take_along_axis(found, order[..., None], 1)
    return Beams(ordered, np.take_along_axis(log_p, order, 1))


@eqx.filter_jit
def _search(  # noqa: PLR0917
    model: Any,
    caches: Any,
    eta: Float[Array, "n v"],
    n_tokens: Int[Array, ""],
    end: Any,
    encoded: Any,
    *,
    room: int,
    n_beams: int,
    common: bool,
) -> tuple[Array, Array, Array]:
    """Tokens, log-probabilities and lengths of the beams of each row."""
    n, v = eta.shape

    def widen(tree: Any) -> Any:
        return jax.tree.map(lambda a: jnp.repeat(a, n_beams, 0) if a.ndim else a, tree)

    caches, eta, encoded = widen((caches, eta, encoded))
    only_first = jnp.where(jnp.arange(n_beams) == 0, 0.0, -jnp.inf)
    score = jnp.broadcast_to(only_first[None], (n, n_beams))
    counts = jnp.zeros((n, n_beams), jnp.int32)
    ended = jnp.zeros((n, n_beams), bool)
    out = jnp.zeros((n, n_beams, room + 1), jnp.int32)

    def step(i, carry):
        caches, eta, score, counts, ended, out = carry
        log_p = jax.nn.log_softmax(eta.astype(jnp.float32)).reshape(n, n_beams, v)
        if end is not None:  # an ended row goes on with the end, surely
            stay = jnp.where(jnp.arange(v) == end, 0.0, -jnp.inf)[None, None]
            log_p = jnp.where(ended[..., None], stay, log_p)
        total = (score[..., None] + log_p).reshape(n, -1)
        score, chosen = jax.lax.top_k(total, n_beams)
        parent, token = chosen // v, (chosen % v).astype(jnp.int32)
        of = (jnp.arange(n)[:, None] * n_beams + parent).reshape(-1)

        def follow(a):
            return a.reshape(n * n_beams, *a.shape[2:])[of].reshape(a.shape)

        counts, ended, out = follow(counts), follow(ended), follow(out)
        counts = counts + ~ended
        ended = ended if end is None else ended | (token == end)
        out = jax.lax.dynamic_update_slice_in_dim(out, token[..., None], i, 2)
        caches = jax.tree.map(lambda a: a[of] if a.ndim else a, caches)
        eta, caches = extend(model, token.reshape(-1), caches, encoded, common=common)
        return caches, eta, score, counts, ended, out

    carry = (caches, eta, score, counts, ended, out)
    _, _, score, counts, _, out = jax.lax.fori_loop(0, n_tokens, step, carry)
    return out, score, counts
