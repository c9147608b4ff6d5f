"""Rows of trained generators, and what trained critics say of rows."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int

from likely.generative.row_chunks import in_chunks
from likely.solvers import Players
from likely.typing import Batch

MAX_CHUNK_ROWS = 1024
"""Rows that are drawn together."""


def draw_rows(models: list[Players], design: np.ndarray, seed: int) -> np.ndarray:
    """(n, ...) points, one for each condition, each of one member drawn at random.

    Args:
        models: of all members.
        design: (n, g) of what rows are conditioned on.
        seed: of the draws.
    """
    rng, n = np.random.default_rng(seed), len(design)
    member = rng.integers(len(models), size=n)
    Z = rng.normal(size=(n, models[0].second.n_latent))
    parts, order = [], []
    for m in np.unique(member).tolist():
        rows = np.flatnonzero(member == m)
        seeds = rng.integers(2**31, size=len(rows))
        parts.append(_made(_draws, models[m], (Z[rows], design[rows], seeds)))
        order.append(rows)
    return np.concatenate(parts)[np.argsort(np.concatenate(order))]


def rows_of_latents(model: Players, Z: np.ndarray, design: np.ndarray) -> np.ndarray:
    """(n, ...) the points of latent numbers, with nothing drawn."""
    return _made(_points, model, (Z, design))


def critic_numbers(model: Players, batch: Batch) -> np.ndarray:
    """(n,) the critic's numbers of rows."""
    return _made(_numbers, model, (batch.x, batch.y))


def _made(function: Any, model: Players, rows: tuple) -> np.ndarray:
    return in_chunks(function, model, rows, double=False, max_rows=MAX_CHUNK_ROWS)


@eqx.filter_jit
def _draws(
    model: Players,
    rows: tuple[Float[Array, "n k"], Float[Array, "n g"], Int[Array, " n"]],
) -> Float[Array, "n ..."]:
    """Points; the seed of the first row is that of all."""
    Z, given, seeds = rows
    return model.second(Z, given, jax.random.key(seeds[0]))


@eqx.filter_jit
def _points(
    model: Players, rows: tuple[Float[Array, "n k"], Float[Array, "n g"]]
) -> Float[Array, "n ..."]:
    Z, given = rows
    return model.second(Z, given)


@eqx.filter_jit
def _numbers(
    model: Players, rows: tuple[Float[Array, "n ..."], Float[Array, "n g"]]
) -> Float[Array, " n"]:
    x, given = rows
    return model.first(x, given)
