"""Transformers of images at work: probabilities of images, and new or completed ones."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.special import logsumexp

from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.generative.autoregressive.block_transformer import BlockTransformer
from likely.generative.row_chunks import in_chunks
from likely.typing import Batch

MAX_IMAGES = 128
"""Images that are computed together."""


class ImageDensities(NamedTuple):
    """The networks of all members; p is their mean."""

    members: list[BlockTransformer]

    def log_prob(self, batch: Batch) -> np.ndarray:
        """(n,) log P of whole numbers x, given their conditions y."""
        logs = [
            in_chunks(_log_probs, m, batch, double=False, max_rows=MAX_IMAGES)
            for m in self.members
        ]
        return logsumexp(logs, axis=0) - np.log(len(logs))

    def draw(
        self, codes: np.ndarray, given: np.ndarray, random_state: Any
    ) -> np.ndarray:
        """(n, ...) the images with their missing pixels (NaN) drawn, given all before them.

        Args:
            codes: whole numbers, NaN where a pixel is missing; these come last.
            given: (n, g) the condition of each image.
            random_state: seed of the draws.
        """
        rng = np.random.default_rng(seed_of(random_state))
        n = len(codes)
        missing = np.isnan(codes)
        flat = missing.reshape(n, -1)
        if (flat[:, :-1] & ~flat[:, 1:]).any():
            row = int(np.argmax((flat[:, :-1] & ~flat[:, 1:]).any(1)))
            raise InputError(
                f"in image {row} a pixel is known after one that is missing; this model "
                "draws pixels row by row, so that it can complete an image from some pixel "
                "on, and cannot fill a hole: mark all pixels after the first as missing."
            )
        member = self._members_of(np.where(missing, 0.0, codes), missing, given, rng)
        found = np.empty(codes.shape)
        for m in np.unique(member):
            rows = np.flatnonzero(member == m)
            seeds = rng.integers(2**31, size=len(rows))
            own = (
                np.where(missing, 0.0, codes)[rows],
                missing[rows],
                given[rows],
                seeds,
            )
            found[rows] = in_chunks(
                _draw, self.members[m], own, double=False, max_rows=MAX_IMAGES
            )
        return found

    def _members_of(
        self, codes: np.ndarray, missing: np.ndarray, given: np.ndarray, rng: Any
    ) -> np.ndarray:
        """(n,) a member for each image, by how probable it makes what is known."""
        n, m = len(codes), len(self.members)
        if m == 1 or missing.all():
            return rng.integers(m, size=n)
        rows = (codes, missing, given)
        logs = np.stack(
            [
                in_chunks(_known, model, rows, double=False, max_rows=MAX_IMAGES)
                for model in self.members
            ]
        )
        p = np.exp(logs - logsumexp(logs, axis=0)).cumsum(0)
        return (rng.random(n)[None] * p[-1:] > p[:-1]).sum(0)


@eqx.filter_jit
def _log_probs(model: BlockTransformer, batch: Batch) -> Float[Array, " n"]:
    return model.log_probs(batch)


@eqx.filter_jit
def _known(
    model: BlockTransformer,
    rows: tuple[Float[Array, "n ..."], Bool[Array, "n ..."], Float[Array, "n g"]],
) -> Float[Array, " n"]:
    """log P of the pixels that are there, all of which come first."""
    codes, missing, given = rows
    each = model.log_prob(model.blocks(codes), given)
    known = ~model.blocks(missing)
    return jnp.where(known, each, 0.0).reshape(len(codes), -1).sum(1)


@eqx.filter_jit
def _draw(
    model: BlockTransformer,
    rows: tuple[
        Float[Array, "n ..."],
        Bool[Array, "n ..."],
        Float[Array, "n g"],
        Int[Array, " n"],
    ],
) -> Float[Array, "n ..."]:
    """The images with their missing pixels drawn; the seed of the first is that of all."""
    codes, missing, given, seeds = rows
    key = jax.random.key(seeds[0])
    drawn = model.draw(model.blocks(codes), model.blocks(missing), given, key)
    return drawn.reshape(codes.shape)
