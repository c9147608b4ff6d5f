"""A trained variational autoencoder at work on rows: some at a time, in one precision."""

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import logsumexp

from likely.base.generator import Bound
from likely.base.training.members import Network
from likely.base.training.trainer import member_of, stacked
from likely.base.training.unsupervised import unpack
from likely.core.precision import float64
from likely.core.rows import pad
from likely.generative.autoencoders.posterior import NormalPosterior
from likely.generative.autoencoders.variational import (
    LatentModel,
    Variational,
    normal_noise,
    split_keys,
)
from likely.typing import Batch, Key

MAX_ROWS = 1024
"""Rows that are computed together."""
MAX_DOUBLE_CELLS = 256
"""Cells of a row up to which numbers are computed in float64."""


class Runner(NamedTuple):
    """A model without parameters, and what was trained."""

    variational: Variational
    phi: Network

    @property
    def models(self) -> list[LatentModel]:
        """The parameters of each member."""
        count = len(stacked(self.phi).solution.loss)
        return [member_of(self.phi, m).solution.model for m in range(count)]

    def each(self, function: Callable, rows: Batch, key: Key, **options: Any) -> list:
        """What a function makes of rows with the parameters of each member.

        Args:
            function: see `over_rows`.
            rows: packed.
            key: randomness.
            options: of `over_rows` and the function.
        """
        return [
            over_rows(
                function,
                self.variational,
                model,
                rows,
                jax.random.fold_in(key, m),
                **options,
            )
            for m, model in enumerate(self.models)
        ]

    def first(self, function: Callable, rows: Batch, key: Key, **options: Any) -> Any:
        """What a function makes of rows with the parameters of the first member."""
        own = jax.random.fold_in(key, 0)
        return over_rows(
            function, self.variational, self.models[0], rows, own, **options
        )

    def bound(self, function: Callable, rows: Batch, key: Key, draws: int) -> Bound:
        """The bound of the mixture of all members, from the bounds of each."""
        found = self.each(function, rows, key, by_row=True, draws=draws)
        logs, errors = (np.stack(part) for part in zip(*found, strict=True))
        top = logsumexp(logs, 0)
        spread = ((np.exp(logs - top) * errors) ** 2).sum(0)
        return Bound(top - np.log(len(logs)), np.sqrt(spread))


def over_rows(
    function: Callable,
    variational: Variational,
    model: LatentModel,
    rows: Batch,
    key: Key,
    *,
    by_row: bool = False,
    **options: Any,
) -> Any:
    """What a compiled function makes of rows, some of them at a time, as NumPy arrays.

    Args:
        function: of (variational, model, batch, key); its arrays have an axis of rows.
        variational: the model without parameters.
        model: its parameters.
        rows: packed, with flags of missing cells.
        key: randomness.
        by_row: whether each row has a key of its own, which its numbers decide: then what
            is said of a row does not depend on other rows.
        options: of the function, not traced.
    """
    variational = replace(variational, mask=True)
    double = int(np.prod(rows.x.shape[1:])) <= MAX_DOUBLE_CELLS
    found = []
    for number, start in enumerate(range(0, len(rows.w), MAX_ROWS)):
        part = jax.tree.map(lambda a, s=start: a[s : s + MAX_ROWS], rows)
        padded = pad(part)
        own = _row_keys(key, padded) if by_row else jax.random.fold_in(key, number)
        with float64() if double else jax.enable_x64(False):
            kind = np.float64 if double else np.float32
            settings, weights, padded = cast((variational, model, padded), kind)
            out = function(settings, weights, padded, own, **options)
            size = len(part.w)
            found.append(
                jax.tree.map(lambda a, n=size: np.asarray(a, np.float64)[:n], out)
            )
    return jax.tree.map(lambda *parts: np.concatenate(parts), *found)


def _row_keys(key: Key, rows: Batch) -> Any:
    """(n,) keys, functions of what the rows hold."""
    flat = np.concatenate([np.asarray(a).reshape(len(rows.w), -1) for a in rows[:2]], 1)
    sums = [zlib.crc32(np.ascontiguousarray(row).tobytes()) for row in flat]
    return jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.asarray(sums, jnp.uint32))


def cast(tree: Any, dtype: Any) -> Any:
    """The tree with its real numbers in a precision."""

    def one(leaf: Any) -> Any:
        return jnp.asarray(leaf, dtype) if eqx.is_inexact_array_like(leaf) else leaf

    return jax.tree.map(one, tree, is_leaf=lambda leaf: leaf is None)


@eqx.filter_jit
def importance_bound(
    variational: Variational, model: LatentModel, batch: Batch, key: Any, *, draws: int
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """The importance-weighted bound of each row, and its standard error.

    The bound is the logarithm of a mean of weights, so that its error is that of the mean
    divided by the mean.
    """
    cells = unpack(batch, mask=True)
    log_w = variational.log_weights(model, cells, key, draws)
    value = jax.nn.logsumexp(log_w, 0) - jnp.log(draws)
    spread = jnp.maximum((jnp.exp(log_w - value[None]) ** 2).mean(0) - 1, 0.0)
    return value, jnp.sqrt(spread / max(draws - 1, 1))


@eqx.filter_jit
def evidence_bound(
    variational: Variational, model: LatentModel, batch: Batch, key: Any, *, draws: int
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """The evidence lower bound of each row, and its standard error."""
    cells = unpack(batch, mask=True)
    q = variational.posterior(model, cells)

    def one(key: Any) -> Float[Array, " n"]:
        noise = normal_noise(key, q.mean)
        return variational.log_likelihood(model, cells, q.draw(noise))

    values = jax.lax.map(one, split_keys(key, draws))
    error = values.std(0) / np.sqrt(max(draws - 1, 1))
    return values.mean(0) - q.divergence(), error


@eqx.filter_jit
def posteriors(
    variational: Variational, model: LatentModel, batch: Batch, key: Any
) -> NormalPosterior:
    """The posterior of the code of each row."""
    return variational.posterior(model, unpack(batch, mask=True))


@eqx.filter_jit
def decoded_points(
    variational: Variational, model: LatentModel, batch: Batch, key: Any
) -> Float[Array, "n q"]:
    """The most plausible cells of codes, which are the x of the batch."""
    out = variational.decoded(model, batch.x, batch.y)
    return variational.likelihood.point(
        variational.likelihood.expectations(out, model.tail)
    )


@eqx.filter_jit
def decoded_means(
    variational: Variational, model: LatentModel, batch: Batch, key: Any
) -> Float[Array, "n q"]:
    """The means of the cells of codes; of a truth value its probability."""
    out = variational.decoded(model, batch.x, batch.y)
    expected = variational.likelihood.expectations(out, model.tail)
    return variational.likelihood.averages(expected)


@eqx.filter_jit
def decoded_draws(
    variational: Variational, model: LatentModel, batch: Batch, key: Any
) -> Float[Array, "n q"]:
    """A draw of every cell, given codes, which are the x of the batch."""
    out = variational.decoded(model, batch.x, batch.y)
    return variational.likelihood.sample(out, model.tail, key)
