r"""Sequences from a model of the next token: $x_{t+1} \sim p(\cdot \mid x_1, …, x_t)$ and so on.

The prompt is read in one pass, and its keys and values are kept in caches; then each token is
one small step after them, in a compiled loop. Prompts and caches are padded to a few sizes, so
that another prompt or another number of tokens compiles nothing. What is behind the length of
a cache is overwritten before anything looks at it.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from likely.core.checks import InputError
from likely.core.rows import size_class
from likely.layers.composition.mixed_precision import MixedPrecision, cast
from likely.layers.composition.padded import Padded, pad_sequences
from likely.models.sequence.inputs import check_tokens
from likely.models.sequence.sampling import Sampling, check_sampling
from likely.typing import Key


class Writing(eqx.Module):
    """Where generation stands: what the model has read, and what it says of the next token."""

    caches: Any
    eta: Float[Array, "n v"]
    ended: Bool[Array, " n"]
    count: Int[Array, ""]
    """The number of tokens so far; it is a part of the random keys."""


def generate(model: Any, prompts: Any, n_tokens: int, **settings: Any) -> np.ndarray:
    """The next tokens of each prompt, (n, n_tokens); `stream` gives them bit by bit.

    Args:
        model: a decoder, such as `Transformer(kind="decoder")`.
        prompts: (n, t) tokens, `Padded`, or lists of tokens of different lengths.
        n_tokens: how many to add.
        settings: temperature, top_k, top_p, end, key and encoded, as in `stream`.
    """
    return np.concatenate([*stream(model, prompts, n_tokens, **settings)], 1)


def stream(
    model: Any,
    prompts: Any,
    n_tokens: int,
    *,
    chunk: int | None = None,
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    end: int | None = None,
    encoded: Any = None,
    key: Key | None = None,
) -> Iterator[np.ndarray]:
    """The next tokens of each prompt in chunks (n, up to `chunk`), while they are made.

    The tokens of a row depend on the key, the number of the row, and its own prompt: not on
    other rows, nor on the size of the chunks. Where a row has filled the context, the older
    half of its tokens is forgotten and the rest is read again.

    Args:
        model: a decoder, such as `Transformer(kind="decoder")`.
        prompts: (n, t) tokens, `Padded`, or lists of tokens of different lengths.
        n_tokens: how many to add.
        chunk: the tokens of a chunk; None for all at once.
        temperature: what η is divided by; 0 always takes the most probable token.
        top_k: only the k most probable tokens.
        top_p: only the most probable tokens that together have this probability.
        end: the token that ends a row; it is repeated from then on.
        encoded: (n, s, size) the states of a source, for a decoder that looks at them.
        key: the random key; not needed at temperature 0.
    """
    check_sampling(temperature, top_k, top_p, key)
    model = in_precision(model)
    rows = read_prompts(model, prompts)
    if n_tokens < 1 or (chunk is not None and chunk < 1):
        raise InputError(
            f"n_tokens is {n_tokens}, chunk {chunk}; give whole numbers from 1 on."
        )
    sampling = Sampling.of(temperature, top_k, top_p, end, model.vocabulary)
    keys = row_keys(key, len(rows))
    return _chunks(model, rows, n_tokens, chunk or n_tokens, sampling, keys, encoded)


def _chunks(  # noqa: PLR0917
    model: Any,
    rows: list,
    n_tokens: int,
    chunk: int,
    sampling: Any,
    keys: Any,
    encoded: Any,
) -> Iterator[np.ndarray]:
    room = room_for(model, max(map(len, rows)) + n_tokens)
    now, missing = None, n_tokens
    while missing:
        if now is None or _filled(rows) > room:
            rows = [_remembered(row, room) for row in rows]
            tokens, lengths = padded_prompts(rows, room)
            eta, caches = read(model, tokens, lengths, encoded, room=room)
            ended = jnp.zeros(len(rows), bool) if now is None else now.ended
            count = jnp.zeros((), jnp.int32) if now is None else now.count
            now = Writing(caches, eta, ended, count)
        steps = min(missing, chunk, room + 1 - _filled(rows))
        common = len({len(row) for row in rows}) == 1
        options = {"room": room, "common": common}
        now, new = write(
            model, now, jnp.asarray(steps), sampling, keys, encoded, **options
        )
        new = np.asarray(new)[:, :steps]
        rows = [np.concatenate(pair) for pair in zip(rows, new, strict=True)]
        missing -= steps
        yield new


@eqx.filter_jit
def read(
    model: Any, tokens: Int[Array, "n t"], lengths: Any, encoded: Any, *, room: int
) -> tuple[Float[Array, "n v"], Any]:
    """η after the last token of each prompt, and the caches of the prompts.

    Args:
        model: the decoder.
        tokens: (n, t) with anything behind the prompts.
        lengths: () of all prompts, or (n,) of each.
        encoded: the states of a source, or None.
        room: the positions of the caches.
    """
    caches = model.cache(len(tokens), room)
    options = {} if encoded is None else {"encoded": encoded}
    eta, caches = model.extend(tokens, caches, **options)
    last = jnp.broadcast_to(jnp.asarray(lengths) - 1, len(tokens))
    caches = eqx.tree_at(
        lambda caches: [c.length for c in caches], caches, [lengths] * len(caches)
    )
    return jnp.take_along_axis(eta, last[:, None, None], 1)[:, 0], caches


@eqx.filter_jit
def write(  # noqa: PLR0917
    model: Any,
    now: Writing,
    steps: Any,
    sampling: Sampling,
    keys: Any,
    encoded: Any,
    *,
    room: int,
    common: bool,
) -> tuple[Writing, Int[Array, "n room"]]:
    """Some more tokens of each row, and where generation stands after them."""
    fill = 0 if sampling.end is None else sampling.end
    out = jnp.full((len(now.eta), room + 1), fill, jnp.int32)

    def step(carry):
        i, now, out = carry
        token = sampling.choose(now.eta, now.count, keys)
        ended = now.ended
        if sampling.end is not None:
            token = jnp.where(ended, sampling.end, token)
            ended = ended | (token == sampling.end)
        out = jax.lax.dynamic_update_slice_in_dim(out, token[:, None], i, 1)
        eta, caches = extend(model, token, now.caches, encoded, common=common)
        return i + 1, Writing(caches, eta, ended, now.count + 1), out

    def unfinished(carry):
        i, now, _ = carry
        return (i < steps) & ~now.ended.all()

    _, now, out = jax.lax.while_loop(unfinished, step, (jnp.zeros((), int), now, out))
    return now, out


def extend(
    model: Any, token: Int[Array, " n"], caches: Any, encoded: Any, *, common: bool
) -> tuple[Float[Array, "n v"], Any]:
    """η after one more token of each row; rows of different lengths go one by one."""

    def one(token, caches, encoded):
        options = {} if encoded is None else {"encoded": encoded}
        eta, caches = model.extend(token[:, None], caches, **options)
        return eta[:, 0], caches

    if common:
        return one(token, caches, encoded)

    def row(*given):
        given = jax.tree.map(lambda a: a[None] if a.ndim else a, given)
        eta, caches = one(given[0][None], *given[1:])
        return eta[0], jax.tree.map(lambda a: a[0] if a.ndim else a, caches)

    return jax.vmap(row)(token, caches, encoded)


def in_precision(model: Any) -> Any:
    """The decoder inside `MixedPrecision`, with its parameters in the precision it uses."""
    mixed = isinstance(model, MixedPrecision)
    return cast(model.model, model.dtype) if mixed else model


def read_prompts(model: Any, prompts: Any) -> list[np.ndarray]:
    """The tokens of each prompt, checked."""
    if getattr(model, "vocabulary", None) is None:
        raise InputError("this model has no vocabulary; only tokens can be generated.")
    if not hasattr(prompts, "shape") and not any(map(np.ndim, prompts)):
        prompts = np.asarray(prompts)  # tokens, not rows of them
    ragged = not hasattr(prompts, "shape")
    shape = (len(prompts), 1) if ragged else prompts.shape
    if len(shape) != 2 or not min(shape):
        raise InputError(
            f"the prompts have shape {shape}; give (rows, positions) tokens with at least "
            "one in each row."
        )
    if ragged:
        prompts = pad_sequences(prompts)
    elif not isinstance(prompts, Padded):
        prompts = Padded(np.asarray(prompts), np.ones(shape, bool))
    check_tokens(prompts, model.vocabulary)
    present = np.asarray(prompts.present)
    lengths = present.sum(1)
    if not lengths.all():
        raise InputError(f"prompt {int(np.argmin(lengths))} is empty; give a token.")
    if (present[:, 1:] > present[:, :-1]).any():
        raise InputError("a prompt has absent positions before present ones.")
    if lengths.max() > model.context:
        raise InputError(
            f"prompt {int(np.argmax(lengths))} has {lengths.max()} tokens, the context of "
            f"this model is {model.context}; give a shorter one, such as its end."
        )
    values = np.asarray(prompts.values).astype(np.int32)
    return [row[:length] for row, length in zip(values, lengths, strict=True)]


def room_for(model: Any, length: int) -> int:
    """The positions of the caches: the size class of the whole length, or the context."""
    return min(size_class(length), model.context)


def padded_prompts(rows: list[np.ndarray], room: int) -> tuple[Array, Array]:
    """Prompts as one array of a size class, and their length, or lengths if they differ."""
    lengths = np.array([len(row) for row in rows], np.int32)
    tokens = pad_sequences(rows, min(size_class(int(lengths.max())), room)).values
    common = (lengths == lengths[0]).all()
    return jnp.asarray(tokens), jnp.asarray(lengths[0] if common else lengths)


def row_keys(key: Key | None, n: int) -> Any:
    """A random key for each row, whatever the number of rows."""
    if key is None:
        return None
    return jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(n))


def _filled(rows: list) -> int:
    return max(map(len, rows))


def _remembered(row: np.ndarray, room: int) -> np.ndarray:
    """The tokens that a row goes on with: the newer half, where all are too many."""
    return row if len(row) <= room else row[-max(1, room // 2) :]
